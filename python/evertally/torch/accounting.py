"""The privacy budget of a training run, and how much of it is spent.

**Definition.** A run over N examples in batches of B for E epochs, in one fixed order, has n =
E·⌈N/B⌉ steps. Every example takes part in E of them, exactly b = ⌈N/B⌉ apart, each time with a
gradient of norm at most C. Neighbours differ in one example. In one of the two runs its gradients
are zero (``"add-remove"``) or different (``"replace"``). N, B and E are public.

**Guarantee.** All parameters of all steps together are (ε, δ)-differentially private. The mechanism
adds σΔC·L g to the prefix sums of clipped gradients, where Δ is the sensitivity for this
participation. Gradients depend on parameters, and so on earlier noise. The proof covers this:
Gaussian noise enters only through L Lᵀ, so L may be taken as lower triangular, and then the noise
of a step does not depend on later gradients (Denisov et al., 2022, theorem 2.1). Post-processing of
the noisy sums (learning rates, momentum, Adam, averages, projections) spends nothing.

No amplification by sampling is claimed or needed: the attacker may know the batches.

The cost of a part of the run holds only if its end does not depend on what was released. A run that
stops when its parameters look good enough has spent the whole plan, because only the plan was fixed
in advance.

**Cost.** :meth:`TrainingPlan.spent` factors an n × n matrix once. Beyond 2,048 steps it states the
whole budget instead.

**Source.** Denisov, McMahan, Rush, Smith, Thakurta (2022); Choquette-Choo, McMahan, Rush, Thakurta:
Multi-Epoch Matrix Factorization Mechanisms for Private Machine Learning (2023).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

import evertally
from evertally import BadParameter

from .clipping import _checked_norm

#: Up to this number of steps, the cost of a part of a run is computed from its matrices.
MAX_EXACT_STEPS = 2048


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """All decisions before the first step. Made by :func:`training_plan`."""

    plan: evertally.Plan
    examples: int
    batch_size: int
    epochs: int
    clip: float
    parameters: int

    @property
    def steps_per_epoch(self) -> int:
        """⌈N/B⌉: the last batch of an epoch may be short."""
        return -(-self.examples // self.batch_size)

    @property
    def steps(self) -> int:
        """The number of steps of the whole run."""
        return self.epochs * self.steps_per_epoch

    def spent(self, steps: int, delta: float) -> tuple[float, float]:
        """The (ε, δ) that the first ``steps`` steps spend, rounded up. ε is zero before the first step.

        This is the cost of a run whose end was fixed in advance, independently of what it learned.
        If the end is chosen after seeing parameters, for example by stopping when they are good
        enough, the smaller figure does not hold. The run then costs what the plan costs:
        ``spent(training.steps, delta)``.

        >>> training = training_plan(examples=60, batch_size=20, epochs=4, parameters=5, epsilon=2.0, delta=1e-5)
        >>> training.spent(0, delta=1e-5)
        (0.0, 1e-05)
        >>> third, last = training.spent(3, delta=1e-5)[0], training.spent(12, delta=1e-5)[0]
        >>> 0 < third < round(last, 9) <= 2.0
        True
        """
        if not 0 <= steps <= self.steps:
            raise BadParameter(f"steps must be from 0 to {self.steps}, not {steps}")
        if not 0 < delta < 1:
            raise BadParameter(f"delta must lie between zero and one, not {delta}")
        if steps == 0:
            return 0.0, delta
        whole = self.plan.spend()
        if self.plan.horizon > MAX_EXACT_STEPS:
            return whole.epsilon(delta), delta
        # The factorization's rounding error is far below a relative 1e-6, which is added to the
        # account.
        share = min(1.0, (1 + 1e-6) * self._sensitivities[steps - 1] / self.plan.sensitivity)
        return evertally.Spend(whole.mu_squared * share**2, variation=whole.variation).epsilon(delta), delta

    @functools.cached_property
    def _sensitivities(self) -> npt.NDArray[np.float64]:
        """The sensitivity of the first 1, 2, ... steps to one example of the fixed order."""
        decoder, encoder = self.plan.dense()
        return beginnings(decoder, decoder @ encoder, self.steps_per_epoch)


def beginnings(
    decoder: npt.NDArray[np.float64], workload: npt.NDArray[np.float64], gap: int
) -> npt.NDArray[np.float64]:
    """The sensitivity of the releases up to each step, for one example that takes part every
    ``gap`` steps. ``gap`` divides the number of steps.

    L is replaced by the lower triangular L' with L' L'ᵀ = L Lᵀ. The releases of the first t steps
    then follow from the leading blocks of L' and R' = L'⁻¹A. An example with vectors of norm one at
    steps i, i + gap, … changes them by at most √ΣΣ|⟨R'ⱼ, R'ₖ⟩|, summed over its steps.
    """
    triangle = np.transpose(np.linalg.qr(decoder.T).R)
    encoder = np.linalg.solve(triangle, workload)
    times = len(workload) // gap
    # The inner products of the columns of each example, over the rows so far.
    products = np.zeros((gap, times, times))
    sensitivities = np.zeros(len(workload))
    for step, row in enumerate(encoder):
        taken = step // gap + 1
        entries = row.reshape(times, gap)[:taken].T
        products[:, :taken, :taken] += entries[:, :, None] * entries[:, None, :]
        sensitivities[step] = np.sqrt(np.abs(products[:, :taken, :taken]).sum(axis=(1, 2)).max())
    return sensitivities


def training_plan(
    *,
    examples: int,
    batch_size: int,
    epochs: int = 1,
    parameters: int | torch.nn.Module | Iterable[torch.Tensor],
    clip: float = 1.0,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    sigma: float | None = None,
    mechanism: str | None = None,
    neighbours: Literal["add-remove", "replace"] = "add-remove",
    objective: Literal["mean", "worst"] = "mean",
    stream: str = "",
    memory_limit: int | None = None,
) -> TrainingPlan:
    """Plans a run: its number of steps, how often an example takes part, and how much noise this needs.

    ``parameters`` is a model, its parameters, or the number of trainable parameters. The budget is
    ``epsilon`` with ``delta``, or ``rho``, or ``sigma``, as for :func:`evertally.plan`; it defaults
    to (1, 10⁻⁶). ``mechanism=None`` chooses the most accurate mechanism for this participation
    whose state fits in ``memory_limit`` bytes. Large models may need more than the default limit of
    2 GiB.

    >>> model = torch.nn.Linear(64, 10)
    >>> training = training_plan(examples=1000, batch_size=100, epochs=8, parameters=model, epsilon=4.0, delta=1e-5)
    >>> training.steps, training.steps_per_epoch, training.parameters
    (80, 10, 650)
    """
    for name, value in [("examples", examples), ("batch_size", batch_size), ("epochs", epochs)]:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadParameter(f"{name} must be an integer of at least one, not {value!r}")
    if batch_size > examples:
        raise BadParameter(f"batch_size must be at most the number of examples, {examples}, not {batch_size}")
    dimension = count_trainable(parameters)
    per_epoch = -(-examples // batch_size)
    plan = evertally.plan(
        epochs * per_epoch,
        epsilon,
        delta,
        rho=rho,
        sigma=sigma,
        mechanism=mechanism,
        neighbours=neighbours,
        max_steps=epochs,
        min_gap=per_epoch,
        objective=objective,
        norm=_checked_norm(clip),
        dimension=dimension,
        stream=stream,
        memory_limit=memory_limit,
    )
    return TrainingPlan(plan, examples, batch_size, epochs, float(clip), dimension)


def count_trainable(parameters: int | torch.nn.Module | Iterable[torch.Tensor]) -> int:
    """The number of trainable coordinates."""
    if isinstance(parameters, int):
        count = parameters
    else:
        tensors = parameters.parameters() if isinstance(parameters, torch.nn.Module) else parameters
        count = sum(math.prod(tensor.shape) for tensor in tensors if tensor.requires_grad)
    if count < 1:
        raise BadParameter(f"there must be at least one trainable parameter, not {count}")
    return count
