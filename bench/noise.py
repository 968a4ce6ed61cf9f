"""Times square-root noise by numpy and scipy on request, for `cargo xtask bench noise`.

Each line of input is a task and a length. Each line of output is the seconds it took. The coefficients are computed
before the timing starts. The first request for a length follows an untimed one, so that scipy's plan is cached.
"""

import sys
import time

import numpy as np
from scipy.signal import fftconvolve


def coefficients(n: int) -> np.ndarray:
    """f(0) = 1, f(k) = (1 - 1/(2k)) f(k-1)."""
    k = np.arange(1, n)
    return np.concatenate([[1.0], np.cumprod(1 - 1 / (2 * k))])


def main() -> None:
    generator = np.random.default_rng()
    f = np.empty(0)
    for line in sys.stdin:
        task, n = line.split()[0], int(line.split()[1])
        if task == "noise":
            if len(f) != n:
                f = coefficients(n)
                fftconvolve(generator.standard_normal(n), f)
            start = time.perf_counter()
            z = fftconvolve(generator.standard_normal(n), f)[:n]
            seconds = time.perf_counter() - start
            assert np.isfinite(z).all()
        elif task == "normals":
            start = time.perf_counter()
            generator.standard_normal(n)
            seconds = time.perf_counter() - start
        else:
            raise SystemExit(f"unknown task {task}")
        print(seconds, flush=True)


if __name__ == "__main__":
    main()
