"""Keys that nobody declared: what is found, what a hidden key leaves, and what is refused."""

import copy
import pickle
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import BUCKETS, DAY_MICROS, KEY, NEEDED, START_MICROS, count, times_of

import evertally
from evertally._native import _definition

BUDGET: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-5}


def test_a_discovery_says_what_it_promises() -> None:
    discovery = evertally.discover(30, **BUDGET, max_steps=3, min_gap=2, key_delta=2e-6, share=0.25, floor=4)
    assert (discovery.horizon, discovery.epsilon, discovery.delta) == (30, 2.0, 1e-5)
    assert (discovery.key_delta, discovery.share, discovery.floor) == (2e-6, 0.25, 4)
    assert (discovery.max_steps, discovery.min_gap, discovery.keys_per_person, discovery.unit) == (3, 2, 3, "person")
    assert discovery.persons.grid == 1.0 and discovery.totals.unit == "person"
    assert discovery.spend().key_delta == 2e-6 and 2e-6 < discovery.spend().delta(2.0) <= 1e-5
    assert discovery.thresholds().tolist() == [discovery.threshold(step) for step in range(30)]
    assert discovery.quantile > 4 and discovery.threshold(0) > 4 + discovery.quantile * discovery.persons.standard_error(0)
    assert evertally.discover(30, **BUDGET, keys_per_step=4).contribution[1] >= 2.0


def test_an_odometer_adds_up_the_part_of_delta_for_keys() -> None:
    discovery = evertally.discover(30, epsilon=1.0, delta=4e-6)
    visitors: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-5, "unit": "person"}
    with pytest.raises(evertally.BudgetSpent):
        evertally.Odometer("visitors", **visitors).spend("pages", discovery)
    odometer = evertally.Odometer("visitors", **visitors, key_part=2e-6)
    odometer.spend("pages", discovery)
    assert not odometer.can_afford(discovery), "the part for keys is used up"
    with pytest.raises(evertally.BadParameter, match="unit"):
        evertally.Odometer("visits", 3.0, 1e-5, key_part=2e-6).spend("pages", discovery, unit="event")
    spend = discovery.spend() + evertally.Spend(key_delta=1e-6)
    assert spend.key_delta == pytest.approx(3e-6)


def test_discoveries_compare_and_are_pickled_by_their_choices() -> None:
    discovery = evertally.discover(30, **BUDGET, max_steps=3, floor=4)._with_definition(b"visits")
    again = pickle.loads(pickle.dumps(discovery))
    assert again == discovery and hash(again) == hash(discovery) and repr(again) == repr(discovery)
    others = [
        evertally.discover(30, **BUDGET, max_steps=3, floor=4),
        evertally.discover(30, **BUDGET, max_steps=3, floor=5)._with_definition(b"visits"),
        evertally.discover(30, **BUDGET, max_steps=3, floor=4, key_delta=1e-6)._with_definition(b"visits"),
        evertally.discover(30, **BUDGET, max_steps=3, floor=4, share=0.4)._with_definition(b"visits"),
        evertally.discover(30, **BUDGET, max_steps=2, floor=4)._with_definition(b"visits"),
    ]
    assert all(other != discovery for other in others)


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        ({"delta": 0.0}, "above zero"),
        ({"key_delta": 1e-5}, "key_delta"),
        ({"key_delta": 2e-5}, "key_delta"),
        ({"key_delta": 0.0}, "key_delta"),
        ({"key_delta": float("nan")}, "key_delta"),
        ({"share": 0.0}, "share"),
        ({"share": 1.0}, "share"),
        ({"floor": 0}, "floor"),
        ({"keys_per_step": 0}, "keys_per_step"),
        ({"max_steps": 0}, "max_steps"),
        ({"keys": ["a"]}, "keys"),
        ({"keys_per_person": 2}, "keys_per_person"),
        ({"max_flips": 2}, "max_flips"),
        ({"dimension": 3}, "keys are found"),
        ({"workload": ("window", 3)}, "workload"),
        ({"contribution": (0.0, 1e-5)}, "grid"),
        ({"epsilon": 1e-6, "max_steps": 30, "keys_per_step": 10**9}, "threshold"),
    ],
)
def test_choices_that_no_discovery_has_are_refused(choices: dict[str, Any], named: str) -> None:
    with pytest.raises(evertally.BadParameter, match=named):
        evertally.discover(30, **{**BUDGET, **choices})
    with pytest.raises(TypeError, match="unexpected keyword argument 'thing'"):
        evertally.discover(30, thing=1)  # type: ignore[call-arg]


def visits(seed: int, steps: int) -> list[dict[str, tuple[float, int]]]:
    """Amounts and new persons by key, step by step."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(steps):
        keys = random.zipf(1.5, 60) % 12
        made.append({f"k{key}": (float(random.integers(0, 90)), int(random.integers(0, 2 if key % 2 else 30))) for key in keys})
    return made


def test_what_is_found_is_what_the_definition_says() -> None:
    """Both counts of every key at every step, by counters of open keys, and the rule in a few lines."""
    discovery = evertally.discover(12, **BUDGET)
    counter = evertally.DiscoveringCounter(discovery, KEY)
    persons, totals = (evertally.SparseCounter(plan, KEY) for plan in (discovery.persons, discovery.totals))
    count_of: defaultdict[str, int] = defaultdict(int)
    shown: dict[str, int] = {}
    for step, added in enumerate(visits(3, 12)):
        for key, (amount, new) in added.items():
            counter.add(key, amount, new)
            totals.add(key, amount)
            persons.add(key, new)
            count_of[key] += new
        persons.close_step(), totals.close_step()
        appear = [key for key in count_of if key not in shown and count_of[key] >= discovery.floor]
        appear = [key for key in appear if persons.release(key).value >= discovery.threshold(step)]
        shown |= {key: step for key in sorted(appear)}
        found = counter.close_step()
        assert [(row.key, row.since) for row in found] == list(shown.items())
        assert [row.release for row in found] == [totals.release(key) for key in shown]
    assert 0 < len(shown) < len(count_of), "some keys are found, and some are hidden"
    assert counter.steps_closed == 12
    with pytest.raises(evertally.HorizonSpent):
        counter.close_step()


def test_batches_add_as_single_calls_do() -> None:
    discovery = evertally.discover(3, **BUDGET)
    one, batch = (evertally.DiscoveringCounter(discovery, KEY) for _ in range(2))
    keys = ["b", "a", "b", "größe"]
    for key, amount, new in zip(keys, [100.0, 50.5, 7.0, 300.0], [90, 80, 20, 200]):
        one.add(key, amount, new)
    batch.add_each(np.array(keys), np.array([100.0, 50.5, 7.0, 300.0]), np.array([90, 80, 20, 200]))
    first = one.close_step()
    assert first == batch.close_step() and {row.key for row in first} == {"a", "b", "größe"}
    one.add_each(["a"] * 3, np.ones(3), np.array([True, False, True]))
    batch.add("a", 3.0, 2)
    assert one.close_step() == batch.close_step()


def test_admission_and_the_counter_know_the_same_names() -> None:
    discovery = evertally.discover(2, epsilon=60.0, delta=0.1, max_steps=2)
    key = evertally.NoiseKey.generate()
    admission = evertally.Admission(discovery, key)
    persons = [f"p{number}" for number in range(400)]
    pages = ["/a" if number % 2 else " /a\t" for number in range(400)]
    counts, new = admission.admit([*persons, "long"], 0, keys=[*pages, "x" * 4097])
    assert counts[:-1].all() and new[:-1].all()
    assert not counts[-1], "no counter takes such a key"
    counter = evertally.DiscoveringCounter(discovery, key)
    counter.add_each(pages, np.ones(400), new[:-1])
    counter.add("/a ", 1.0, 0)
    (found,) = counter.close_step()
    assert found.key == "/a"
    assert abs(found.release.value - 401) < 6 * found.release.standard_error
    with pytest.raises(evertally.BadParameter):
        counter.add("  ", 1.0, 1)


@pytest.mark.parametrize(
    ("add", "error"),
    [
        (lambda counter: counter.add("", 1.0, 1), evertally.BadParameter),
        (lambda counter: counter.add("secret" * 2_000_000, 1.0, 1), evertally.BadParameter),
        (lambda counter: counter.add("secret", float("nan"), 1), evertally.BadParameter),
        (lambda counter: counter.add("secret", float("inf"), 1), evertally.BadParameter),
        (lambda counter: counter.add("secret", 1e300, 1), evertally.BadParameter),
        (lambda counter: counter.add("secret", 1.0, -1), OverflowError),
        (lambda counter: counter.add_each(["secret"], np.ones(2), np.ones(1, dtype=bool)), evertally.BadParameter),
        (lambda counter: counter.add_each(["secret"], np.ones(1), np.ones(2, dtype=bool)), evertally.BadParameter),
        (lambda counter: counter.add_each(["secret"], np.ones(1), -np.ones(1, dtype=np.int64)), evertally.BadParameter),
        (lambda counter: counter.add_each(["secret"], np.ones(1), np.ones(1)), evertally.BadParameter),
        (lambda counter: counter.add_each([None], np.ones(1), np.ones(1, dtype=bool)), evertally.BadParameter),
        (lambda counter: counter.add_each([b"secret"], np.ones(1), np.ones(1, dtype=bool)), evertally.BadParameter),
        (lambda counter: counter.add_each("secret", np.ones(6), np.ones(6, dtype=bool)), evertally.BadParameter),
    ],
)
def test_what_cannot_be_added_is_refused_without_its_name(
    add: Callable[[evertally.DiscoveringCounter], None], error: type[Exception]
) -> None:
    counter = evertally.DiscoveringCounter(evertally.discover(3, **BUDGET), KEY)
    with pytest.raises(error) as caught:
        add(counter)
    assert "secret" not in str(caught.value)
    assert counter.close_step() == []


def test_hidden_keys_leave_nothing_that_can_be_seen() -> None:
    discovery = evertally.discover(4, **BUDGET, floor=2)
    seen = []
    for hidden in (0, 3000):
        counter = evertally.DiscoveringCounter(discovery, evertally.NoiseKey.insecure_from_seed(9))
        counter.add("/", 654321.0, 500)
        for number in range(hidden):
            counter.add(f"canary-{number}", 123456.0, 1 + number % 2)
        rows = counter.close_step()
        assert [row.key for row in rows] == ["/"]
        seen.append((repr(counter), str(counter), repr(rows), rows[0].release, repr(counter.discovery)))
        assert "canary" not in repr(counter) and "123456" not in repr(counter) and "654321" not in repr(counter)
        assert not hasattr(counter, "__dict__")
        attempts: list[Callable[[Any], Any]] = [pickle.dumps, copy.copy, copy.deepcopy]
        for attempt in attempts:
            with pytest.raises(TypeError):
                attempt(counter)
    assert seen[0] == seen[1]


def test_a_noise_key_finds_keys_in_one_input() -> None:
    discovery, key = evertally.discover(3, **BUDGET), evertally.NoiseKey.generate()

    def found(amount: float, new: int) -> list[evertally.FoundKey]:
        counter = evertally.DiscoveringCounter(discovery, key)
        # In two parts: what counts is their sum.
        counter.add("a", amount - 1.0, new - 1)
        counter.add("hidden", 1.0, 1)
        counter.add("a", 1.0, 1)
        return counter.close_step()

    first = found(200.0, 100)
    assert first and found(200.0, 100) == first
    for amount, new in ((201.0, 100), (200.0, 101)):
        with pytest.raises(evertally.KeyReused) as caught:
            found(amount, new)
        assert "hidden" not in str(caught.value)
    other = evertally.discover(3, **BUDGET, floor=3)
    evertally.DiscoveringCounter(other, key).close_step()


def test_threads_may_add_at_once() -> None:
    discovery = evertally.discover(2, **BUDGET)
    counter, alone = (evertally.DiscoveringCounter(discovery, KEY) for _ in range(2))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: counter.add(f"k{number % 3}", 1.0, 1), range(600)))
    for number in range(3):
        alone.add(f"k{number}", 200.0, 200)
    assert counter.close_step() == alone.close_step() != []


def test_a_counter_goes_on_from_a_saved_state() -> None:
    discovery, key = evertally.discover(6, **BUDGET), evertally.NoiseKey.generate()
    counter = evertally.DiscoveringCounter(discovery, KEY)
    saved = evertally.DiscoveringCounter(discovery, key)
    recorded: list[list[evertally.FoundKey]] = []
    for added in visits(8, 6):
        alone = evertally.DiscoveringCounter.resume(discovery, KEY, counter.save())
        saved = evertally.DiscoveringCounter.resume(discovery, key, saved.save())
        for held in (counter, alone, saved):
            for name, (amount, new) in added.items():
                held.add(name, amount, new)
            with pytest.raises(evertally.BadState, match="close it first"):
                held.save()
        recorded.append(saved.close_step())
        assert counter.close_step() == alone.close_step()
    state = saved.save()
    assert evertally.DiscoveringCounter.resume(discovery, key, state).steps_closed == 6
    other = evertally.DiscoveringCounter(discovery, key)
    again = []
    for added in visits(8, 6):
        for name, (amount, new) in added.items():
            other.add(name, amount, new)
        again.append(other.close_step())
    assert again == recorded, "the record knows every step, before and after a state"
    cases = [(evertally.discover(6, **BUDGET, floor=3), key, state), (discovery, KEY, state), (discovery, key, state[:-1])]
    for plan, secret, given in cases:
        with pytest.raises(evertally.BadState):
            evertally.DiscoveringCounter.resume(plan, secret, given)


@NEEDED
@pytest.mark.parametrize(
    ("choices", "options"),
    [
        ({}, ["--max-steps", "1"]),
        ({"max_steps": 4, "min_gap": 2, "floor": 1}, ["--max-steps", "4", "--min-gap", "2", "--discover-floor", "1"]),
        ({"max_steps": 3, "share": 0.3, "key_delta": 1e-6}, ["--max-steps", "3", "--discover-share", "0.3", "--discover-delta", "1e-6"]),
        ({"max_steps": 2, "neighbours": "replace"}, ["--max-steps", "2", "--neighbours", "replace"]),
    ],
)
def test_the_program_finds_the_same_of_the_same_rows(choices: dict[str, Any], options: list[str], tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    steps = 6
    times = times_of(random.random(8000) * steps)
    pages = np.array([f"/p{number}" for number in random.zipf(1.4, len(times)) % 200])
    users = np.array([f"u{number}" for number in random.integers(0, 1500, len(times))])
    columns: dict[str, Any] = {"time": times.tolist(), "page": pages.tolist(), "user": users.tolist()}
    rows = count(tmp_path, columns, ["--horizon", str(steps), "--group-by", "page", "--discover", "--person", "user", *options])

    limits = (choices.get("max_steps", 1), choices.get("min_gap", 1))
    definition = _definition(("time", None, "page", "user", None), BUCKETS, bound=limits)
    discovery = evertally.discover(steps, **BUDGET, **choices)._with_definition(definition)
    counter = evertally.DiscoveringCounter(discovery, KEY)
    admission = evertally.Admission(discovery, KEY)
    days = (times - START_MICROS) // DAY_MICROS
    expected = []
    for step in range(steps):
        here = days == step
        counts, new = admission.admit(users[here], step, pages[here])
        admission = evertally.Admission.resume(discovery, KEY, admission.save())
        counter.add_each(pages[here][counts], np.ones(int(counts.sum())), new[counts])
        for row in counter.close_step():
            expected.append((step, row.key, row.release.value, row.release.standard_error))
    found = [(int(row["step"]), row["key"], float(row["estimate"]), float(row["standard_error"])) for row in rows]
    assert found == expected and 0 < len({row[1] for row in found}) < len(set(pages))
