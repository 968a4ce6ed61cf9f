"""Counters: truth plus noise, step by step, saved, resumed, and refused."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import evertally

KEY = evertally.NoiseKey.insecure_from_seed(11)
STEPS = 12


def scalar(**choices: Any) -> evertally.Plan:
    return evertally.plan(STEPS, **choices)


def keyed() -> evertally.Plan:
    return evertally.plan(STEPS, keys=["north", "south", "west"])


def vectors() -> evertally.Plan:
    return evertally.plan(STEPS, dimension=3, norm=2.0)


# Every counter that takes one row per step, with a plan for it.
WIDE: list[tuple[Any, Callable[[], evertally.Plan]]] = [(evertally.VectorCounter, vectors), (evertally.KeyedCounter, keyed)]


@pytest.mark.parametrize("choices", [{}, {"arithmetic": "float"}, {"workload": ("window", 3)}, {"workload": ("decay", 0.5), "arithmetic": "float"}])
def test_releases_are_the_truth_and_noise_that_does_not_depend_on_it(choices: dict[str, Any]) -> None:
    plan = scalar(**choices)
    inputs = np.arange(STEPS, dtype=np.float64)
    released = evertally.Counter(plan, KEY).run(inputs).values
    noise = evertally.Counter(plan, KEY).run(np.zeros(STEPS)).values
    lags = np.subtract.outer(np.arange(STEPS), np.arange(STEPS))
    workload = np.where(lags >= 0, 1.0, 0.0)
    if plan.workload.startswith("window"):
        workload = np.where((lags >= 0) & (lags < 3), 1.0, 0.0)
    elif plan.workload.startswith("decay"):
        workload = np.where(lags >= 0, 0.5 ** np.maximum(lags, 0), 0.0)
    # Floats are rounded to 2⁻³⁰ and less, exact releases to their grid; the truth lies on it.
    assert np.allclose(released - noise, workload @ inputs, atol=1e-6)
    assert np.any(noise != 0)


def test_steps_and_runs_are_the_same() -> None:
    plan = scalar()
    inputs = np.linspace(0, 9, STEPS)
    run = evertally.Counter(plan, KEY).run(inputs)
    counter = evertally.Counter(plan, KEY)
    for step, x in enumerate(inputs):
        release = counter.step(x)
        assert (release.step, release.value) == (step, run.values[step])
        assert release.standard_error == run.standard_errors[step] == plan.standard_error(step)
        assert release.margin(0.9) == pytest.approx(run.margin(0.9)[step], rel=1e-12)
        assert np.allclose(release.interval(0.9), [end[step] for end in run.interval(0.9)], rtol=1e-12)
    assert run.steps is not None and run.steps.tolist() == list(range(STEPS)) and len(run) == STEPS
    assert counter.steps_taken == STEPS
    with pytest.raises(evertally.HorizonSpent):
        counter.step(0.0)


def test_margins_follow_the_law_of_the_noise() -> None:
    def ratios_of(releases: evertally.Releases) -> np.ndarray:
        """Margins beyond the reach of rounding to integers, in standard deviations of the noise alone."""
        return (releases.margin(0.95) - 0.5) / np.sqrt(releases.standard_errors**2 - 1 / 12)

    gaussian = evertally.Counter(scalar(whole=True)).run(np.zeros(STEPS))
    assert np.allclose(ratios_of(gaussian), 1.959963984540054, rtol=1e-8)
    laplace = evertally.Counter(scalar(delta=0.0, whole=True), KEY)
    run = laplace.run(np.zeros(STEPS))
    ratios = ratios_of(run)
    assert 1.95 < np.min(ratios) and np.max(ratios) <= np.log(20) / np.sqrt(2) + 1e-8
    single = evertally.Counter(scalar(delta=0.0, whole=True), KEY)
    assert np.allclose([single.step(0.0).margin() for _ in range(STEPS)], run.margin(), rtol=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, float("nan"), 2.0])
def test_levels_lie_between_zero_and_one(level: float) -> None:
    run = evertally.Counter(scalar()).run(np.zeros(2))
    vector = evertally.VectorCounter(vectors()).step(np.zeros(3))
    for made in (run, vector, vector[0]):
        with pytest.raises(evertally.BadParameter, match="level"):
            made.margin(level)
        with pytest.raises(evertally.BadParameter, match="level"):
            made.interval(level)


@pytest.mark.parametrize(("kind", "plan"), WIDE)
def test_wide_counters_step_run_and_write_in_place(kind: Any, plan: Callable[[], evertally.Plan]) -> None:
    inputs = np.arange(3.0 * STEPS).reshape(STEPS, 3) / 20
    run = kind(plan(), KEY).run(inputs)
    assert run.values.shape == (STEPS, 3) and run.interval()[0].shape == (STEPS, 3)
    counter = kind(plan(), KEY)
    for step, row in enumerate(inputs):
        out = np.full(3, np.nan)
        release = counter.step(row, out=out)
        assert release.values is out and np.array_equal(out, run.values[step])
        assert (release.step, release.standard_error) == (step, run.standard_errors[step])
        assert [release[place].value for place in range(3)] == out.tolist()
        assert np.allclose(release.interval(0.5)[1] - out, release.margin(0.5))
    with pytest.raises(evertally.HorizonSpent):
        counter.step(inputs[0])
    with pytest.raises(IndexError):
        release[3]


def test_keys_are_given_by_name_too() -> None:
    named, ordered = evertally.KeyedCounter(keyed(), KEY), evertally.KeyedCounter(keyed(), KEY)
    one, other = named.step({"west": 5, "north": 1.5}), ordered.step(np.array([1.5, 0.0, 5.0]))
    assert np.array_equal(one.values, other.values) and named.keys == ["north", "south", "west"]
    with pytest.raises(evertally.BadParameter, match="another key"):
        named.step({"east": 1.0})
    with pytest.raises(evertally.BadParameter, match="numbers"):
        named.step({"west": "many"})  # type: ignore[dict-item]
    assert named.steps_taken == 1


def test_open_keys_are_released_as_declared_ones() -> None:
    opened = evertally.plan(STEPS, open_keys=True)
    declared = evertally.KeyedCounter(opened._part(["north", "south", "west"]), KEY)
    sparse = evertally.SparseCounter(opened, KEY)
    for step in range(STEPS):
        amounts = np.array([step, 2.0, 0.0])
        sparse.add_each(["north", "south", "west"], amounts)
        sparse.add("unseen", 3.0)
        assert sparse.close_step() == step
        released = sparse.release_each(["west", "north"])
        assert np.array_equal(declared.step(amounts).values[[2, 0]], released.values)
        with pytest.raises(evertally.BadParameter, match="released once"):
            sparse.release("west")
        if step == 5:
            sparse = evertally.SparseCounter.resume(sparse.plan, KEY, sparse.save())
    assert (sparse.steps_closed, sparse.keys_held()) == (STEPS, 4)
    with pytest.raises(evertally.HorizonSpent):
        sparse.add("north", 1.0)
    with pytest.raises(evertally.BadParameter, match="amounts"):
        sparse.add_each(["north"], np.zeros(2))


@pytest.mark.parametrize(("kind", "plan"), [(evertally.Counter, scalar), *WIDE])
def test_states_resume_bit_for_bit_and_only_where_they_belong(kind: Any, plan: Callable[[], evertally.Plan]) -> None:
    width = () if kind is evertally.Counter else (3,)
    inputs = np.arange(STEPS * max(1, *width, 1), dtype=np.float64).reshape(STEPS, *width) / 20
    whole = kind(plan(), KEY).run(inputs).values
    counter = kind(plan(), KEY)
    for step in range(STEPS):
        resumed = kind.resume(plan(), KEY, counter.save())
        assert resumed.steps_taken == step
        assert np.array_equal(resumed.run(inputs[step:]).values, whole[step:])
        counter.step(inputs[step])
    state = counter.save()
    for other, damaged in (
        (evertally.NoiseKey.insecure_from_seed(12), state),
        (KEY, state[:-1]),
        (KEY, state[:40] + bytes([state[40] ^ 1]) + state[41:]),
    ):
        with pytest.raises(evertally.BadState):
            kind.resume(plan(), other, damaged)
    with pytest.raises(evertally.BadState):
        evertally.Counter.resume(evertally.plan(STEPS, stream="other"), KEY, state)


def test_intervals_come_from_remembered_releases() -> None:
    counter = evertally.Counter(scalar(), KEY, remember=True)
    run = counter.run(np.full(STEPS, 2.0))
    part = counter.interval(3, 7)
    assert part.value == run.values[7] - run.values[2]
    assert part.standard_error < run.standard_errors[7] + run.standard_errors[2]
    resumed = evertally.Counter.resume(scalar(), KEY, counter.save())
    assert resumed.interval(3, 7) == part
    rows = evertally.VectorCounter(vectors(), KEY, remember=True)
    values = rows.run(np.zeros((STEPS, 3))).values
    assert np.array_equal(rows.interval(1, 4).values, values[4] - values[0])
    by_key = evertally.KeyedCounter(keyed(), KEY, remember=True)
    values = by_key.run(np.zeros((STEPS, 3))).values
    assert by_key.interval("south", 0, 4).value == values[4, 1]
    attempts: list[Callable[[], evertally.Release]] = [
        lambda: evertally.Counter(scalar()).interval(0, 0),
        lambda: counter.interval(0, STEPS),
        lambda: counter.interval(4, 3),
        lambda: by_key.interval("east", 0, 1),
    ]
    for attempt in attempts:
        with pytest.raises(evertally.BadParameter):
            attempt()


BAD_INPUTS = [np.nan, np.inf, -np.inf, 1e300]


@pytest.mark.parametrize("bad", BAD_INPUTS)
def test_a_refused_step_changes_nothing(bad: float) -> None:
    plan = scalar()
    counter, untouched = evertally.Counter(plan, KEY), evertally.Counter(plan, KEY)
    with pytest.raises(evertally.BadParameter, match="input") as caught:
        counter.step(bad)
    assert str(bad) not in str(caught.value)
    assert counter.steps_taken == 0 and counter.step(1.0) == untouched.step(1.0)


@pytest.mark.parametrize("remember", [False, True])
@pytest.mark.parametrize("bad", BAD_INPUTS)
def test_a_refused_run_takes_none_of_its_steps(bad: float, remember: bool) -> None:
    inputs = np.ones(STEPS)
    counter, untouched = (evertally.Counter(scalar(), KEY, remember=remember) for _ in range(2))
    assert counter.step(1.0) == untouched.step(1.0)
    spoilt = inputs[:8].copy()
    spoilt[5] = bad
    with pytest.raises(evertally.BadParameter):
        counter.run(spoilt)
    with pytest.raises(evertally.HorizonSpent):
        counter.run(np.ones(STEPS))
    assert counter.steps_taken == 1
    assert np.array_equal(counter.run(inputs[1:]).values, untouched.run(inputs[1:]).values)


@pytest.mark.parametrize(("kind", "plan"), WIDE)
def test_a_refused_run_of_rows_takes_none_of_them(kind: Any, plan: Callable[[], evertally.Plan]) -> None:
    counter, untouched = kind(plan(), KEY), kind(plan(), KEY)
    spoilt = np.ones((5, 3))
    spoilt[3, 1] = np.nan
    with pytest.raises(evertally.BadParameter):
        counter.run(spoilt)
    assert counter.steps_taken == 0
    assert np.array_equal(counter.run(np.ones((5, 3))).values, untouched.run(np.ones((5, 3))).values)


@pytest.mark.parametrize(("kind", "plan"), WIDE)
@pytest.mark.parametrize(
    "row",
    [np.zeros(2), np.zeros(4), np.zeros(3, dtype=np.float32), np.zeros(3, dtype=int), np.zeros(6)[::2], [0.0, 0.0, 0.0], 1.0, None],
)
def test_rows_that_do_not_fit_are_refused(kind: Any, plan: Callable[[], evertally.Plan], row: Any) -> None:
    counter = kind(plan(), KEY)
    with pytest.raises(evertally.BadParameter, match="inputs"):
        counter.step(row)
    with pytest.raises(evertally.BadParameter):
        counter.run(row)
    with pytest.raises(evertally.BadParameter, match="inputs"):
        counter.step(np.zeros((1, 3)))
    assert counter.steps_taken == 0


@pytest.mark.parametrize(("kind", "plan"), WIDE)
def test_outputs_that_do_not_fit_are_refused(kind: Any, plan: Callable[[], evertally.Plan]) -> None:
    counter = kind(plan(), KEY)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    row = np.zeros(3)
    for out in (fixed, np.zeros(2), np.zeros(3, dtype=np.float32), np.zeros(6)[::2], [0.0] * 3):
        with pytest.raises(evertally.BadParameter, match="out"):
            counter.step(row, out=out)
    with pytest.raises(evertally.BadParameter, match="out"):
        counter.step(row, out=row)
    assert counter.steps_taken == 0 and not row.any()


def test_plans_of_another_shape_are_refused() -> None:
    counters: list[Any] = [evertally.Counter, evertally.VectorCounter, evertally.KeyedCounter, evertally.SparseCounter]
    plans = [scalar(), vectors(), keyed(), evertally.plan(STEPS, open_keys=True)]
    for i, kind in enumerate(counters):
        for j, plan in enumerate(plans):
            if i == j:
                kind(plan, KEY)
            else:
                with pytest.raises(evertally.BadParameter, match="plan"):
                    kind(plan, KEY)
        with pytest.raises(TypeError):
            kind("plan")
        with pytest.raises(TypeError):
            kind(plans[i], b"\0" * 32)


def test_threads_share_a_counter_step_by_step() -> None:
    plan = evertally.plan(400)
    expected = evertally.Counter(plan, KEY).run(np.ones(400))
    counter = evertally.Counter(plan, KEY)
    taken: list[evertally.Release] = []
    threads = [threading.Thread(target=lambda: taken.extend(counter.step(1.0) for _ in range(100))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values: npt.NDArray[np.float64] = np.zeros(400)
    for release in taken:
        values[release.step] = release.value
    assert np.array_equal(values, expected.values)


@pytest.mark.parametrize("keys", [None, ["b", "a"]])
def test_integers_count_like_the_doubles_that_they_equal(keys: list[str] | None) -> None:
    """Totals of Spark reached counters as doubles, which hold no integer above 2^53 exactly."""
    plan = evertally.plan(6, epsilon=1.0, delta=1e-6, keys=keys)
    kind: Any = evertally.Counter if keys is None else evertally.KeyedCounter
    amounts = np.array([[3 << 20, 5], [0, -7], [1, 1 << 40]])[:, : 1 if keys is None else 2].copy()
    doubles = amounts / 2.0**20
    key = evertally.NoiseKey.generate()
    counters = [kind(plan, key) for _ in range(2)]
    # One record serves both: equal inputs have equal digests.
    values = [counters[0]._run_amounts(amounts, 1).values, counters[1].run(doubles[:, 0].copy() if keys is None else doubles).values]
    assert values[0].ravel().tolist() == values[1].ravel().tolist()
    assert counters[0].save() == counters[1].save()
    # What is left of two totals that one double cannot tell apart has the same noise.
    large = np.full((1, amounts.shape[1]), 1 << 62)
    left = []
    for more in (0, 1):
        counter = kind(plan, evertally.NoiseKey.insecure_from_seed(3)._without_record())
        counter._run_amounts(large + more, 1 << 20)
        left.append(counter._run_amounts(-large, 1 << 20).values)
    assert (left[1] - left[0]).ravel().tolist() == [1.0] * amounts.shape[1]
    # Another input under the same key is refused, and so is one that differs below a double's reach.
    again = kind(plan, key)
    again._run_amounts(amounts, 1)
    counters[0]._run_amounts(large, 1)
    for changed in (large + 1, large - 1):
        with pytest.raises(evertally.KeyReused):
            again._run_amounts(changed, 1)
    again._run_amounts(large, 1)
    with pytest.raises(evertally.BadParameter, match="rows of"):
        again._run_amounts(np.zeros((1, 3), dtype=np.int64), 1)
    with pytest.raises(evertally.BadParameter, match="int64"):
        again._run_amounts(doubles, 1)
