"""Noise: its distribution, its bits, its states, and what is refused."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import evertally

KEY = evertally.NoiseKey.insecure_from_seed(7)
FLOATS = ["float32", "float64"]


def is_the_noise_of(plan: evertally.Plan, noise: npt.NDArray[Any]) -> bool:
    """Whether independent columns of noise have the covariance that the plan states.

    Once whitened by that covariance they are independent standard normal draws. Their sum of
    squares, and the correlation of every two rows, are then within six standard deviations of what
    is expected but for a chance of 2e-9 each: below 1e-7 for all 29 of them at eight rows.
    """
    decoder, _ = plan.dense()
    covariance = plan.noise_scale**2 * decoder @ decoder.T
    if plan.grid is not None:
        covariance += plan.grid**2 / 12 * np.eye(plan.horizon)
    white = np.linalg.solve(np.linalg.cholesky(covariance), noise.astype(np.float64))
    steps, lanes = white.shape
    spread = (np.sum(white**2) - steps * lanes) / np.sqrt(2 * steps * lanes)
    correlations = (white @ white.T / np.sqrt(lanes))[np.triu_indices(steps, 1)]
    return bool(abs(spread) < 6 and np.max(np.abs(correlations)) < 6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mechanism", ["binary", "square-root", "graded-square-root", "banded-square-root:3", "blt:2"])
def test_noise_has_the_covariance_of_the_plan(mechanism: str, dtype: str) -> None:
    plan = evertally.plan(8, mechanism=mechanism, dimension=4096)
    rows = evertally.NoiseStream(plan, dtype=dtype).rows(8)
    assert is_the_noise_of(plan, rows)
    assert not is_the_noise_of(plan, 0.85 * rows), "noise that is 15 % short must be noticed"
    assert not is_the_noise_of(plan, rows[::-1]), "noise that is correlated otherwise must be noticed"


def test_releases_have_the_covariance_of_the_plan() -> None:
    plan = evertally.plan(8, keys=[f"key {number}" for number in range(4096)])
    values = evertally.KeyedCounter(plan).run(np.zeros((8, 4096))).values
    assert plan.arithmetic == "exact" and is_the_noise_of(plan, values)
    assert not is_the_noise_of(plan, 0.85 * values)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mechanism", ["graded-square-root", "binary", "normalized-square-root"])
def test_every_way_there_is_the_same_noise(mechanism: str, dtype: str) -> None:
    plan = evertally.plan(20, mechanism=mechanism, dimension=5)
    whole = evertally.NoiseStream(plan, KEY, dtype).rows(20)
    assert whole.dtype == dtype and whole.shape == (20, 5)
    stream = evertally.NoiseStream(plan, KEY, dtype=np.dtype(dtype))
    for step in range(20):
        state = stream.save()
        resumed = evertally.NoiseStream.resume(plan, KEY, state, dtype)
        assert resumed.steps_taken == step
        assert np.array_equal(resumed.rows(20 - step), whole[step:])
        sought = evertally.NoiseStream(plan, KEY, dtype)
        sought.seek(step)
        assert np.array_equal(sought.next(), whole[step])
        assert np.array_equal(stream.next(), whole[step])
    with pytest.raises(evertally.HorizonSpent):
        stream.next()
    assert stream.steps_taken == 20


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mechanism", ["graded-square-root", "binary", "normalized-square-root"])
def test_slices_are_columns_of_the_whole(mechanism: str, dtype: str) -> None:
    plan = evertally.plan(20, mechanism=mechanism, dimension=7)
    whole = evertally.NoiseStream(plan, KEY, dtype).rows(20)
    for first, last in ((0, 1), (3, 4), (2, 6), (0, 7)):
        slice = evertally.NoiseStream(plan, KEY, dtype, coordinates=(first, last))
        assert slice.dimension == last - first
        assert np.array_equal(slice.rows(11), whole[:11, first:last])
        again = evertally.NoiseStream.resume(plan, KEY, slice.save(), dtype, coordinates=(first, last))
        assert again.dimension == last - first
        for stream in (slice, again):
            assert np.array_equal(stream.next(), whole[11, first:last]) and np.array_equal(stream.rows(8), whole[12:, first:last])


def test_slices_that_cannot_be_are_refused() -> None:
    plan = evertally.plan(20, dimension=7)
    bad: list[Any] = [(0, 0), (7, 7), (5, 4), (6, 8), (-1, 2), (0.0, 1.0), 3, (1, 2, 3), "ab"]
    for coordinates in bad:
        with pytest.raises(evertally.BadParameter, match="coordinates"):
            evertally.NoiseStream(plan, KEY, coordinates=coordinates)
        with pytest.raises(evertally.BadParameter, match="coordinates"):
            evertally.NoiseStream.resume(plan, KEY, b"", coordinates=coordinates)
    for other in (evertally.plan(20), evertally.plan(20, keys=["a", "b"])):
        with pytest.raises(evertally.BadParameter, match="vectors"):
            evertally.NoiseStream(other, KEY, coordinates=(0, 1))
    state = evertally.NoiseStream(plan, KEY, coordinates=(2, 4)).save()
    with pytest.raises(evertally.BadState):
        evertally.NoiseStream.resume(plan, KEY, state, coordinates=(3, 5))
    with pytest.raises(evertally.BadState):
        evertally.NoiseStream.resume(plan, KEY, state)


def test_keys_streams_and_precisions_have_noise_of_their_own() -> None:
    plan = evertally.plan(4, dimension=3)
    rows = [
        evertally.NoiseStream(plan, KEY).rows(4),
        evertally.NoiseStream(plan, evertally.NoiseKey.insecure_from_seed(8)).rows(4),
        evertally.NoiseStream(plan).rows(4),
        evertally.NoiseStream(plan).rows(4),
        evertally.NoiseStream(evertally.plan(4, dimension=3, stream="b"), KEY).rows(4),
        evertally.NoiseStream(plan, KEY, "float32").rows(4),
    ]
    for i, one in enumerate(rows):
        assert all(np.min(np.abs(one - other)) > 0 for other in rows[:i])


def test_the_shorthand_is_a_plan() -> None:
    noise = evertally.NoiseStream(3, KEY, horizon=10, epsilon=2.0, norm=0.5)
    plan = evertally.plan(10, 2.0, dimension=3, norm=0.5)
    assert noise.plan == plan and np.array_equal(noise.rows(10), evertally.NoiseStream(plan, KEY).rows(10))
    assert evertally.NoiseStream(2, horizon=None, sigma=1.0).plan.is_unbounded
    with pytest.raises(TypeError, match="horizon"):
        evertally.NoiseStream(3)
    with pytest.raises(TypeError, match="dimension"):
        evertally.NoiseStream(plan, horizon=10)
    with pytest.raises(TypeError, match="twice"):
        evertally.NoiseStream(3, horizon=10, dimension=3)
    with pytest.raises(TypeError, match="unexpected"):
        evertally.NoiseStream(3, horizon=10, colour="red")  # type: ignore[call-arg]
    with pytest.raises(evertally.BadParameter, match="plan"):
        evertally.NoiseStream("3", horizon=10)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", FLOATS)
def test_arrays_are_written_in_place(dtype: str) -> None:
    plan = evertally.plan(20, dimension=3)
    expected = evertally.NoiseStream(plan, KEY, dtype).rows(20)
    noise = evertally.NoiseStream(plan, KEY, dtype)
    memory = bytearray(3 * np.dtype(dtype).itemsize)
    out = np.frombuffer(memoryview(memory), dtype=dtype)
    assert noise.next(out=out) is out
    assert np.array_equal(np.frombuffer(memory, dtype=dtype), expected[0])
    table = np.zeros((4, 3), dtype=dtype)
    noise.fill(table[1:3])
    assert np.array_equal(table[1:3], expected[1:3]) and not table[[0, 3]].any()
    noise.fill(np.zeros((0, 3), dtype=dtype))
    single = evertally.NoiseStream(1, KEY, dtype, horizon=5)
    flat = np.zeros(5, dtype=dtype)
    single.fill(flat)
    single.seek(0)
    assert np.array_equal(single.rows(5)[:, 0], flat)


# Arrays into which a row of three float32 numbers cannot be written, each for a different reason.
UNFIT: dict[str, Any] = {
    "of doubles": np.zeros(3),
    "of integers": np.zeros(3, dtype=np.int32),
    "too short": np.zeros(2, dtype=np.float32),
    "too long": np.zeros(4, dtype=np.float32),
    "with gaps": np.zeros(6, dtype=np.float32)[::2],
    "read-only": np.frombuffer(bytes(12), dtype=np.float32),
    "of swapped bytes": np.zeros(3, dtype=">f4"),
    "not aligned": np.frombuffer(bytearray(13), dtype=np.uint8)[1:].view(np.float32),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_arrays_that_do_not_fit_are_refused_and_take_no_step(kind: str) -> None:
    noise = evertally.NoiseStream(3, KEY, "float32", horizon=10)
    with pytest.raises(evertally.BadParameter, match="out"):
        noise.next(out=UNFIT[kind])
    with pytest.raises(evertally.BadParameter, match="out"):
        noise.fill(UNFIT[kind][None])
    assert noise.steps_taken == 0


@pytest.mark.parametrize("out", [[0.0, 0.0, 0.0], "abc", None, np.float32(0), np.zeros((1, 3, 1), dtype=np.float32)])
def test_what_is_no_array_of_rows_is_refused(out: Any) -> None:
    noise = evertally.NoiseStream(3, KEY, "float32", horizon=10)
    with pytest.raises(evertally.BadParameter, match="out"):
        noise.fill(out)
    with pytest.raises(evertally.BadParameter, match="out"):
        noise.next(out=np.zeros((1, 3), dtype=np.float32))
    with pytest.raises(evertally.BadParameter, match="out"):
        noise.fill(np.asfortranarray(np.zeros((2, 3), dtype=np.float32)))
    assert noise.steps_taken == 0


def test_rows_beyond_the_horizon_are_refused_and_take_no_step() -> None:
    noise = evertally.NoiseStream(3, KEY, horizon=10)
    for refused in (lambda: noise.rows(11), lambda: noise.fill(np.zeros((11, 3))), lambda: noise.seek(11), lambda: noise.rows(2**60)):
        with pytest.raises(evertally.HorizonSpent):
            refused()
    assert noise.steps_taken == 0
    for dtype in ("float16", "int64", "nonsense", 7):
        with pytest.raises(evertally.BadParameter, match="dtype"):
            evertally.NoiseStream(3, dtype=dtype, horizon=10)  # type: ignore[arg-type]
    with pytest.raises(evertally.BadParameter):
        evertally.NoiseStream(evertally.plan(5, open_keys=True))


def test_states_that_do_not_belong_are_refused() -> None:
    plan = evertally.plan(20, dimension=3)
    noise = evertally.NoiseStream(plan, KEY)
    noise.next()
    state = noise.save()
    other = evertally.NoiseKey.insecure_from_seed(8)
    for refused in (
        lambda: evertally.NoiseStream.resume(evertally.plan(21, dimension=3), KEY, state),
        lambda: evertally.NoiseStream.resume(plan, other, state),
        lambda: evertally.NoiseStream.resume(plan, KEY, state, "float32"),
        lambda: evertally.NoiseStream.resume(plan, KEY, state[:-1]),
        lambda: evertally.NoiseStream.resume(plan, KEY, b""),
        lambda: evertally.NoiseStream.resume(plan, KEY, bytes([state[0] ^ 1]) + state[1:]),
        lambda: evertally.NoiseStream.resume(plan, KEY, state[:-1] + bytes([state[-1] ^ 1])),
        lambda: evertally.Counter.resume(evertally.plan(20), KEY, state),
    ):
        with pytest.raises(evertally.BadState):
            refused()


def test_threads_take_turns_and_no_step_twice() -> None:
    plan = evertally.plan(400, dimension=8)
    expected = evertally.NoiseStream(plan, KEY).rows(400)
    shared = evertally.NoiseStream(plan, KEY)
    taken: list[list[npt.NDArray[Any]]] = [[] for _ in range(4)]

    def take(rows: list[npt.NDArray[Any]]) -> None:
        for _ in range(100):
            rows.append(shared.next())

    threads = [threading.Thread(target=take, args=(rows,)) for rows in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.steps_taken == 400
    assert {row.tobytes() for rows in taken for row in rows} == {row.tobytes() for row in expected}


def test_the_interpreter_is_free_while_noise_is_made() -> None:
    """With switches forbidden, another thread runs during the call only if the call itself lets it."""
    noise = evertally.NoiseStream(1 << 18, horizon=64)
    out = np.zeros((32, 1 << 18))
    started, done = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        noise.fill(out)
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e3)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        was_free = not done.is_set()
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert was_free


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_does_not_use_the_noise_again() -> None:
    script = """
import os, evertally
noise, counter = evertally.NoiseStream(2, horizon=9), evertally.Counter(evertally.plan(9))
child = os.fork()
if child == 0:
    refused = 0
    for step in (noise.next, noise.save, lambda: counter.step(1.0)):
        try:
            step()
        except evertally.BadState:
            refused += 1
    os._exit(refused)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
noise.next(); counter.step(1.0)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)


@pytest.mark.skipif("EVERTALLY_BINARY" not in os.environ, reason="EVERTALLY_BINARY does not name the command line program")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mechanism", ["graded-square-root", "square-root", "binary", "blt:3"])
def test_the_command_line_makes_the_same_bits(mechanism: str, dtype: str, tmp_path: Path) -> None:
    KEY.to_file(tmp_path / "noise.key")
    command = [os.environ["EVERTALLY_BINARY"], "research", "noise", "--horizon", "50", "--dim", "6", "--epsilon", "2", "--delta", "1e-6"]
    command += ["--norm", "0.5", "--mechanism", mechanism, "--dtype", dtype.replace("float", "f")]
    command += ["--noise-key", str(tmp_path / "noise.key"), "--output", str(tmp_path / "noise.npy")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    noise = evertally.NoiseStream(6, KEY, dtype, horizon=50, epsilon=2.0, delta=1e-6, norm=0.5, mechanism=mechanism)
    assert np.array_equal(np.load(tmp_path / "noise.npy"), noise.rows(50))
