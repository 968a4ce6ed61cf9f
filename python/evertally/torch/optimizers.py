"""Optimisers that see gradients only through noise.

**Definition.** Let s_t be the sum of the clipped gradients of steps 1 … t plus its noise z_t,
divided by the batch size:

- :class:`DPFTRL`: v_t = β v_{t−1} + s_t and θ_{t+1} = θ_0 − η v_t (Kairouz et al., 2021); with
  ``nesterov``, θ_{t+1} = θ_0 − η (s_t + β v_t).
- :class:`DPSGD`: ``torch.optim.SGD`` on the increments s_t − s_{t−1}, the clipped gradient plus z_t
  − z_{t−1}.
- :class:`CorrelatedNoise`: any ``torch.optim`` optimiser on those increments.

At a constant learning rate the first two are the same iteration. When the rate changes, DP-FTRL
applies the new rate to everything since its origin, and SGD only to later steps.

**Guarantee.** The guarantee of the :class:`~evertally.torch.TrainingPlan`. The true sums are exact
(see :mod:`evertally.torch.clipping`). For DP-FTRL, whose sums run over all steps, this holds as
long as no coordinate exceeds 2²²·C. Noise is added once, and only noisy values are rounded.
``step`` takes a :class:`~evertally.torch.ClippedSum` and never reads ``.grad``, so an unclipped
gradient cannot reach the parameters. A refused step changes nothing.

**Cost.** A few passes over the parameters, in addition to the noise. State: DP-FTRL holds θ_0, a
sum in float64 and, with momentum, v.

**Source.** Kairouz, McMahan, Song, Thakkar, Thakurta, Xu: Practical and Private (Deep) Learning
without Sampling or Shuffling (2021).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

import evertally
from evertally import BadParameter, BadState, Unsupported

from .accounting import TrainingPlan
from .clipping import ClippedSum
from .noise import blocks
from .private import Parameters, PrivateOptimizer


class DPFTRL(PrivateOptimizer):
    """Follow the regularised leader on noisy prefix sums, with momentum.

    >>> from evertally.torch import PerExampleClipper, training_plan
    >>> model = torch.nn.Linear(3, 2)
    >>> training = training_plan(examples=40, batch_size=10, parameters=model, epsilon=2.0, delta=1e-5)
    >>> clipper = PerExampleClipper(model, torch.nn.functional.cross_entropy, max_norm=training.clip)
    >>> optimizer = DPFTRL(model.parameters(), training, lr=0.1, momentum=0.9)
    >>> optimizer.step(clipper(torch.randn(10, 3), torch.randint(2, (10,))))
    >>> optimizer.steps_taken
    1
    """

    def __init__(
        self,
        params: Parameters,
        training: TrainingPlan,
        *,
        lr: float,
        momentum: float = 0.0,
        nesterov: bool = False,
        key: evertally.NoiseKey | None = None,
        replay: bool = False,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "nesterov": nesterov}
        super().__init__(params, defaults, training, key=key, replay=replay)
        for group in self.param_groups:
            _check_rates(group)
        self._origin = torch.cat([parameter.detach().reshape(-1) for parameter in self._parameters])
        self._sum = torch.zeros_like(self._origin, dtype=torch.float64)
        self._velocity: Tensor | None = None

    @torch.no_grad()
    def step(self, clipped: ClippedSum) -> None:  # type: ignore[override]
        """Takes one step with the clipped gradients of one batch."""
        flat, permission = self._admit(clipped)
        for group in self.param_groups:
            _check_rates(group)
        row, noisy = self._noise.row(permission), self._noise.scratch()
        clipped._taken = True
        if self._velocity is None and any(group["momentum"] for group in self.param_groups):
            self._velocity = torch.zeros_like(self._origin)
        offset = 0
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.requires_grad:
                    moved = parameter.reshape(-1)
                    for part in blocks(len(moved)):
                        whole = slice(offset + part.start, offset + part.stop)
                        prefix = self._noise.adder.add(self._sum[whole], flat[whole], out=self._sum[whole])
                        self._noise.adder.add(prefix, row[whole], out=noisy[whole])
                        self._move(moved[part], whole, noisy[whole], group)
                    if not parameter.is_contiguous():
                        parameter.copy_(moved.view_as(parameter))
                    offset += len(moved)

    def _move(self, parameter: Tensor, part: slice, prefix: Tensor, group: dict[str, Any]) -> None:
        """Sets some coordinates of θ_{t+1}."""
        rate, momentum, share = group["lr"], group["momentum"], 1 / self.training.batch_size
        origin = self._origin[part]
        if self._velocity is None:
            torch.add(origin, prefix, alpha=-rate * share, out=parameter)
            return
        velocity = self._velocity[part].mul_(momentum).add_(prefix, alpha=share)
        if group["nesterov"]:
            torch.add(origin, prefix, alpha=-rate * share, out=parameter)
            parameter.add_(velocity, alpha=-rate * momentum)
        else:
            torch.add(origin, velocity, alpha=-rate, out=parameter)

    @torch.no_grad()
    def restart(self) -> None:
        """Makes the present parameters the origin and resets the momentum. A new learning rate then
        applies only to later steps.

        This is post-processing and spends nothing. The noise is not restarted.
        """
        if self.steps_taken:
            # Prefix sums now start here, with the noise z_t - z_r.
            self._sum = -self._noise.latest().to(self._sum.device, torch.float64)
        self._origin = torch.cat([parameter.detach().reshape(-1) for parameter in self._parameters])
        self._velocity = None

    def _private_tensors(self) -> dict[str, Tensor]:
        tensors = {"origin": self._origin.clone(), "sum": self._sum.clone()}
        if self._velocity is not None:
            tensors["velocity"] = self._velocity.clone()
        return tensors

    def _check_private_tensors(self, tensors: dict[str, Tensor]) -> None:
        expected = {"origin": self._origin.dtype, "sum": torch.float64, "velocity": self._origin.dtype}
        if not {"origin", "sum"} <= set(tensors) <= set(expected):
            raise BadState("the checkpoint is of another optimiser")
        for name, tensor in tensors.items():
            if tensor.shape != self._origin.shape or tensor.dtype != expected[name]:
                raise BadState("the checkpoint is of another number of parameters, or of another precision")

    def _take_private_tensors(self, tensors: dict[str, Tensor]) -> None:
        on_device = {
            name: tensor.detach().clone().to(self._origin.device) for name, tensor in tensors.items()
        }
        self._origin, self._sum = on_device["origin"], on_device["sum"]
        self._velocity = on_device.get("velocity")


class CorrelatedNoise(PrivateOptimizer):
    """Any optimiser of ``torch.optim``, on gradients with correlated noise. It sees no other gradients.

    A learning-rate scheduler may take either optimiser: they share parameter groups and state.

    >>> from evertally.torch import PerExampleClipper, training_plan
    >>> model = torch.nn.Linear(3, 2)
    >>> training = training_plan(examples=40, batch_size=10, parameters=model, epsilon=2.0, delta=1e-5)
    >>> optimizer = CorrelatedNoise(torch.optim.Adam(model.parameters(), lr=1e-3), training)
    >>> clipper = PerExampleClipper(model, torch.nn.functional.cross_entropy, max_norm=training.clip)
    >>> optimizer.step(clipper(torch.randn(10, 3), torch.randint(2, (10,))))
    >>> optimizer.spent(delta=1e-5)[0] <= 2.0
    True
    """

    def __init__(
        self,
        optimizer: Optimizer,
        training: TrainingPlan,
        *,
        key: evertally.NoiseKey | None = None,
        replay: bool = False,
    ) -> None:
        if isinstance(optimizer, PrivateOptimizer):
            raise BadParameter("the optimiser adds noise already")
        if isinstance(optimizer, (torch.optim.LBFGS, torch.optim.SparseAdam)):
            raise Unsupported(
                f"{type(optimizer).__name__} needs a closure or sparse gradients, and noisy gradients "
                "are neither"
            )
        super().__init__(optimizer.param_groups, optimizer.defaults, training, key=key, replay=replay)
        self.optimizer = optimizer
        self._share()

    def _share(self) -> None:
        self.param_groups, self.state = self.optimizer.param_groups, self.optimizer.state

    @torch.no_grad()
    def step(self, clipped: ClippedSum) -> None:  # type: ignore[override]
        """Takes one step with the clipped gradients of one batch."""
        flat, permission = self._admit(clipped)
        # A parameter that still has a gradient, for example one frozen after a backward pass, would
        # be moved by it.
        self._drop_gradients()
        noisy = self._noise.noisy(permission, flat, 1 / self.training.batch_size)
        clipped._taken = True
        offset = 0
        for parameter in self._parameters:
            parameter.grad = noisy[offset : offset + parameter.numel()].view_as(parameter)
            offset += parameter.numel()
        try:
            self.optimizer.step()
        finally:
            # The memory belongs to the noise, which will overwrite it.
            self._drop_gradients()

    def _drop_gradients(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def _kind(self) -> str:
        return f"{type(self).__name__}({type(self.optimizer).__name__})"

    def _public_state(self) -> dict[str, Any]:
        return self.optimizer.state_dict()

    def _load_public_state(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)
        self._share()


class DPSGD(CorrelatedNoise):
    """Stochastic gradient descent with correlated noise: ``torch.optim.SGD`` with its momentum and
    weight decay.

    >>> from evertally.torch import training_plan
    >>> model = torch.nn.Linear(3, 2)
    >>> training = training_plan(examples=40, batch_size=10, epochs=5, parameters=model, epsilon=2.0, delta=1e-5)
    >>> optimizer = DPSGD(model.parameters(), training, lr=0.1, momentum=0.9)
    >>> optimizer
    DPSGD(steps 0 of 20, mechanism 'banded-square-root:4', lr 0.1)
    """

    def __init__(
        self,
        params: Parameters,
        training: TrainingPlan,
        *,
        key: evertally.NoiseKey | None = None,
        replay: bool = False,
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        _check_rate(lr)
        try:
            optimizer = torch.optim.SGD(
                params,
                lr=lr,
                momentum=momentum,
                dampening=dampening,
                weight_decay=weight_decay,
                nesterov=nesterov,
            )
        except ValueError as error:
            raise BadParameter(str(error)) from None
        super().__init__(optimizer, training, key=key, replay=replay)


def _check_rates(group: dict[str, Any]) -> None:
    """Refuses rates, set by a scheduler or a caller, that cannot be used."""
    _check_rate(group["lr"])
    if not 0 <= group["momentum"] < 1:
        raise BadParameter(f"momentum must be at least zero and less than one, not {group['momentum']}")
    if group["nesterov"] and not group["momentum"]:
        raise BadParameter("nesterov needs a momentum")


def _check_rate(lr: float) -> None:
    if not 0 <= lr < float("inf"):
        raise BadParameter(f"lr must be zero or more, not {lr}")
