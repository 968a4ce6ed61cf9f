"""Times OpenDP's discrete Gaussian noise on request, for `cargo xtask bench exact`.

Each line of input is `draws`, a scale and a number of draws. Each line of output is the seconds they took,
as noise added to that many zeros in one call.
"""

import sys
import time

import opendp.prelude as dp

dp.enable_features("contrib")


def draws(scale: int, count: int) -> float:
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    add_noise = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=float(scale))
    zeros = [0] * count
    start = time.perf_counter()
    noise = add_noise(zeros)
    seconds = time.perf_counter() - start
    # Check that the noise has the requested scale and is not rounded to a coarser grid.
    spread = (sum(value * value for value in noise) / count) ** 0.5 / scale
    assert 0.8 < spread < 1.2, spread
    assert any(value % 2 for value in noise)
    return seconds


def main() -> None:
    for line in sys.stdin:
        task, scale, count = line.split()
        if task != "draws":
            raise SystemExit(f"unknown task {task}")
        print(draws(int(scale), int(count)), flush=True)


if __name__ == "__main__":
    main()
