"""Times the optimal factorization by its peers on request, for `cargo xtask bench gamma`.

Each line of input is a task, a horizon and the optimal mean error factor. Each line of output is the seconds until
the mean error is within a relative 1e-6 of it. jax_privacy does not prove its distance from the optimum, so it gets
the optimum in order to stop. The fixed point proves its own gap. Compilation is not timed. A run that takes longer
than a minute is stopped, and the answer is the minute.
"""

import sys
import time

import jax
import numpy as np
from jax_privacy.matrix_factorization import dense

jax.config.update("jax_enable_x64", True)

GAP = 1e-6
PATIENCE = 60.0


def fixed_point(n: int, gap: float) -> tuple[float, float]:
    """The published fixed point v ← diag((√v AᵀA √v)^{1/2}); returns proven bounds on the mean error factor."""
    a = np.tril(np.ones((n, n)))
    gram = a.T @ a
    v = np.full(n, 1.0 / n)
    start = time.perf_counter()
    while True:
        root = np.sqrt(v)
        values, vectors = np.linalg.eigh(root[:, None] * gram * root)
        d = (vectors**2) @ np.sqrt(np.maximum(values, 0.0))
        lower, upper = d.sum() / np.sqrt(v.sum()), np.sqrt(d.sum() * (d / v).max())
        if upper / lower - 1 <= gap / 2 or time.perf_counter() - start > PATIENCE:
            return lower**2 / n, upper**2 / n
        v = d


def jax_privacy(n: int, optimum: float) -> float:
    target = optimum * (1 + GAP)
    reached = []

    def is_close_enough(info) -> bool:
        # The strategy has unit columns, so its loss is the mean error factor.
        if float(info.loss) <= target or time.perf_counter() - start > PATIENCE:
            reached.append(time.perf_counter())
        return bool(reached)

    dense.optimize(n, max_optimizer_steps=2, callback=lambda info: False)
    start = time.perf_counter()
    dense.optimize(n, callback=is_close_enough)
    return reached[0] - start if reached else float("inf")


def main() -> None:
    for line in sys.stdin:
        task, n, optimum = line.split()
        n = int(n)
        if task == "jax-privacy":
            seconds = jax_privacy(n, float(optimum))
        elif task == "numpy":
            start = time.perf_counter()
            fixed_point(n, GAP)
            seconds = time.perf_counter() - start
        else:
            raise SystemExit(f"unknown task {task}")
        print(min(seconds, PATIENCE), flush=True)


if __name__ == "__main__":
    main()
