"""Different persons: who counts once, who is new, and who is present."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import BUCKETS, DAY_MICROS, KEY, NEEDED, START, START_MICROS, count, times_of

import evertally
from evertally._native import _definition

BUDGET: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-5}
Arrivals = list[tuple[str | None, str, int]]


def in_steps(arrivals: Arrivals, max_steps: int, min_gap: int) -> list[tuple[bool, bool]]:
    """The rule as it is stated: which events count, and which of them are the first in their key."""
    counted: dict[str, list[int]] = {}
    known: set[tuple[str, str]] = set()
    answers = []
    for person, key, step in arrivals:
        steps = counted.setdefault((person or "").strip(), [])
        named = bool((person or "").strip()) and bool(key.strip())
        counts = named and len(steps) < max_steps and all(abs(step - other) >= min_gap for other in steps)
        new = counts and ((person or "").strip(), key.strip()) not in known
        if counts:
            steps.append(step)
            known.add(((person or "").strip(), key.strip()))
        answers.append((counts, new))
    return answers


@pytest.mark.parametrize("seed", range(10))
def test_any_batches_admit_by_the_rule(seed: int) -> None:
    dice = random.Random(seed)
    max_steps, min_gap = dice.randint(1, 5), dice.randint(1, 6)
    people = [None, "", " \t", "ann", " ann", "bob", "größe"]
    arrivals = [(dice.choice(people), dice.choice(["/", "/a", " /a", "/b", " "]), dice.randrange(40)) for _ in range(300)]
    discovery = evertally.discover(40, **BUDGET, max_steps=max_steps, min_gap=min_gap)
    admission, answers, rest = evertally.Admission(discovery, KEY), [], arrivals
    while rest:
        size = dice.randint(0, 40)
        batch, rest = rest[:size], rest[size:]
        persons, keys, steps = ([row[place] for row in batch] for place in range(3))
        counts, new = admission.admit(persons, np.array(steps, dtype=np.int64), keys)
        assert counts.dtype == new.dtype == np.bool_
        answers += list(zip(counts.tolist(), new.tolist()))
        admission = evertally.Admission.resume(discovery, KEY, admission.save())
    assert answers == in_steps(arrivals, max_steps, min_gap)


def test_names_come_from_lists_arrays_and_series() -> None:
    plan = evertally.plan(5, max_steps=1)
    pandas_like = np.array(["ann", None, float("nan"), 7], dtype=object)
    for given in (["ann", None, float("nan"), 7], ("ann", None, float("nan"), 7), pandas_like):
        counts, new = evertally.Admission(plan, KEY).admit(given, 0)
        assert counts.tolist() == new.tolist() == [True, False, False, True]
    counts, _ = evertally.Admission(plan, KEY).admit(np.array(["a", "b", "a"]), np.array([0, 4, 5]))
    assert counts.tolist() == [True, True, False], "a step after the last is over"
    counts, _ = evertally.Admission(plan, KEY).admit(np.arange(3), 1)
    assert counts.all()
    plan = evertally.plan(5, max_steps=2)
    counts, _ = evertally.Admission(plan, KEY).admit(["a", "a", "b"], np.array([0, 1, 1]), ids=["x", "x", "x"])
    assert counts.tolist() == [True, False, True], "copies of one person"


def test_admissions_that_cannot_be_are_refused() -> None:
    discovery, key = evertally.discover(5, max_steps=2), evertally.NoiseKey.generate()
    wrong: list[Any] = [
        evertally.plan(5),
        evertally.plan(5, max_flips=2),
        evertally.plan(5, dimension=3, max_steps=2),
        evertally.discover(5, keys_per_step=2),
        "plan",
    ]
    for plan in wrong:
        with pytest.raises(evertally.BadParameter, match="plan"):
            evertally.Admission(plan, key)
    admission = evertally.Admission(discovery, key)
    bad: list[tuple[Any, ...]] = [
        (["secret"], 0),
        (["secret"], -1, ["k"]),
        (["secret"], np.array([0, 1]), ["k"]),
        (["secret"], np.array([0.5]), ["k"]),
        (["secret"], 0, ["k", "l"]),
        (["secret"], 0, ["k"], ["i", "j"]),
        ([b"secret"], 0, ["k"]),
        ([True], 0, ["k"]),
        ([0.5], 0, ["k"]),
        ("secret", 0, ["k"]),
    ]
    for given in bad:
        with pytest.raises(evertally.BadParameter) as caught:
            admission.admit(*given)
        assert "secret" not in str(caught.value)
    counts, _ = admission.admit(["secret"], 0, ["canary"])
    assert counts.all(), "a refusal admits nothing"
    state = admission.save()
    assert b"secret" not in state and b"canary" not in state and "secret" not in repr(admission)
    assert evertally.Admission.resume(discovery, key, state).save() == state
    others = [(evertally.discover(5, max_steps=3), key), (discovery, evertally.NoiseKey.generate())]
    for plan, other in others:
        with pytest.raises(evertally.BadState):
            evertally.Admission.resume(plan, other, state)
    with pytest.raises(evertally.BadState):
        evertally.Admission.resume(discovery, key, state[:-1])


def test_plans_bound_persons_in_one_of_three_ways() -> None:
    single = evertally.plan(30, **BUDGET, keys=["a", "b", "c", "d"])
    once = evertally.plan(30, **BUDGET, keys=["a", "b", "c", "d"], keys_per_person=4)
    assert (once.keys_per_person, once.unit, single.keys_per_person) == (4, "person", 1)
    assert once.rmse == pytest.approx(2 * single.rmse, rel=0.01)
    assert evertally.plan(30, **BUDGET, keys=["a", "b"], keys_per_person=9).keys_per_person == 2
    flips = evertally.plan(30, **BUDGET, max_flips=8)
    assert (flips.max_flips, flips.unit, flips.contribution, single.max_flips) == (8, "person", (-1.0, 1.0), None)
    wrong: list[dict[str, Any]] = [
        {"max_flips": 3},
        {"max_flips": 0},
        {"max_flips": 2, "max_steps": 1},
        {"max_flips": 2, "keys_per_person": 1},
        {"keys_per_person": 2, "max_steps": 1},
        {"keys_per_person": 2, "min_gap": 1},
        {"keys_per_person": 0},
        {"keys_per_person": 2},
        {"max_flips": 2, "contribution": (0.0, 1.0)},
        {"keys_per_person": 1, "contribution": (0.0, 1.0)},
    ]
    for choices in wrong:
        with pytest.raises(evertally.BadParameter):
            evertally.plan(30, **BUDGET, **choices)


def rows(steps: int, seed: int, persons: int) -> tuple[Any, Any, Any, Any]:
    """Times in ascending order, persons, keys, and steps."""
    dice = np.random.default_rng(seed)
    times = times_of(dice.random(1500) * steps)
    people = np.array([f"u{number}" for number in dice.integers(0, persons, len(times))])
    keys = np.array([f"k{number}" for number in dice.zipf(1.5, len(times)) % 7])
    return times, people, keys, (times - START_MICROS) // DAY_MICROS


@NEEDED
def test_the_program_counts_the_same_persons(tmp_path: Path) -> None:
    times, people, _, days = rows(9, 1, 400)
    released = count(tmp_path, {"time": times.tolist(), "user": people.tolist()}, ["--horizon", "9", "--distinct", "user"])
    definition = _definition(("time", None, None, "user", None), BUCKETS, bound=(1, 1))
    plan = evertally.plan(9, **BUDGET, max_steps=1)._with_definition(definition)
    counts, _ = evertally.Admission(plan, KEY).admit(people, days)
    assert counts.sum() == len(set(people))
    counter = evertally.Counter(plan, KEY).run(np.bincount(days[counts], minlength=9).astype(np.float64))
    assert [float(row["estimate"]) for row in released] == counter.values.tolist()


@NEEDED
@pytest.mark.parametrize("keys_per_person", [1, 2, 3, 9])
def test_the_program_counts_the_same_persons_by_key(keys_per_person: int, tmp_path: Path) -> None:
    times, people, keys, days = rows(9, 2, 120)
    declared = ["k0", "k1", "k2", "k5", "other"]
    options = ["--horizon", "9", "--distinct", "user", "--group-by", "key", "--groups", ",".join(declared[:-1])]
    options += ["--groups-per-person", str(keys_per_person)]
    released = count(tmp_path, {"time": times.tolist(), "user": people.tolist(), "key": keys.tolist()}, options)
    most = min(keys_per_person, len(declared))
    definition = _definition(("time", None, "key", "user", None), BUCKETS, bound=(1, 1), keys_per_person=most)
    plan = evertally.plan(9, **BUDGET, keys=declared, keys_per_person=keys_per_person)._with_definition(definition)
    assert plan.keys_per_person == most
    known = np.where(np.isin(keys, declared), keys, "other")
    admission = evertally.Admission(plan, KEY)
    inputs = np.zeros((9, len(declared)))
    for step in range(9):
        here = days == step
        counts, new = admission.admit(people[here], step, keys[here])
        assert (counts >= new).all()
        for key in known[here][counts]:
            inputs[step, declared.index(key)] += 1
        admission = evertally.Admission.resume(plan, KEY, admission.save())
    values = evertally.KeyedCounter(plan, KEY).run(inputs).values
    found = [float(row["estimate"]) for row in released]
    assert found == values.ravel().tolist()


@NEEDED
@pytest.mark.parametrize(("window", "max_flips", "is_keyed"), [(3, 4, False), (1, 2, False), (2, 8, True), (None, 4, False), (None, 2, True)])
def test_the_program_counts_the_same_persons_who_are_present(
    window: int | None, max_flips: int, is_keyed: bool, tmp_path: Path
) -> None:
    times, people, keys, _ = rows(9, 3, 60)
    words = np.random.default_rng(4).choice(["insert", "delete"], len(times))
    columns: dict[str, Any] = {"time": times.tolist(), "user": people.tolist(), "key": keys.tolist(), "what": words.tolist()}
    declared = ["k1", "k0", "other"]
    options = ["--horizon", "9", "--distinct", "user", "--max-flips", str(max_flips)]
    options += ["--operation", "what"] if window is None else ["--window", str(window)]
    options += ["--group-by", "key", "--groups", "k1,k0"] if is_keyed else []
    released = count(tmp_path, columns, options)
    stays = (window, max_flips // 2, "what" if window is None else None)
    definition = _definition(("time", None, "key" if is_keyed else None, "user", None), BUCKETS, bound=(max_flips, 1), stays=stays)
    of_keys: dict[str, Any] = {"keys": declared} if is_keyed else {}
    plan = evertally.plan(9, **BUDGET, max_flips=max_flips, **of_keys)._with_definition(definition)
    shuffled = np.random.default_rng(5).permutation(len(times))
    presence = evertally.Presence(plan, start=START, every="1d", window=window)
    for part in np.array_split(shuffled, 3):
        named: dict[str, Any] = {"keys": keys[part]} if is_keyed else {}
        named |= {"operations": words[part]} if window is None else {}
        presence.add(people[part], times[part].astype("datetime64[us]") if is_keyed else times[part], **named)
    changes = presence.changes()
    counter = (evertally.KeyedCounter if is_keyed else evertally.Counter)(plan, KEY)
    assert [float(row["estimate"]) for row in released] == counter.run(changes).values.ravel().tolist()
    assert changes.any() and (changes.cumsum(axis=0) >= 0).all()


def test_presences_that_cannot_be_are_refused() -> None:
    plan = evertally.plan(5, max_flips=2)
    for given in ({"start": "soon"}, {"every": "1 moon"}, {"window": 0}):
        with pytest.raises(evertally.BadParameter):
            evertally.Presence(plan, **{"start": START, "every": "1d", **given})  # type: ignore[arg-type]
    for other in (evertally.plan(5, max_steps=2), evertally.plan(5, max_flips=2, open_keys=True)):
        with pytest.raises(evertally.BadParameter, match="plan"):
            evertally.Presence(other, START, "1d")
    at = np.array([START_MICROS])
    with pytest.raises(evertally.BadParameter, match="operations"):
        evertally.Presence(plan, START, "1d").add(["secret"], at)
    with pytest.raises(evertally.BadParameter, match="operations"):
        evertally.Presence(plan, START, "1d").add(["secret"], at, operations=["secret"])
    presence = evertally.Presence(plan, START, "1d", window=2)
    bad: list[dict[str, Any]] = [{"operations": ["insert"]}, {"keys": ["a"]}, {"times": at.astype(float)}, {"times": np.array([1, 2])}]
    for given in bad:
        with pytest.raises(evertally.BadParameter) as caught:
            arguments: dict[str, Any] = {"persons": ["secret"], "times": at, **given}
            presence.add(**arguments)
        assert "secret" not in str(caught.value)
    presence.add(["secret", None, "bob"], np.array([START_MICROS, START_MICROS, 0]))
    assert repr(presence) == "Presence(window=2, max_flips=2)"
    assert presence.changes().tolist() == [1.0, 0.0, -1.0, 0.0, 0.0]
    for attempt in (presence.changes, lambda: presence.add(["ann"], at)):
        with pytest.raises(evertally.BadState, match="count once"):
            attempt()
