"""Compares `evertally research gamma` with the semidefinite programs as printed in the paper.

Run by `cargo xtask crosscheck sdp` (and by `cargo xtask test`); needs cvxpy, which brings the solver Clarabel.

Primal (the paper's figure of the two programs):   minimise η  subject to
    Σ_{i ≤ n} X[i,i] = η,  X[i,i] ≤ η for i > n,  X ∘ Ĵ = Â,  X ⪰ 0,
with Ĵ the indicator of the off-diagonal blocks and Â = [[0, A], [A*, 0]].

Dual: maximise w*(Â ∘ Ẑ)w over Ẑ = [[0, Z], [Z*, 0]] subject to diag(n·I, I) ⪰ Ẑ, w = (α·1, w₂) > 0, ‖w‖ = 1. Written in W = diag(w) Ẑ diag(w), which
turns the constraint into diag(p·I, q) ⪰ W with p = nα² and q = w₂², p + Σq = 1, it is linear:
maximise ⟨Â, W⟩ over W of the same form and p, q ≥ 0.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import cvxpy as cp
import numpy as np

TOLERANCE = 1e-6


def hat(a):
    n, m = a.shape
    return np.block([[np.zeros((n, n)), a], [a.conj().T, np.zeros((m, m))]])


def solve(problem):
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return problem.value


def hermitian(size, is_complex):
    return cp.Variable((size, size), hermitian=True) if is_complex else cp.Variable((size, size), symmetric=True)


def real(expression):
    # cvxpy cannot take the real part of a real expression.
    return cp.real(expression) if expression.is_complex() else expression


def primal(a):
    n, m = a.shape
    x = hermitian(n + m, np.iscomplexobj(a))
    eta = cp.Variable()
    diagonal = real(cp.diag(x))
    constraints = [
        cp.sum(diagonal[:n]) == eta,
        diagonal[n:] <= eta,
        x[:n, n:] == a,
        x >> 0,
    ]
    return solve(cp.Problem(cp.Minimize(eta), constraints))


def dual(a):
    n, m = a.shape
    w = hermitian(n + m, np.iscomplexobj(a))
    p, q = cp.Variable(nonneg=True), cp.Variable(m, nonneg=True)
    bound = cp.diag(cp.hstack([p * np.ones(n), q]))
    constraints = [w[:n, :n] == 0, w[n:, n:] == 0, bound - w >> 0, p + cp.sum(q) == 1]
    return solve(cp.Problem(cp.Maximize(real(cp.trace(hat(a) @ w))), constraints))


def matrices():
    rng = np.random.default_rng(20231)
    for n in (1, 2, 4, 6):
        yield f"prefix sum {n}", np.tril(np.ones((n, n)))
    yield "identity 4", np.eye(4)
    yield "diagonal", np.diag([1.0, 2.0, 3.0])
    yield "rank one", np.outer([1.0, 2.0, -1.0], [1.0, 0.5])
    for shape in ((3, 3), (5, 2), (2, 5), (4, 6)):
        yield f"real {shape[0]} × {shape[1]}", rng.standard_normal(shape)
        yield f"complex {shape[0]} × {shape[1]}", rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    k = np.arange(3)
    yield "Fourier 3", np.exp(2j * np.pi * np.outer(k, k) / 3)


def ours(program, folder, a):
    path = folder / "matrix.npy"
    np.save(path, a)
    text = subprocess.run([program, "research", "gamma", "--matrix", path, "--json"], check=True, capture_output=True).stdout
    return json.loads(text)


def main():
    program = sys.argv[1]
    failed = passed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, a in matrices():
            certificate = ours(program, pathlib.Path(folder), a)
            least, greatest = primal(a), dual(a)
            slack = TOLERANCE * max(1.0, least)
            agrees = all(
                certificate["lower"] - slack <= value <= certificate["upper"] + slack for value in (least, greatest)
            )
            passed, failed = passed + agrees, failed + (not agrees)
            print(
                f"{'agrees' if agrees else 'DIFFERS'}  {name}: primal {least:.9f}, dual {greatest:.9f}, "
                f"certificate [{certificate['lower']:.9f}, {certificate['upper']:.9f}]"
            )
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
