"""The noise of real parameter updates against the dense matrix of the plan.

With no gradients the parameters move by noise alone: θ_t − θ_0 = −(η/B) z_t. Divided by the scale
of the plan and whitened by the Cholesky factor of L Lᵀ, the n × d moves are independent standard
normal numbers if the noise is what the plan says.
"""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from evertally.torch import DPFTRL, DPSGD, ClippedSum, CorrelatedNoise, training_plan  # noqa: E402

EPOCHS, PER_EPOCH, WIDTH = 3, 5, 2000
STEPS = EPOCHS * PER_EPOCH
MECHANISMS = [
    "binary",
    "honaker-streaming",
    "honaker-full",
    "square-root",
    "graded-square-root",
    "blt",
    "banded-square-root",
    "banded-inverse-square-root",
    None,
]

#: Deviations beyond which a normal number has a probability of 2.6e-12. A test looks at 15
#: variances and 105 correlations, and there are 20 of them: all together raise a false alarm in
#: fewer than one of 10⁸ runs (the numbers looked at are nearly normal at this width).
DEVIATIONS = 7.0


def moves(kind, mechanism, dtype):
    """The moves from the origin, one row per step, in units of the noise scale."""
    parameter = torch.nn.Parameter(torch.zeros(WIDTH, dtype=dtype))
    training = training_plan(
        examples=2 * PER_EPOCH, batch_size=2, epochs=EPOCHS, parameters=WIDTH, epsilon=1.0, delta=1e-6, mechanism=mechanism
    )
    optimizer = kind([parameter], training)
    path = []
    for _ in range(STEPS):
        optimizer.step(ClippedSum.declared([parameter], [torch.zeros_like(parameter)], examples=0, max_norm=1.0))
        path.append(parameter.detach().double().numpy().copy())
    return training.plan, np.stack(path) * -training.batch_size / training.plan.noise_scale


def is_white(plan, path):
    """Whether the whitened moves have variance one, and no correlation."""
    decoder, _ = plan.dense()
    white = np.linalg.solve(np.linalg.cholesky(decoder @ decoder.T), path)
    found = white @ white.T / WIDTH
    on_diagonal = (np.diag(found) - 1) / math.sqrt(2 / WIDTH)
    beside = found[np.triu_indices(STEPS, 1)] * math.sqrt(WIDTH)
    return bool(np.abs(on_diagonal).max() < DEVIATIONS and np.abs(beside).max() < DEVIATIONS)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", [DPFTRL, DPSGD])
def test_updates_have_the_covariance_of_the_plan(kind, mechanism):
    plan, path = moves(lambda owners, training: kind(owners, training, lr=1.0), mechanism, torch.float32)
    assert is_white(plan, path)
    # Noise that is 15 % short would have been noticed.
    assert not is_white(plan, 0.85 * path)


def test_so_they_have_in_doubles_and_through_a_wrapped_optimiser():
    make = lambda owners, training: CorrelatedNoise(torch.optim.SGD(owners, lr=1.0), training)  # noqa: E731
    plan, path = moves(make, "blt", torch.float64)
    assert is_white(plan, path)
    assert not is_white(plan, 0.85 * path)


@pytest.mark.parametrize("kind", [DPFTRL, DPSGD])
@pytest.mark.parametrize(
    ("epochs", "clip", "neighbours"), [(1, 1.0, "add-remove"), (3, 2.5, "add-remove"), (3, 1.0, "replace")]
)
def test_independent_noise_has_the_scale_that_is_known_without_a_plan(kind, epochs, clip, neighbours):
    """With ρ = 1/(2σ²) for an example in E steps, each of norm C, or 2C if it is
    replaced, a step has σC√E, and n steps √n times that.
    """
    width, batch_size, rho = 4096, 2, 0.25
    training = training_plan(
        examples=8, batch_size=batch_size, epochs=epochs, parameters=width, rho=rho, clip=clip, neighbours=neighbours,
        mechanism="input-perturbation",
    )
    parameter = torch.nn.Parameter(torch.zeros(width))
    optimizer = kind([parameter], training, lr=1.0)
    for _ in range(training.steps):
        optimizer.step(ClippedSum.declared([parameter], [torch.zeros(width)], examples=0, max_norm=clip))
    shift = 2 * clip if neighbours == "replace" else clip
    due = shift * math.sqrt(epochs / (2 * rho)) * math.sqrt(training.steps) / batch_size
    measured = float(parameter.detach().double().square().mean().sqrt())
    # The share has a standard deviation of 1/√(2d) = 1.1 %: a false alarm has probability 6·10⁻⁸,
    # six times in all.
    is_due = lambda measured: abs(measured / due - 1) <= 0.06  # noqa: E731
    assert is_due(measured)
    assert not is_due(0.85 * measured)


def test_fresh_noise_at_every_step_would_be_noticed():
    """Independent noise of the right size at each step is not the mechanism, and its difference is
    what leaks.
    """
    plan, path = moves(lambda owners, training: DPFTRL(owners, training, lr=1.0), "square-root", torch.float32)
    decoder, _ = plan.dense()
    sizes = np.sqrt((decoder**2).sum(axis=1))
    independent = np.random.default_rng().standard_normal(path.shape) * sizes[:, None]
    assert not is_white(plan, independent)
