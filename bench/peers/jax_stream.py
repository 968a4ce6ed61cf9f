"""jax_privacy's streaming matrices: x → C⁻¹x one step at a time, which is the noise of the increments."""

import json
import pathlib
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.matrix_factorization import buffered_toeplitz, streaming_matrix, toeplitz

# Optimising takes longer than running, so its result is kept.
KEPT = pathlib.Path(__file__).parents[2] / "target" / "bench-stream-blt"


def square_root(n: int) -> streaming_matrix.StreamingMatrix:
    """In single precision, which is jax's default."""
    return toeplitz.inverse_as_streaming_matrix(toeplitz.optimal_max_error_strategy_coefs(n))


def blt(n: int, buffers: int, error: str) -> buffered_toeplitz.BufferedToeplitz:
    """The result of its optimiser, in the double precision that it requires.

    The number of buffers is fixed, because the optimiser's own choice at 2^20 and 2^24 has a larger error.
    """
    path = KEPT / f"{n}-{buffers}-{error}.json"
    if not path.exists():
        made = buffered_toeplitz.optimize(n=n, min_buffers=buffers, max_buffers=buffers, error=error)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([made.buf_decay.tolist(), made.output_scale.tolist()]))
    decay, scale = json.loads(path.read_text())
    return buffered_toeplitz.BufferedToeplitz.build(decay, scale)


def blt_error(made: buffered_toeplitz.BufferedToeplitz, n: int) -> float:
    """The mean error factor by the library's own formulas."""
    coefficients = made.inverse().toeplitz_coefs(n)
    error = jnp.mean(toeplitz.per_query_error(noising_coef=coefficients))
    return float(error * buffered_toeplitz.sensitivity_squared(made, n))


def streamed_error(matrix: streaming_matrix.StreamingMatrix, n: int) -> float:
    """The mean error factor of the code, by running it on unit vectors."""
    inverse = np.array(matrix.materialize(n), dtype=float)
    strategy, noise = np.linalg.inv(inverse), np.cumsum(inverse, axis=0)
    return float((noise**2).sum() / n * (strategy**2).sum(axis=0).max())


def runner(matrix: streaming_matrix.StreamingMatrix, dtype: str, chunk: int):
    """Compiled steps of one stream, drawn and scanned a chunk at a time."""

    def steps(key, state):
        drawn = jax.random.normal(key, (chunk,), dtype)
        return jax.lax.scan(lambda state, x: matrix.multiply_next(x, state)[::-1], state, drawn)

    begin = lambda: jax.block_until_ready(jnp.copy(matrix.init_multiply(jnp.zeros((), dtype))))
    key = jax.random.key(time.time_ns())
    steps = jax.jit(steps, donate_argnums=1).lower(key, begin()).compile()

    def run(n: int, patience: float, memory) -> tuple[float, int]:
        """The seconds of as many steps as the time limit allows, and their number."""
        keys = list(jax.random.split(jax.random.key(time.time_ns()), min(max(n // chunk, 1), 1 << 12)))
        memory.start()
        state, done = begin(), 0
        start = time.perf_counter()
        for key in keys:
            state, noise = steps(key, state)
            noise.block_until_ready()
            done += chunk
            if time.perf_counter() - start > patience:
                break
        seconds = time.perf_counter() - start
        memory.end()
        return seconds, done

    return run


def wide_runner(made: buffered_toeplitz.BufferedToeplitz, dtype: str, width: int, steps: int):
    """Compiled steps of many coordinates, including draws. They are scanned, because one call per step takes more than twice as long."""
    matrix = buffered_toeplitz.BufferedToeplitz.build(
        made.buf_decay, made.output_scale, dtype=dtype
    ).inverse_as_streaming_matrix()

    def step(carry, _):
        key, state, _ = carry
        key, own = jax.random.split(key)
        noise, state = matrix.multiply_next(jax.random.normal(own, (width,), dtype), state)
        return (key, state, noise), None

    zeros = jnp.zeros(width, dtype)
    begin = (jax.random.key(time.time_ns()), jnp.copy(matrix.init_multiply(zeros)), zeros)
    steps = jax.jit(lambda carry: jax.lax.scan(step, carry, length=steps)[0]).lower(begin).compile()

    def run(memory) -> float:
        memory.start()
        start = time.perf_counter()
        jax.block_until_ready(steps(begin))
        seconds = time.perf_counter() - start
        memory.end()
        return seconds

    return run


def white_runner(dtype: str, width: int):
    """Independent draws alone."""
    key = jax.random.key(time.time_ns())
    draw = jax.jit(lambda key: jax.random.normal(key, (width,), dtype)).lower(key).compile()

    def run(repeats: int = 16) -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            draw(key).block_until_ready()
        return (time.perf_counter() - start) / repeats

    return run
