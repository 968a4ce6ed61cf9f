"""Rows of correlated noise, in memory shared by numpy and torch.

**Definition.** Row t is z_t = σΔC·(L g)[t], one number per trainable parameter; the increment is
z_t − z_{t−1}, with z₀ = 0. Adding rows to prefix sums of gradients is the same as adding increments
to the gradients.

**Guarantee.** The library writes rows directly into a buffer that shares its memory with a tensor.
In float32 the noise comes from the float32 stream, whose sensitivity covers the rounding of L. A
step is recorded in the process before its row is made.

**Cost.** Two buffers of one number per parameter, in addition to the state of the stream.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

import evertally
from evertally import BadState, HorizonSpent

from .state import RELEASES

#: The number of coordinates that a pass over the parameters takes at a time, which bounds temporary
#: float64 numbers.
_BLOCK = 1 << 20


def blocks(length: int) -> Iterator[slice]:
    """Slices of coordinates that cover the length in order."""
    for start in range(0, length, _BLOCK):
        yield slice(start, min(start + _BLOCK, length))


class Adder:
    """Adds float64 and float32 numbers in float64 and rounds once.

    Torch's own operations on mixed precisions convert whole tensors to temporary float64, which
    takes longer than adding.
    """

    def __init__(self, dimension: int, device: torch.device) -> None:
        self._doubles = torch.empty(min(dimension, _BLOCK), dtype=torch.float64, device=device)

    def add(self, left: Tensor, right: Tensor, *, out: Tensor) -> Tensor:
        """left + right of one block, in the precision of ``out``."""
        if left.dtype == right.dtype == out.dtype:
            return torch.add(left, right, out=out)
        doubles = self._doubles[: len(left)]
        return out.copy_(doubles.copy_(right).add_(left))


class NoiseRows:
    """The noise of one training run, and the permission to use it."""

    def __init__(
        self,
        plan: evertally.Plan,
        key: evertally.NoiseKey,
        dimension: int,
        dtype: torch.dtype,
        device: torch.device,
        *,
        state: bytes | None = None,
        latest: Tensor | None = None,
        replay: bool = False,
    ) -> None:
        self.plan, self.key, self.dtype, self.device = plan, key, dtype, device
        self.replay = replay
        precision = "float32" if dtype == torch.float32 else "float64"
        if state is None:
            self.stream = evertally.NoiseStream(plan, key=key, dtype=precision)
        else:
            self.stream = evertally.NoiseStream.resume(plan, key, state, dtype=precision)
        self._name = hashlib.blake2b(
            b"|".join([bytes(key.tag), bytes(plan.fingerprint), precision.encode()]), digest_size=32
        ).digest()
        RELEASES.check_start(self._name, self.steps_taken, replay=replay)
        self._arrays = [np.zeros(dimension, dtype=precision) for _ in range(2)]
        self._rows = [torch.from_numpy(array) for array in self._arrays]
        self.adder = Adder(dimension, device)
        if latest is not None:
            self._set_latest(latest)

    @property
    def steps_taken(self) -> int:
        """The number of rows made so far."""
        return int(self.stream.steps_taken)

    def admit(self, gradients: Tensor) -> bytes:
        """The permission to add the next row to these gradients, as a digest to record. An error
        changes nothing.
        """
        if self.steps_taken >= self.plan.horizon:
            raise HorizonSpent(f"all {self.plan.horizon} steps of the plan are taken")
        return RELEASES.admit(self._name, self.steps_taken, gradients, replay=self.replay)

    def row(self, permission: bytes) -> Tensor:
        """z_t on the device of the parameters. The next row may overwrite this memory."""
        self._draw(permission, 0)
        return self._rows[0].to(self.device)

    def noisy(self, permission: bytes, gradients: Tensor, share: float) -> Tensor:
        """(gradients + z_t − z_{t−1}) · share, on the device of the parameters. The next step
        overwrites this memory.
        """
        # The new row takes the place of the older one. A refusal leaves the latest row where it is.
        self._draw(permission, 1)
        self._arrays.reverse()
        self._rows.reverse()
        # The older row is no longer needed: its memory takes the difference, and then the result.
        result = torch.sub(self._rows[0], self._rows[1], out=self._rows[1]).to(self.device)
        for part in blocks(len(result)):
            self.adder.add(gradients[part], result[part], out=result[part]).mul_(share)
        return result

    def latest(self) -> Tensor:
        """A copy of the latest row."""
        return self._rows[0].clone()

    def scratch(self) -> Tensor:
        """Memory of the size of a row, on the device of the parameters, for one step."""
        return (
            self._rows[1]
            if self.device.type == "cpu"
            else torch.empty_like(self._rows[1], device=self.device)
        )

    def _draw(self, permission: bytes, place: int) -> None:
        RELEASES.enter(self._name, self.steps_taken, permission)
        self.stream.next(out=self._arrays[place])

    def _set_latest(self, row: Tensor) -> None:
        """Sets the row from which the next increment is taken."""
        if row.shape != self._rows[0].shape or row.dtype != self.dtype:
            raise BadState("the checkpoint's noise is of another dimension or precision")
        self._rows[0].copy_(row)
