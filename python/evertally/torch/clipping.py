"""Sums of clipped per-example gradients.

**Definition.** Σᵢ gᵢ · min(1, C / ‖gᵢ‖) over the examples of a batch, where gᵢ is the gradient of
one example's loss over all trainable parameters. With ``per_parameter=True`` each of the m
parameters is clipped separately, at C / √m.

**Guarantee.** One example moves the sum by at most C, in the arithmetic that runs and not only in
real numbers:

- Norms and products are computed in float64. There the squares of float32 numbers are exact and
  cannot overflow, and the relative error of a sum of d squares is at most d·2⁻⁵³. A gradient is
  left unchanged only if its norm plus this error is at most C. Otherwise it is scaled by a factor
  that is smaller than C / ‖g‖ by this error and by all roundings.
- A factor that is subnormal in float64 is taken as zero: such a gradient contributes nothing.
- Products are rounded towards zero to integer multiples of a power of two between C·2⁻³¹ and
  C·2⁻³⁰, and then added up. Such sums are exact for up to 2²² examples per step, so the
  contribution of an example does not depend on the other examples, their order or the chunks.
- A model whose gradients depend on earlier calls is refused if the check of
  :mod:`evertally.torch.hidden_state` finds it.

**Cost.** One forward and one backward pass per example, by ``torch.func``, vectorised over a chunk.
Memory for the gradients of one chunk, for one float64 per parameter, and for eight megabytes of
float64 or one gradient, whichever is larger.

**Source.** Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang: Deep Learning with Differential
Privacy (2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from evertally import BadParameter, Unsupported

from .batch import Batch, Inputs
from .hidden_state import refuse_hidden_state

#: Sums of up to this number of examples are exact; see the guarantee above.
MAX_EXAMPLES = 1 << 22
_GRID_BITS = 30
#: The number of coordinates that are clipped at a time.
_BLOCK = 1 << 20
_MIN_NORM, _MAX_NORM = 2.0**-64, 2.0**64


class ClippedSum:
    """A sum of clipped gradients, for one step of one optimiser.

    Made by :class:`PerExampleClipper` or :meth:`declared`. It is as secret as the data; its
    ``repr`` shows no data.
    """

    def __init__(
        self, parameters: tuple[Tensor, ...], flat: Tensor, *, examples: int, max_norm: float
    ) -> None:
        self.parameters = parameters
        self.examples = examples
        self.max_norm = max_norm
        self._flat = flat
        self._taken = False

    @classmethod
    def declared(
        cls, parameters: Iterable[Tensor], gradients: Iterable[Tensor], *, examples: int, max_norm: float
    ) -> ClippedSum:
        """A sum from elsewhere. The caller declares that one example moves it by at most ``max_norm``.

        Use this if you clip by other means, for example from the ``grad_sample`` of another
        library. The declaration cannot be checked.

        >>> layer = torch.nn.Linear(2, 1)
        >>> zeros = [torch.zeros_like(parameter) for parameter in layer.parameters()]
        >>> ClippedSum.declared(layer.parameters(), zeros, examples=0, max_norm=1.0)
        ClippedSum(of 0 examples, 3 parameters, each of norm 1.0 at most)
        """
        owners, tensors = tuple(parameters), tuple(gradients)
        _, device = common_kind(owners)
        if [tensor.shape for tensor in owners] != [tensor.shape for tensor in tensors]:
            raise BadParameter("gradients must be tensors of the shapes of the parameters, one for each")
        if examples < 0:
            raise BadParameter(f"examples must be zero or more, not {examples}")
        for number, tensor in enumerate(tensors):
            if not tensor.is_floating_point() or tensor.device != device:
                raise BadParameter(
                    f"gradient {number} must be of real numbers, on the device of the parameters, {device}"
                )
            if not bool(torch.isfinite(tensor).all()):
                raise BadParameter(f"gradient {number} is not finite")
        flat = (
            tensors[0].reshape(-1)
            if len(tensors) == 1
            else torch.cat([tensor.reshape(-1) for tensor in tensors])
        )
        return cls(owners, flat.detach(), examples=examples, max_norm=_checked_norm(max_norm))

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self._flat.numel()

    def tensors(self) -> list[Tensor]:
        """The sum in the shapes of the parameters. Not private: noise has not been added."""
        pieces = torch.split(self._flat, [parameter.numel() for parameter in self.parameters])
        return [piece.view(parameter.shape) for piece, parameter in zip(pieces, self.parameters, strict=True)]

    def __iadd__(self, other: ClippedSum) -> ClippedSum:
        """Adds the sum over other examples of the same step, for a batch that does not fit in memory."""
        if identities(self.parameters) != identities(other.parameters):
            raise BadParameter("only sums over the same parameters can be added")
        if self._taken or other._taken:
            raise BadParameter("a sum of gradients serves one step, and this one has served")
        if other is self:
            raise BadParameter("a sum cannot be added to itself: every example would count twice")
        _check_examples(self.examples + other.examples)
        self._flat = self._flat + other._flat
        self.examples += other.examples
        self.max_norm = max(self.max_norm, other.max_norm)
        other._taken = True
        return self

    def __getstate__(self) -> NoReturn:
        """Refused: a copy would serve a second step."""
        raise TypeError(
            "a ClippedSum is neither copied nor pickled: it is as secret as the data, and serves one step"
        )

    def __repr__(self) -> str:
        sizes = f"of {self.examples} examples, {self.dimension} parameters"
        return f"ClippedSum({sizes}, each of norm {self.max_norm!r} at most)"


class PerExampleClipper:
    """Computes the gradient of every example of a batch, clips each gradient, and adds them up.

    ``loss_fn(prediction, target)`` gets one example at a time, as a batch of one, and returns one
    number. Any reduction works, except with class weights: a mean over one example cancels its
    weight, so use ``reduction="sum"``. Parameters with ``requires_grad=False`` are left out. Layers
    that mix examples are refused. This includes batch normalisation, unless it is in evaluation
    mode, where its running statistics are constants that must be public. Buffers that a forward
    pass writes to are refused too.

    A model or loss that keeps state between calls in any other way, such as an attribute with the
    previous batch, is refused at the first call, before anything is returned. ``check_with=(inputs,
    targets)``, a few random examples of the right shapes, does this check in the constructor. The
    check finds state that matters within about twenty calls, but not state that first matters
    later; see :mod:`evertally.torch.hidden_state`. Hooks run during the check too.

    >>> model = torch.nn.Linear(3, 2)
    >>> clipper = PerExampleClipper(model, torch.nn.functional.cross_entropy, max_norm=1.0, chunk_size=4)
    >>> clipper(torch.randn(10, 3), torch.randint(2, (10,)))
    ClippedSum(of 10 examples, 8 parameters, each of norm 1.0 at most)
    """

    def __init__(
        self,
        model: nn.Module,
        loss_fn: Callable[[Any, Any], Tensor],
        max_norm: float,
        chunk_size: int | None = None,
        *,
        per_parameter: bool = False,
        check_with: tuple[Inputs, Any] | None = None,
    ) -> None:
        self.max_norm = _checked_norm(max_norm)
        if chunk_size is not None and chunk_size < 1:
            raise BadParameter(f"chunk_size must be at least one, not {chunk_size}")
        _refuse_mixing_layers(model)
        trainable = {name: tensor for name, tensor in model.named_parameters() if tensor.requires_grad}
        _, self.device = common_kind(trainable.values())
        self.model = model
        self.loss_fn = loss_fn
        self.chunk_size = chunk_size
        self.per_parameter = per_parameter
        self._trainable = trainable
        self._parts, dimension = [], 0
        for name, tensor in trainable.items():
            self._parts.append((name, slice(dimension, dimension + tensor.numel())))
            dimension += tensor.numel()
        if not dimension:
            raise BadParameter("there is no trainable parameter")
        # This memory is reused: allocating it in every step would take longer than clipping.
        self._doubles = torch.empty(
            max(1, _BLOCK // dimension), dimension, dtype=torch.float64, device=self.device
        )
        self._dimension = dimension
        # The modes in which the model was found to keep no state. Losses are kept alive, because
        # modes identify them by their id.
        self._checked: dict[tuple[object, ...], object] = {}
        if check_with is not None:
            made_up = Batch.of(*check_with)
            if not made_up.examples():
                raise BadParameter("check_with must have at least one example")
            self._check_once(made_up)

    def __call__(self, inputs: Inputs, targets: Any) -> ClippedSum:
        """The sum over one batch, which may be empty. A gradient that is not finite is an error;
        nothing changes then.
        """
        trainable = {name: tensor for name, tensor in self.model.named_parameters() if tensor.requires_grad}
        if {name: id(tensor) for name, tensor in trainable.items()} != {
            name: id(tensor) for name, tensor in self._trainable.items()
        }:
            raise BadParameter(
                "the trainable parameters of the model are no longer those that the clipper was made for"
            )
        # Checked again, because ``model.train()`` may have changed the mode of a layer.
        _refuse_mixing_layers(self.model)
        if common_kind(trainable.values())[1] != self.device:
            raise BadParameter("the model has moved to another device since the clipper was made")
        batch = Batch.of(inputs, targets)
        examples = batch.examples()
        _check_examples(examples)
        if examples:
            self._check_once(batch)
        return ClippedSum(
            tuple(trainable.values()), self._sum(batch), examples=examples, max_norm=self.max_norm
        )

    def __getstate__(self) -> NoReturn:
        """Refused: its memory holds the latest gradients."""
        raise TypeError(
            "a PerExampleClipper is neither copied nor pickled: it holds gradients, which are as "
            "secret as the data"
        )

    def _check_once(self, batch: Batch) -> None:
        """Refuses a model whose calls depend on earlier calls. Checked once for each mode."""
        if (mode := self._mode()) in self._checked:
            return
        modules = dict(self.model.named_modules())
        if isinstance(self.loss_fn, nn.Module):
            modules |= {
                f"loss_fn.{name}".rstrip("."): module for name, module in self.loss_fn.named_modules()
            }
        refuse_hidden_state(
            self._sum,
            batch,
            most=self.chunk_size or batch.examples(),
            modules=modules,
            device=self.device,
            max_norm=self.max_norm,
        )
        self._checked[mode] = self.loss_fn

    def _mode(self) -> tuple[object, ...]:
        """What may affect hidden state: the loss, and which layers are in training mode."""
        return id(self.loss_fn), *(module.training for module in self.model.modules())

    def _sum(self, batch: Batch) -> Tensor:
        """The sum over one batch, a chunk at a time."""
        flat = torch.zeros(self._dimension, dtype=torch.float64, device=self.device)
        examples = batch.examples()
        chunk = examples if self.chunk_size is None else self.chunk_size
        for start in range(0, examples, max(chunk, 1)):
            length = min(chunk, examples - start)

            def part(tensor: Tensor, start: int = start, length: int = length) -> Tensor:
                return tensor.narrow(0, start, length)

            gradients = self._gradients(batch.map(part))
            if any(len(gradient) != length for gradient in gradients.values()):
                raise Unsupported(
                    "the model keeps state between calls: there are other gradients than those of the "
                    "examples"
                )
            self._add_clipped(flat, gradients)
        return flat

    def _gradients(self, batch: Batch) -> dict[str, Tensor]:
        """One gradient per example, along the first dimension."""
        trainable = {name: tensor.detach() for name, tensor in self._trainable.items()}
        # A buffer that the forward pass replaces is restored; writing to a buffer is an error of
        # torch.
        buffers = dict(self.model.named_buffers())

        def loss(parameters: dict[str, Tensor], arguments: Any, keywords: Any, targets: Any) -> Tensor:
            one = Batch(arguments, keywords, targets).map(lambda tensor: tensor.unsqueeze(0))
            prediction = torch.func.functional_call(
                self.model, {**parameters, **buffers}, one.arguments, one.keywords
            )
            value = self.loss_fn(prediction, one.targets)
            if not isinstance(value, Tensor) or value.numel() != 1:
                raise BadParameter("loss_fn must return one number for one example, a batch of one")
            return value.reshape(())

        each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0, 0), randomness="different")
        try:
            gradients: dict[str, Tensor] = each(trainable, batch.arguments, batch.keywords, batch.targets)
        except RuntimeError as error:
            if any(words in str(error) for words in ("mutate a captured Tensor", "updated in place")):
                names = ", ".join(repr(name) for name in buffers)
                written = f"a buffer, of {names}, or another tensor" if buffers else "a tensor"
                raise Unsupported(
                    f"the forward pass writes to {written} that outlives the call: what it keeps of "
                    "the data is not private"
                ) from None
            raise
        return gradients

    def _add_clipped(self, flat: Tensor, gradients: dict[str, Tensor]) -> None:
        """Clips as the module documentation defines, some examples at a time, and adds integer
        multiples of the grid.
        """
        grid = 2.0 ** (math.frexp(self.max_norm)[1] - 1 - _GRID_BITS)
        examples = len(gradients[self._parts[0][0]])
        rows = len(self._doubles)
        for start in range(0, examples, rows):
            block = self._doubles[: examples - start]
            for name, part in self._parts:
                block[:, part].copy_(gradients[name][start : start + rows].reshape(len(block), -1))
            clipped = [part for _, part in self._parts] if self.per_parameter else [slice(0, flat.numel())]
            for part in clipped:
                piece = block[:, part]
                norms = torch.linalg.vector_norm(piece, dim=1)
                if not bool(torch.isfinite(norms).all()):
                    self._refuse_what_is_not_finite(gradients)
                # The grid is a power of two, so dividing by it does not round.
                piece.mul_(self._factors(norms, piece.shape[1], len(clipped)).mul_(1 / grid).unsqueeze(1))
            flat.add_(block.trunc_().sum(dim=0), alpha=grid)

    def _factors(self, norms: Tensor, dimension: int, parts: int) -> Tensor:
        """The factors that scale vectors of these norms, so that no norm exceeds its share of the
        bound after rounding.
        """
        error = (dimension + 64) * 2.0**-52
        bound = self.max_norm if parts == 1 else self.max_norm * (1 - 2.0**-50) / math.sqrt(parts)
        factors = torch.where(norms * (1 + error) <= bound, 1.0, bound * (1 - error - 2.0**-49) / norms)
        return torch.where(factors >= torch.finfo(torch.float64).tiny, factors, 0.0)

    @staticmethod
    def _refuse_what_is_not_finite(gradients: dict[str, Tensor]) -> None:
        """Refuses gradients that are not finite. The norm of finite numbers may overflow to
        infinity: then the factor is zero, and nothing is refused.
        """
        for name, gradient in gradients.items():
            if not bool(torch.isfinite(gradient).all()):
                raise BadParameter(
                    f"the gradient of {name!r} is not finite for some example; no step was taken"
                )


def identities(tensors: Iterable[Tensor]) -> list[int]:
    """What tells tensors apart: equal values do not make them the same parameter."""
    return [id(tensor) for tensor in tensors]


def common_kind(parameters: Iterable[Tensor]) -> tuple[torch.dtype, torch.device]:
    """The precision and the device that all parameters share."""
    kinds = {(parameter.dtype, parameter.device) for parameter in parameters}
    if not kinds:
        raise BadParameter("there is no trainable parameter")
    if len(kinds) > 1:
        raise Unsupported("all trainable parameters must be of one precision and on one device")
    dtype, device = kinds.pop()
    if dtype not in (torch.float32, torch.float64):
        raise Unsupported(f"parameters must be float32 or float64, not {dtype}")
    return dtype, device


def _checked_norm(max_norm: float) -> float:
    if not _MIN_NORM <= max_norm <= _MAX_NORM:
        raise BadParameter(
            f"max_norm must be a number from {_MIN_NORM:.1e} to {_MAX_NORM:.1e}, not {max_norm}"
        )
    return float(max_norm)


def _check_examples(examples: int) -> None:
    if examples > MAX_EXAMPLES:
        raise BadParameter(f"a step can have at most {MAX_EXAMPLES} examples, not {examples}")


def _refuse_mixing_layers(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and (
            module.training or module.running_mean is None
        ):
            raise Unsupported(
                f"{name or 'the model'!r} is batch normalisation, which mixes examples, so no gradient "
                "belongs to one "
                "example. Use GroupNorm or LayerNorm, or public running statistics with .eval()"
            )
