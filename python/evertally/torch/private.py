"""The base of all private optimisers: permission to step, the account, and checkpoints.

**Definition.** A private optimiser owns a :class:`~evertally.torch.TrainingPlan`, a key, and the
noise derived from both.

**Guarantee.** One step of the plan serves one sum of clipped gradients. ``state_dict`` holds only
tensors and plain values, so ``torch.load(weights_only=True)`` reads it, and ``load_state_dict``
resumes from it bit for bit in a new process. A checkpoint is refused, and nothing changes, if it
was truncated or altered, if it belongs to another plan, optimiser or precision, or if it lies
before steps that this process has released.

A checkpoint is as secret as the data: it holds the key and, for DP-FTRL, the true sum of gradients.
The parameters may be published; the checkpoint may not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

import torch
from torch import Tensor
from torch.optim import Optimizer

import evertally
from evertally import BadParameter, BadState, Unsupported

from .accounting import TrainingPlan
from .clipping import ClippedSum, common_kind, identities
from .noise import NoiseRows
from .state import FORMAT, open_checkpoint, seal, to_bytes, to_tensor

#: The parameters of an optimiser: tensors, or groups with options of their own.
Parameters: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]]


class PrivateOptimizer(Optimizer):
    """The base class of the optimisers of this package."""

    _is_sealed = False

    def __init__(
        self,
        params: Parameters,
        defaults: dict[str, Any],
        training: TrainingPlan,
        *,
        key: evertally.NoiseKey | None,
        replay: bool,
    ) -> None:
        super().__init__(params, defaults)
        self.training = training
        self._parameters = self._trainable()
        dtype, device = common_kind(self._parameters)
        dimension = sum(parameter.numel() for parameter in self._parameters)
        if dimension != training.parameters:
            raise BadParameter(
                f"the plan is for {training.parameters} trainable parameters, and there are {dimension}"
            )
        self._has_own_key = key is not None
        fresh = key if key is not None else evertally.NoiseKey.generate()
        self._noise = NoiseRows(training.plan, fresh, dimension, dtype, device, replay=replay)
        self._is_sealed = True

    @property
    def steps_taken(self) -> int:
        """The number of steps released."""
        return self._noise.steps_taken

    def spent(self, delta: float) -> tuple[float, float]:
        """The (ε, δ) that the steps taken so far have spent, rounded up.

        This is the cost of a run whose end was fixed in advance, independently of what it learned.
        If you stop because of the parameters that you saw, for example when they are good enough,
        state the cost of the whole plan instead: ``training.spent(training.steps, delta)``.
        """
        return self.training.spent(self.steps_taken, delta)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refused after construction: the plan is for a fixed number of parameters."""
        if self._is_sealed:
            raise Unsupported("a private optimiser takes no further parameters: its plan is for those it has")
        super().add_param_group(param_group)

    def _trainable(self) -> tuple[Tensor, ...]:
        return tuple(
            parameter
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.requires_grad
        )

    def _admit(self, clipped: ClippedSum) -> tuple[Tensor, bytes]:
        """The gradients in the order of the noise, and the permission to use them. An error changes
        nothing.
        """
        if not isinstance(clipped, ClippedSum):
            raise BadParameter(
                f"step takes the ClippedSum that a PerExampleClipper returns, not {type(clipped).__name__}; "
                "gradients in .grad are not clipped, and are not used"
            )
        if clipped._taken:
            raise BadParameter("a sum of gradients serves one step, and this one has served")
        if identities(self._trainable()) != identities(self._parameters):
            raise BadParameter(
                "the trainable parameters of the optimiser are no longer those that it was made for"
            )
        if clipped.max_norm > self.training.clip:
            raise BadParameter(
                f"gradients were clipped at {clipped.max_norm}, and the plan is for "
                f"{self.training.clip} at most"
            )
        if clipped.examples > self.training.batch_size:
            raise BadParameter(
                f"the sum is of {clipped.examples} examples, and the plan is for "
                f"{self.training.batch_size} per batch at most"
            )
        flat = self._in_own_order(clipped)
        return flat, self._noise.admit(flat)

    def _in_own_order(self, clipped: ClippedSum) -> Tensor:
        mine, theirs = identities(self._parameters), identities(clipped.parameters)
        if mine == theirs:
            return clipped._flat
        if sorted(mine) != sorted(theirs):
            raise BadParameter("the gradients are of other parameters than the optimiser's")
        pieces = dict(zip(theirs, clipped.tensors(), strict=True))
        return torch.cat([pieces[name].reshape(-1) for name in mine])

    def state_dict(self) -> dict[str, Any]:
        """Everything that another process needs to resume. As secret as the data."""
        state = dict(self._public_state())
        private: dict[str, Any] = {
            "format": FORMAT,
            "optimizer": self._kind(),
            "training": self._sizes(),
            "fingerprint": to_tensor(bytes(self.training.plan.fingerprint)),
            "steps": self.steps_taken,
            "key": to_tensor(self._noise.key.to_bytes()),
            "noise": to_tensor(self._noise.stream.save()),
            "latest": self._noise.latest(),
            "tensors": self._private_tensors(),
        }
        state["private"] = private
        private["seal"] = seal(state)
        return state

    def load_state_dict(self, state_dict: dict[str, Any], *, replay: bool = False) -> None:
        """Resumes from a saved state. With ``replay``, the state may lie before released steps;
        these steps must then give the same releases again.
        """
        private = open_checkpoint(state_dict)
        if private.get("optimizer") != self._kind():
            raise BadState(f"the checkpoint is of {private.get('optimizer')}, not of {self._kind()}")
        is_same_plan = to_bytes(private, "fingerprint") == bytes(self.training.plan.fingerprint)
        if not is_same_plan or private.get("training") != self._sizes():
            raise BadState("the checkpoint belongs to another plan")
        key = evertally.NoiseKey.from_bytes(to_bytes(private, "key"))
        is_mine = bytes(key.tag) == bytes(self._noise.key.tag)
        if not is_mine and (self._has_own_key or self.steps_taken):
            raise BadState(
                "the checkpoint belongs to another key; load it into an optimiser that has taken no step"
            )
        tensors, latest = private.get("tensors"), private.get("latest")
        if not isinstance(tensors, dict) or not isinstance(latest, Tensor):
            raise BadState("the checkpoint has no tensors")
        self._check_private_tensors(tensors)
        present = self._noise
        noise = NoiseRows(
            self.training.plan,
            key,
            self.training.parameters,
            present.dtype,
            present.device,
            state=to_bytes(private, "noise"),
            latest=latest,
            replay=replay,
        )
        if noise.steps_taken != private.get("steps"):
            raise BadState("the checkpoint does not agree with its own noise")
        public = {name: value for name, value in state_dict.items() if name != "private"}
        try:
            self._load_public_state(public)
        except (ValueError, KeyError, TypeError) as error:
            raise BadState(f"the checkpoint does not fit the optimiser: {error}") from None
        self._noise = noise
        self._has_own_key = True
        self._take_private_tensors(tensors)

    def _kind(self) -> str:
        """The kind of optimiser that a checkpoint must match."""
        return type(self).__name__

    def _sizes(self) -> dict[str, int]:
        """The sizes that decide which examples a step sees. Other sizes can have the same plan, but
        their remaining steps would see other examples.
        """
        return {
            "examples": self.training.examples,
            "batch_size": self.training.batch_size,
            "epochs": self.training.epochs,
        }

    def _public_state(self) -> dict[str, Any]:
        return super().state_dict()

    def _load_public_state(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)

    def _private_tensors(self) -> dict[str, Tensor]:
        """The tensors that the optimiser keeps and torch does not know."""
        return {}

    def _check_private_tensors(self, tensors: dict[str, Tensor]) -> None:
        if tensors:
            raise BadState("the checkpoint is of another optimiser")

    def _take_private_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Takes tensors that were checked."""

    def __getstate__(self) -> NoReturn:
        """Refused: a copy would use the same noise for other gradients."""
        raise TypeError(f"{type(self).__name__} is neither copied nor pickled; save its state_dict()")

    def __repr__(self) -> str:
        rates = ", ".join(str(group["lr"]) for group in self.param_groups)
        return (
            f"{type(self).__name__}(steps {self.steps_taken} of {self.training.steps}, "
            f"mechanism {self.training.plan.mechanism!r}, lr {rates})"
        )
