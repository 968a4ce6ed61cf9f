"""A check that one example's clipped gradient does not depend on other calls.

**Definition.** A model keeps hidden state if something that one call leaves behind changes the
result of a later call: an attribute with the previous batch, a list, a recurrent layer's own hidden
state, a closure, a global. Then an example also moves the sums of later calls, and a bound on its
contribution to its own sum is not enough.

**Guarantee.** The check computes the clipped gradients of a few examples, makes other calls with
other examples, computes the first gradients again, and refuses the model unless they are the same,
bit for bit. It does this eight times, with one or two other calls in between. Two things are not
hidden state:

- *Random numbers*, such as those of dropout. Every comparison starts from the same state of torch's
  generators, of generators that are attributes of a module, and of the global generators of Python
  and numpy.
- *Rounding.* Accelerators may add in a different order each time. So do a few operations of the
  processor; the check recognises them because they give different results from the same state.
  Only there are differences allowed, up to 2⁻¹² of the clipping norm.

The check leaves no trace in generators and modules. It restores their attributes, and the contents
of the lists, dictionaries, sets and deques in them.

**Not found:** state that first matters after more calls than the check makes; state that needs
inputs unlike those of the batch; and, where differences are allowed, state that moves a gradient by
less than that. State outside of modules (a closure, a global, a plain object) is found, but the
check cannot undo its changes, and cannot tell it from rounding below 2⁻¹² of the norm.

**Cost.** About twenty passes over at most four examples, and memory for two more float64 numbers
per parameter, once for each mode of the model.
"""

from __future__ import annotations

import contextlib
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from evertally import Unsupported

from .batch import Batch

#: The number of comparisons of gradients, with one or two other calls between them.
_COMPARISONS = 8
#: The largest number of examples per call.
_MAX_EXAMPLES = 4
#: The number of repetitions from the same state that show whether a computation rounds differently.
_REPEATS = 8
#: The change that rounding may cause, relative to the norm.
_ROUNDING = 2.0**-12
_CONTAINERS = (dict, list, set, deque)


def refuse_hidden_state(
    clipped_sum: Callable[[Batch], Tensor],
    batch: Batch,
    *,
    most: int,
    modules: dict[str, nn.Module],
    device: torch.device,
    max_norm: float,
) -> None:
    """Raises :class:`evertally.Unsupported` if the clipped sum of some examples depends on other calls.

    No call has more than ``most`` examples. An error of the very first call is passed on, because
    it has nothing to do with other calls.
    """
    few = min(batch.examples(), most, _MAX_EXAMPLES)
    kept = _KeptState(modules)
    rewind = _rewinding(device, kept.generators)
    rounds_differently = device.type != "cpu"
    # On the processor an index out of range is an error like others. It makes an accelerator
    # unusable for the rest of the process, so nothing is scaled up there.
    others = _other_batches(batch, few, largest_scale=1.0 if rounds_differently else 4.0)
    measured = _rows(batch, torch.arange(few))

    def measure() -> Tensor:
        rewind()
        return clipped_sum(measured)

    try:
        reference = measure()
        for comparison in range(_COMPARISONS):
            for _ in range(1 + comparison % 2):
                # An error says nothing, because these inputs are made up. What the call leaves
                # behind is measured next.
                with contextlib.suppress(Exception):
                    clipped_sum(next(others))
            try:
                found = measure()
            except torch.cuda.OutOfMemoryError:
                raise
            except Exception as error:
                raise Unsupported(_refusal(kept.changed(), "fails")) from error
            if torch.equal(found, reference):
                continue
            changed = kept.changed()
            if not float(torch.linalg.vector_norm(found - reference)) <= _ROUNDING * max_norm:
                raise Unsupported(_refusal(changed, "is another"))
            rounds_differently = rounds_differently or _differs_from_one_state(measure, kept, reference)
            if not rounds_differently:
                raise Unsupported(_refusal(changed, "is another"))
    finally:
        kept.restore()
        rewind()


def _differs_from_one_state(measure: Callable[[], Tensor], kept: _KeptState, reference: Tensor) -> bool:
    """Whether the same computation from the same state has different results."""
    for _ in range(_REPEATS):
        kept.restore()
        if not torch.equal(measure(), reference):
            return True
    return False


def _refusal(changed: list[str], what: str) -> str:
    where = (
        f"calls change {', '.join(changed[:3])}{' and others' if len(changed) > 3 else ''}"
        if changed
        else "no attribute of a module changes, so look for a closure, a global or a random generator"
    )
    return (
        f"the model keeps state between calls: the clipped gradient of the same examples {what} after other "
        f"calls ({where}). An example then moves later sums too, and no bound on its gradient covers that. "
        "Make the layer stateless, or use .eval() if it keeps nothing then; a buffer that the forward pass "
        "updates is refused as well"
    )


def _rows(batch: Batch, numbers: Tensor) -> Batch:
    return batch.map(lambda tensor: tensor[numbers.to(tensor.device)])


def _other_batches(batch: Batch, most: int, *, largest_scale: float) -> Iterator[Batch]:
    """Examples of the batch in other orders and numbers, each scaled by ¼ to ``largest_scale``.

    Integers stay as they are, in floating point too, so that indices, masks and one-hot vectors
    remain valid.
    """
    generator = torch.Generator().manual_seed(0)
    size = 0
    while True:
        size = size % most + 1
        scales = 0.25 * (4 * largest_scale) ** torch.rand(size, generator=generator)

        def scaled(tensor: Tensor, scales: Tensor = scales) -> Tensor:
            if not tensor.is_floating_point():
                return tensor
            factors = scales.to(tensor).view(-1, *[1] * (tensor.ndim - 1))
            return torch.where(tensor == tensor.round(), tensor, tensor * factors)

        numbers = torch.randperm(batch.examples(), generator=generator)[:size]
        yield _rows(batch, numbers).map_inputs(scaled)


def _rewinding(device: torch.device, generators: list[torch.Generator]) -> Callable[[], None]:
    """A function that sets generators of random numbers back to their present state."""
    states = [generator.get_state() for generator in generators]
    processor, of_python, of_numpy = torch.get_rng_state(), random.getstate(), np.random.get_state()
    accelerator = None if device.type == "cpu" else getattr(torch, device.type)
    on_device = None if accelerator is None else accelerator.get_rng_state(device)

    def rewind() -> None:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        torch.set_rng_state(processor)
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        if accelerator is not None:
            accelerator.set_rng_state(on_device, device)

    return rewind


class _KeptState:
    """The contents of the attributes of modules, to compare and restore.

    Tensors are kept by identity. That is enough: in ``torch.func``, a call that writes to a tensor
    from outside of it is an error.
    """

    def __init__(self, modules: dict[str, nn.Module]) -> None:
        self.generators: list[torch.Generator] = []
        self._attributes: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self._containers: dict[int, tuple[str, Any, Any]] = {}
        for path, module in modules.items():
            name = f"{path!r} ({type(module).__name__})" if path else type(module).__name__
            self._attributes.append((name, vars(module), dict(vars(module))))
            for attribute, value in vars(module).items():
                self._enter(f"{name}.{attribute}", value)

    def _enter(self, name: str, value: Any) -> None:
        if isinstance(value, torch.Generator):
            self.generators.append(value)
        if not isinstance(value, (*_CONTAINERS, tuple)) or id(value) in self._containers:
            return
        if isinstance(value, _CONTAINERS):
            self._containers[id(value)] = name, value, _listed(value)
        for item in value.values() if isinstance(value, dict) else value:
            self._enter(name, item)

    def changed(self) -> list[str]:
        """The names of the attributes that have changed."""
        names = [
            f"{name}.{attribute}"
            for name, now, then in self._attributes
            for attribute in {**then, **now}
            if attribute not in now or attribute not in then or now[attribute] is not then[attribute]
        ]
        contents = [name for name, now, then in self._containers.values() if not _is_same(_listed(now), then)]
        return list(dict.fromkeys(names + contents))

    def restore(self) -> None:
        """Restores the state from the time of construction."""
        for _, container, then in self._containers.values():
            if not _is_same(_listed(container), then):
                container.clear()
                _fill(container, then)
        for _, now, then in self._attributes:
            for attribute in [attribute for attribute in now if attribute not in then]:
                del now[attribute]
            now.update(then)


def _listed(container: Any) -> list[Any]:
    return list(container.items()) if isinstance(container, dict) else list(container)


def _fill(container: Any, items: list[Any]) -> None:
    if isinstance(container, dict):
        for key, value in items:
            container[key] = value
    elif isinstance(container, set):
        container.update(items)
    else:
        container.extend(items)


def _is_same(now: list[Any], then: list[Any]) -> bool:
    """Whether both hold identical objects. The values of tensors are not compared."""
    if len(now) != len(then):
        return False
    for a, b in zip(now, then, strict=True):
        one, other = (
            (a, b) if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) else ((a,), (b,))
        )
        if any(left is not right for left, right in zip(one, other, strict=True)):
            return False
    return True
