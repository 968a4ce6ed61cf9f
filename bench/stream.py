"""Times correlated noise by its peers on request, for `cargo xtask bench stream`.

Each line of input is a task and its arguments. Each line of output is one number. Kernels, compilation and optimisation are not timed.
"""

import sys
import time

import numpy as np

from peers.memory import Memory

# The time limit of one run. If a run did not finish, `steps` returns the number of steps taken.
PATIENCE = 10.0
BLT_BUFFERS = 7
WIDE_HORIZON = 1000
CHECKED = 64


def coefficients(n: int) -> np.ndarray:
    """f(0) = 1, f(k) = (1 - 1/(2k)) f(k-1)."""
    k = np.arange(1, n)
    return np.concatenate([[1.0], np.cumprod(1 - 1 / (2 * k))])


class Peers:
    def __init__(self) -> None:
        self.memory = Memory()
        self.steps = 0
        self.made = {}

    def keep(self, key, make):
        """Objects that are created before the timing starts are created once."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def one(self, name: str, n: int) -> float:
        """The seconds of as many steps of one stream as the time limit allows."""
        self.steps = n
        if name == "scipy":
            return self.scipy(n)
        if name in ("tree", "honaker"):
            return self.tree(name, n)
        seconds, self.steps = self.keep((name, n), lambda: self.jax_run(name, n))(n, PATIENCE, self.memory)
        return seconds

    def scipy(self, n: int) -> float:
        from scipy.signal import fftconvolve

        f = self.keep(n, lambda: coefficients(n))
        generator = np.random.default_rng()
        self.memory.start()
        start = time.perf_counter()
        z = fftconvolve(generator.standard_normal(n), f)[:n]
        seconds = time.perf_counter() - start
        self.memory.end()
        assert np.isfinite(z).all()
        return seconds

    def tree(self, name: str, n: int) -> float:
        from peers import tree

        stream = {"tree": tree.binary, "honaker": tree.honaker}[name](tree.normals())
        self.memory.start()
        self.steps = 0
        start = time.perf_counter()
        while self.steps < n and time.perf_counter() - start < PATIENCE:
            block = min(n - self.steps, 1 << 16)
            for _ in range(block):
                next(stream)
            self.steps += block
        seconds = time.perf_counter() - start
        self.memory.end()
        return seconds

    def jax_run(self, name: str, n: int):
        import jax
        from peers import jax_stream

        if name == "jax-square-root":
            # A step takes O(n), so only a few are scanned at a time.
            return jax_stream.runner(jax_stream.square_root(n), "float32", 16)
        jax.config.update("jax_enable_x64", True)
        matrix = jax_stream.blt(n, BLT_BUFFERS, "max").inverse_as_streaming_matrix()
        return jax_stream.runner(matrix, "float64", n)

    def error(self, n: int, buffers: int, objective: str) -> float:
        """The mean error factor of a buffered Toeplitz matrix, by its library's own formulas."""
        import jax
        from peers import jax_stream

        jax.config.update("jax_enable_x64", True)
        return jax_stream.blt_error(jax_stream.blt(n, buffers, objective), n)

    def check(self, name: str) -> float:
        """The mean error factor of the code, over a few steps, by running it on unit vectors."""
        import jax
        from peers import jax_stream, tree
        from scipy.signal import fftconvolve

        if name == "scipy":
            f = coefficients(CHECKED)
            rows = np.array([fftconvolve(unit, f)[:CHECKED] for unit in np.eye(CHECKED)])
            return float((rows**2).sum() / CHECKED * (f**2).sum())
        if name in ("tree", "honaker"):
            return tree.mean_error({"tree": tree.binary, "honaker": tree.honaker}[name], CHECKED)
        if name == "jax-square-root":
            return jax_stream.streamed_error(jax_stream.square_root(CHECKED), CHECKED)
        jax.config.update("jax_enable_x64", True)
        blt = jax_stream.blt(CHECKED, 3, "max")
        run = jax_stream.streamed_error(blt.inverse_as_streaming_matrix(), CHECKED)
        claimed = jax_stream.blt_error(blt, CHECKED)
        assert abs(run / claimed - 1) < 1e-9, (run, claimed)
        return run

    def wide(self, dtype: str, buffers: int, width: int, steps: int) -> float:
        """The seconds of a buffered Toeplitz matrix for many coordinates, including the draws."""
        import jax
        from peers import jax_stream

        jax.config.update("jax_enable_x64", True)
        make = lambda: jax_stream.wide_runner(jax_stream.blt(WIDE_HORIZON, buffers, "mean"), dtype, width, steps)
        return self.keep((dtype, buffers, width, steps), make)(self.memory)

    def white(self, dtype: str, width: int) -> float:
        import jax
        from peers import jax_stream

        jax.config.update("jax_enable_x64", True)
        return self.keep((dtype, width), lambda: jax_stream.white_runner(dtype, width))()

    def answer(self, words: list[str]) -> float:
        match words:
            case ["one", name, n]:
                return self.one(name, int(n))
            case ["steps"]:
                return self.steps
            case ["peak"]:
                return self.memory.peak
            case ["error", "jax-blt", n]:
                return self.error(int(n), BLT_BUFFERS, "max")
            case ["error", "wide", buffers]:
                return self.error(WIDE_HORIZON, int(buffers), "mean")
            case ["check", name]:
                return self.check(name)
            case ["wide", dtype, buffers, width, steps]:
                return self.wide(dtype, int(buffers), int(width), int(steps))
            case ["white", dtype, width]:
                return self.white(dtype, int(width))
        raise SystemExit(f"unknown task {words}")


def main() -> None:
    peers = Peers()
    for line in sys.stdin:
        print(float(peers.answer(line.split())), flush=True)


if __name__ == "__main__":
    main()
