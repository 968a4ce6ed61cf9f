"""A batch: the inputs of a model and the targets of its predictions.

**Definition.** Inputs are one tensor, several tensors, or several tensors by name; so are targets.
Examples lie along the first dimension of every tensor, and all tensors have the same number of
examples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from torch import Tensor

from evertally import BadParameter

#: The inputs of a model.
Inputs: TypeAlias = Tensor | tuple[Tensor, ...] | Mapping[str, Tensor]


@dataclasses.dataclass(frozen=True)
class Batch:
    """Inputs as the arguments of a call, and targets unchanged. ``repr`` shows no data."""

    arguments: tuple[Tensor, ...] = dataclasses.field(repr=False)
    keywords: dict[str, Tensor] = dataclasses.field(repr=False)
    targets: Any = dataclasses.field(repr=False)

    @classmethod
    def of(cls, inputs: Inputs, targets: Any) -> Batch:
        """The batch of these inputs and targets.

        >>> import torch
        >>> Batch.of(torch.zeros(3, 2), torch.zeros(3)).examples()
        3
        """
        if isinstance(inputs, Tensor):
            return cls((inputs,), {}, targets)
        if isinstance(inputs, Mapping):
            return cls((), dict(inputs), targets)
        return cls(tuple(inputs), {}, targets)

    def examples(self) -> int:
        """The number of examples, which must be the same for all tensors."""
        tensors = [*self.arguments, *self.keywords.values(), *_leaves(self.targets)]
        if not tensors or any(not isinstance(tensor, Tensor) or tensor.ndim == 0 for tensor in tensors):
            raise BadParameter(
                "inputs and targets must be tensors with one example along their first dimension"
            )
        counts = {len(tensor) for tensor in tensors}
        if len(counts) > 1:
            raise BadParameter(
                f"inputs and targets must have the same number of examples, not {sorted(counts)}"
            )
        return counts.pop()

    def map(self, function: Callable[[Tensor], Tensor]) -> Batch:
        """The batch with a function applied to every tensor."""
        inputs = self.map_inputs(function)
        return Batch(inputs.arguments, inputs.keywords, _map_targets(self.targets, function))

    def map_inputs(self, function: Callable[[Tensor], Tensor]) -> Batch:
        """The batch with a function applied to every input, and the same targets."""
        keywords = {name: function(value) for name, value in self.keywords.items()}
        return Batch(tuple(function(argument) for argument in self.arguments), keywords, self.targets)


def _map_targets(targets: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """The targets with a function applied to every tensor."""
    if isinstance(targets, Tensor):
        return function(targets)
    if isinstance(targets, Mapping):
        return {name: function(tensor) for name, tensor in targets.items()}
    return tuple(function(tensor) for tensor in targets)


def _leaves(targets: Any) -> list[Tensor]:
    if isinstance(targets, Tensor):
        return [targets]
    if isinstance(targets, Mapping):
        return list(targets.values())
    return list(targets) if isinstance(targets, (list, tuple)) else [targets]
