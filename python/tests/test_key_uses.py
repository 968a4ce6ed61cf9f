"""A key serves one set of data for each plan: the same data again, never other data."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evertally

STEPS = 12
ROWS = np.arange(3.0 * STEPS).reshape(STEPS, 3) / 20
KEYED = evertally.plan(STEPS, keys=["north", "south", "west"])
# Every counter of one row per step, with a plan and inputs for it.
COUNTERS: list[Any] = [
    pytest.param(evertally.Counter, evertally.plan(STEPS), ROWS[:, 0].copy(), id="numbers"),
    pytest.param(evertally.VectorCounter, evertally.plan(STEPS, dimension=3, norm=2.0), ROWS, id="vectors"),
    pytest.param(evertally.KeyedCounter, KEYED, ROWS, id="keys"),
    pytest.param(evertally.KeyedCounter, KEYED._part(["west", "north"]), ROWS[:, :2].copy(), id="some of the keys"),
]


def generated() -> evertally.NoiseKey:
    return evertally.NoiseKey.generate()


@pytest.fixture(params=["in this process", "in a file"])
def key(request: pytest.FixtureRequest, tmp_path: Path) -> evertally.NoiseKey:
    if request.param == "in this process":
        return generated()
    path = tmp_path / "noise.key"
    generated().to_file(path)
    return evertally.NoiseKey.from_file(path)


def test_plans_that_differ_only_in_their_keys_or_their_grid_have_independent_noise() -> None:
    """The noise of a key was once the same for any other keys beside it, and for any grid
    releases were rounded to.

    Two plans that declared ["a", "other"] and ["a", "b", "other"] under one noise key therefore
    released `other` with and without b under the same noise: their difference was the exact count
    of b. A plan of a finer grid released the same total less rounded.
    """
    key = generated()
    few = evertally.KeyedCounter(evertally.plan(100, keys=["a", "other"]), key).run(np.tile([5.0, 7.0], (100, 1))).values
    three = evertally.plan(100, keys=["a", "b", "other"])
    more = evertally.KeyedCounter(three, key).run(np.tile([5.0, 4.0, 3.0], (100, 1))).values
    coarse, fine = (evertally.Counter(evertally.plan(100, grid=grid), key).run(np.zeros(100)).values for grid in (1.0, 2.0**-20))
    # Shared noise would leave these differences at every one of a hundred steps. Noise that is
    # independent does not: it differs by more than one at some step but for one run in 2^50 and
    # fewer.
    assert np.max(np.abs(few[:, 0] - more[:, 0])) > 1.0
    assert np.max(np.abs(few[:, 1] - more[:, 2] - 4.0 * np.arange(1, 101))) > 1.0
    assert np.max(np.abs(coarse - fine)) > 1.0
    # A part of a plan, by contrast, has the noise of the whole.
    assert evertally.KeyedCounter(three._part(["a"]), key).step({"a": 5.0}).values[0] == more[0, 0]


@pytest.mark.parametrize(("kind", "plan", "inputs"), COUNTERS)
def test_other_data_are_refused_and_the_same_data_are_released_again(
    key: evertally.NoiseKey, kind: Any, plan: evertally.Plan, inputs: Any
) -> None:
    """Two counters of equal plans under one key once released different data under the same noise."""
    released = kind(plan, key).run(inputs).values
    other = inputs.copy()
    other[7] += 0.5
    counter = kind(plan, key)
    with pytest.raises(evertally.KeyReused, match="they differ at step 7"):
        counter.run(other)
    assert counter.steps_taken == 0
    assert np.array_equal(counter.run(inputs[:7]).values, released[:7])
    with pytest.raises(evertally.KeyReused, match="step 7"):
        counter.step(other[7])
    # Nothing is lost: the right input follows.
    again = counter.step(inputs[7])
    assert np.array_equal(np.array(again.value if kind is evertally.Counter else again.values), released[7])
    assert np.array_equal(counter.run(inputs[8:]).values, released[8:])


@pytest.mark.parametrize(("kind", "plan", "inputs"), COUNTERS)
def test_a_state_goes_on_with_the_data_that_followed_it(key: evertally.NoiseKey, kind: Any, plan: evertally.Plan, inputs: Any) -> None:
    """Two runs from one state would release different totals under the same noise."""
    counter = kind(plan, key)
    counter.run(inputs[:4])
    state = counter.save()
    released = counter.run(inputs[4:]).values
    resumed = kind.resume(plan, key, state)
    with pytest.raises(evertally.KeyReused, match="step 4"):
        resumed.step(inputs[4] + 1.0)
    assert resumed.steps_taken == 4
    assert np.array_equal(resumed.run(inputs[4:]).values, released)
    # A state of elsewhere: what came before it is not known, and cannot be counted here.
    secret = evertally.NoiseKey.from_bytes(generated().to_bytes())
    elsewhere = kind(plan, secret._without_record())
    elsewhere.run(inputs[:4])
    kind.resume(plan, secret, elsewhere.save()).step(inputs[4])
    with pytest.raises(evertally.KeyReused, match="from step 4 on"):
        kind(plan, secret)


def test_keys_in_another_order_are_not_mistaken_for_each_other() -> None:
    """The noise does not depend on the order of keys. A record that did would let two rows with the
    same numbers in another order pass for one.
    """
    key = generated()
    one, other = (evertally.plan(STEPS, keys=names) for names in (["a", "c", "b"], ["b", "a", "c"]))
    released = evertally.KeyedCounter(one, key).step(np.array([1.0, 2.0, 3.0])).values
    with pytest.raises(evertally.KeyReused):
        evertally.KeyedCounter(other, key).step(np.array([1.0, 2.0, 3.0]))
    again = evertally.KeyedCounter(other, key).step(np.array([3.0, 1.0, 2.0])).values
    assert np.array_equal(again[[1, 2, 0]], released)


def test_open_keys_are_compared_when_their_step_is_closed(key: evertally.NoiseKey) -> None:
    plan = evertally.plan(STEPS, open_keys=True)
    first = evertally.SparseCounter(plan, key)
    first.add_each(["a", "b"], np.array([3.0, 4.0]))
    first.close_step()
    released = first.release_each(["a", "b", "c"]).values
    second = evertally.SparseCounter(plan, key)
    second.add_each(["b", "a", "c"], np.array([4.0, 3.0, 2.0]))
    with pytest.raises(evertally.KeyReused, match="step 0"):
        second.close_step()
    with pytest.raises(evertally.BadParameter):
        second.release("a")
    assert second.steps_closed == 0
    second.add("c", -2.0)
    state = second.save()
    assert second.close_step() == 0 and np.array_equal(second.release_each(["a", "b", "c"]).values, released)
    resumed = evertally.SparseCounter.resume(plan, key, state)
    resumed.add("a", 1.0)
    with pytest.raises(evertally.KeyReused):
        resumed.close_step()


def test_refused_steps_are_not_recorded(key: evertally.NoiseKey) -> None:
    counter = evertally.Counter(evertally.plan(2), key)
    for attempt in (lambda: counter.step(np.nan), lambda: counter.run(np.array([1.0, np.inf])), lambda: counter.run(np.ones(3))):
        with pytest.raises((evertally.BadParameter, evertally.HorizonSpent)):
            attempt()
    counter.run(np.array([5.0, 6.0]))
    with pytest.raises(evertally.HorizonSpent):
        counter.step(1.0)
    with pytest.raises(evertally.KeyReused, match="step 1"):
        evertally.Counter(evertally.plan(2), key).run(np.array([5.0, 7.0]))


def test_gradients_are_guarded(key: evertally.NoiseKey) -> None:
    plan = evertally.LearningPlan(2, 6, radius=1.0, restart_every=2)
    learner = evertally.Learner(plan, key)
    thetas = []
    for number in range(4):
        state = learner.save()
        thetas.append(learner.step(np.array([[0.1 * number, 0.2]])))
    again = evertally.Learner(plan, key)
    assert np.array_equal(again.step(np.array([[0.0, 0.2]])), thetas[0])
    with pytest.raises(evertally.KeyReused, match="step 1"):
        again.step(np.array([[0.1, 0.3]]))
    assert again.steps_taken == 1 and np.array_equal(again.theta, thetas[0])
    assert np.array_equal(again.step(np.array([[0.1, 0.2]])), thetas[1])
    resumed = evertally.Learner.resume(plan, key, state)
    with pytest.raises(evertally.KeyReused, match="step 3"):
        resumed.step(np.zeros((1, 2)))
    assert np.array_equal(resumed.step(np.array([[0.1 * 3, 0.2]])), thetas[3])
    # Another run has noise of its own.
    evertally.Learner(evertally.LearningPlan(2, 6, radius=1.0, restart_every=3), key).step(np.ones((1, 2)))


def test_a_batch_of_queries_has_one_histogram(key: evertally.NoiseKey) -> None:
    plan = evertally.BatchPlan(np.array([[1, 1, 1], [1, 1, 0]]))
    answers = plan.answer(np.array([1.0, 2.0, 3.0]), key)
    assert np.array_equal(plan.answer(np.array([1.0, 2.0, 3.0]), key).values, answers.values)
    with pytest.raises(evertally.KeyReused):
        plan.answer(np.array([1.0, 2.0, 4.0]), key)
    with pytest.raises(evertally.BadParameter):
        evertally.BatchPlan(np.eye(3)).answer(np.zeros(2), key)
    evertally.BatchPlan(np.eye(3)).answer(np.zeros(3), key)


def test_keys_without_a_record_refuse_nothing() -> None:
    """Nothing under a seed is private, and a key that is drawn for one counter has no other."""
    seed = evertally.NoiseKey.insecure_from_seed(5)
    plan = evertally.plan(STEPS)
    assert evertally.Counter(plan, seed).step(2.0).value - evertally.Counter(plan, seed).step(1.0).value == 1.0
    for x in (1.0, 2.0):
        evertally.Counter(plan).step(x)


COUNT = """
import sys, evertally
key = evertally.NoiseKey.from_file(sys.argv[1])
counter = evertally.Counter(evertally.plan(12), key)
print([counter.step(float(x)).value for x in sys.argv[2:]])
"""


def count_elsewhere(path: Path, *inputs: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COUNT, str(path), *map(str, inputs)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_processes_share_the_record_of_a_key_file(tmp_path: Path) -> None:
    path = tmp_path / "noise.key"
    generated().to_file(path)
    first = count_elsewhere(path, 1, 2, 3)
    assert first.returncode == 0 and count_elsewhere(path, 1, 2, 3).stdout == first.stdout
    refused = count_elsewhere(path, 1, 2, 4)
    assert refused.returncode != 0 and refused.stdout == ""
    assert refused.stderr.splitlines()[-1].startswith(f"evertally.KeyReused: {path} was used before")
    with pytest.raises(evertally.KeyReused):
        evertally.Counter(evertally.plan(12), evertally.NoiseKey.from_file(path)).run(np.array([1.0, 9.0]))
    # A link leads to the same record; a copy without it has an empty record, as documented.
    link, copy = tmp_path / "link.key", tmp_path / "copy.key"
    link.symlink_to(path)
    assert "KeyReused" in count_elsewhere(link, 1, 2, 4).stderr
    shutil.copy(path, copy)
    assert count_elsewhere(copy, 1, 2, 4).returncode == 0


def test_a_record_goes_along_when_a_key_is_written_to_a_file(tmp_path: Path) -> None:
    """A key that was drawn, written to a file and then used by the same object once left no record
    for other processes.
    """
    plan, path = evertally.plan(12), tmp_path / "noise.key"
    key = generated()
    counter = evertally.Counter(plan, key)
    counter.step(1.0)
    key.to_file(path)
    counter.step(2.0)
    evertally.Counter(plan, key).run(np.array([1.0, 2.0, 3.0]))
    for inputs in ((5,), (1, 5), (1, 2, 5)):
        assert "KeyReused" in count_elsewhere(path, *inputs).stderr
    assert count_elsewhere(path, 1, 2, 3).returncode == 0


def test_what_cannot_be_recorded_is_not_released(tmp_path: Path) -> None:
    path, record = tmp_path / "noise.key", tmp_path / "noise.key.uses"
    generated().to_file(path)
    counter = evertally.KeyedCounter(evertally.plan(STEPS, keys=["a", "b"]), evertally.NoiseKey.from_file(path))
    # Another file has the place of the record.
    record.touch()
    out = np.zeros(2)
    attempts: list[Callable[[], Any]] = [lambda: counter.step(np.ones(2), out=out), lambda: counter.run(np.ones((3, 2)))]
    for attempt in attempts:
        with pytest.raises(OSError):
            attempt()
    assert counter.steps_taken == 0 and not out.any()
    with pytest.raises(OSError):
        evertally.Counter(evertally.plan(3), evertally.NoiseKey.from_file(path))
    # No step was taken, so the counter continues once its record can be written.
    record.unlink()
    counter.step(np.ones(2), out=out)
    assert counter.steps_taken == 1 and len(list(record.iterdir())) == 1


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "noise.key"
    generated().to_file(path)
    key = evertally.NoiseKey.from_file(path)
    evertally.Counter(evertally.plan(3), key).step(1.0)
    (record,) = (tmp_path / "noise.key.uses").iterdir()
    record.write_bytes(b"something else")
    with pytest.raises(evertally.BadState, match="no record of a key's uses"):
        evertally.Counter(evertally.plan(3), key)


def test_threads_agree_on_one_set_of_data(key: evertally.NoiseKey) -> None:
    """The first thread decides what the data are; all others release the same or nothing."""
    plan = evertally.plan(STEPS)
    released: dict[int, list[float]] = {}

    def count(number: int) -> None:
        counter = evertally.Counter(plan, key)
        try:
            released[number] = [counter.step(float(1 + number % 3)).value for _ in range(STEPS)]
        except evertally.KeyReused:
            pass

    threads = [threading.Thread(target=count, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert released and len({number % 3 for number in released}) == 1
    assert len({tuple(values) for values in released.values()}) == 1


def test_records_show_nothing(tmp_path: Path) -> None:
    path = tmp_path / "noise.key"
    generated().to_file(path)
    evertally.Counter(evertally.plan(3), evertally.NoiseKey.from_file(path)).step(123456.0)
    (record,) = (tmp_path / "noise.key.uses").iterdir()
    assert np.float64(123456.0).tobytes() not in record.read_bytes()
    with pytest.raises(evertally.KeyReused) as caught:
        evertally.Counter(evertally.plan(3), evertally.NoiseKey.from_file(path)).step(654321.0)
    assert "123456" not in str(caught.value) and "654321" not in str(caught.value)


def test_states_of_the_first_version_go_on_under_their_own_name() -> None:
    """Version 0.1 gave plans that differ in their grid the same noise. Its states resume with that noise,
    and the record knows them by that name.
    """
    lines = (Path(__file__).parents[2] / "crates/evertally/tests/data/version-1/states.txt").read_text().splitlines()
    _, state, bits = next(line.split("\t") for line in lines if line.startswith("grid\t"))
    expected = np.array([int(word, 16) for word in bits.split()], dtype=np.uint64).view(np.float64)
    # A seed has no record, and its bytes have one.
    key = evertally.NoiseKey.from_bytes(evertally.NoiseKey.insecure_from_seed(2026).to_bytes())
    plan = evertally.plan(12, grid=0.25, mechanism="graded-square-root")
    inputs = np.array([step * 7.0 % 5 for step in range(12)])
    assert np.array_equal(evertally.Counter.resume(plan, key, bytes.fromhex(state)).run(inputs[5:]).values, expected)
    with pytest.raises(evertally.KeyReused, match="step 5"):
        evertally.Counter.resume(plan, key, bytes.fromhex(state)).run(inputs[5:] + 1.0)
    # A new counter has a new name and independent noise.
    assert not np.array_equal(evertally.Counter(plan, key).run(inputs).values[5:], expected)
