"""The bound on persons: what it admits in batches, its states, and what is refused."""

import doctest
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evertally
from evertally._native import _Participants

KEY = evertally.NoiseKey.insecure_from_seed(7)


def admitted(arrivals: list[tuple[str | None, int]], max_steps: int, min_gap: int) -> list[bool]:
    """The rule as it is stated: one event after the other."""
    counted: dict[str, list[int]] = {}
    answers = []
    for person, step in arrivals:
        steps = counted.setdefault(person or "", [])
        is_named = person is not None and bool(person.strip())
        answers.append(is_named and len(steps) < max_steps and all(abs(step - other) >= min_gap for other in steps))
        if answers[-1]:
            steps.append(step)
    return answers


@pytest.mark.parametrize("seed", range(20))
def test_any_batches_admit_by_the_rule(seed: int) -> None:
    dice = random.Random(seed)
    max_steps, min_gap = dice.randint(1, 5), dice.randint(1, 8)
    names = [None, "", " \t", "ann", "bob", "größe"]
    arrivals = [(dice.choice(names), dice.randrange(60)) for _ in range(300)]
    persons, answers, rest = _Participants(max_steps, min_gap, KEY), [], arrivals
    while rest:
        size = dice.randint(0, 40)
        batch, rest = rest[:size], rest[size:]
        counted = persons.admit([person for person, _ in batch], np.array([step for _, step in batch], dtype=np.int64))
        assert counted.dtype == np.bool_
        answers += counted.tolist()
        persons = _Participants.resume(max_steps, min_gap, KEY, persons.save())
    assert answers == admitted(arrivals, max_steps, min_gap)


def test_states_that_do_not_belong_are_refused() -> None:
    persons = _Participants(2, 3, KEY)
    persons.admit(["ann", "ann", "bob"], np.array([0, 5, 2**62]))
    state = persons.save()
    assert b"ann" not in state and repr(persons) == "_Participants(max_steps=2, min_gap=3)"
    assert _Participants.resume(2, 3, KEY, state).save() == state
    cases: list[Callable[[], object]] = [
        lambda: _Participants.resume(3, 3, KEY, state),
        lambda: _Participants.resume(2, 2, KEY, state),
        lambda: _Participants.resume(2, 3, evertally.NoiseKey.insecure_from_seed(8), state),
        lambda: _Participants.resume(2, 3, KEY, state[:-1]),
        lambda: _Participants.resume(2, 3, KEY, b""),
    ]
    for refused in cases:
        with pytest.raises(evertally.BadState):
            refused()
    for place in range(len(state)):
        damaged = state[:place] + bytes([state[place] ^ 1]) + state[place + 1 :]
        with pytest.raises(evertally.BadState):
            _Participants.resume(2, 3, KEY, damaged)


def test_batches_that_cannot_be_are_refused_and_admit_nothing() -> None:
    persons = _Participants(1, 1, KEY)
    bad: list[Any] = [np.array([1]), np.array([1, -1]), np.array([0.5, 1.0]), [1, 2], np.arange(4)[::2], np.zeros((1, 2), dtype=np.int64)]
    for steps in bad:
        with pytest.raises(evertally.BadParameter, match="steps"):
            persons.admit(["ann", "bob"], steps)
    odd: list[Any] = ["ab", [1, 2], [b"a", b"b"]]
    for names in odd:
        with pytest.raises(TypeError):
            persons.admit(names, np.array([1, 2]))
    assert persons.admit([], np.array([], dtype=np.int64)).shape == (0,)
    assert persons.admit(["ann", "bob"], np.array([1, 1])).all()
    for max_steps, min_gap in ((0, 1), (1, 0)):
        with pytest.raises(evertally.BadParameter):
            _Participants(max_steps, min_gap, KEY)


def test_the_example_runs() -> None:
    test = doctest.DocTestParser().get_doctest(_Participants.__doc__ or "", {}, "_Participants", None, 0)
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0
