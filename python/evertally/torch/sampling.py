"""Batches in one fixed order, as the accounting assumes.

**Definition.** The examples are shuffled once. Every epoch goes through them in this order, B at a
time. The last batch of an epoch is short if B does not divide N.

**Guarantee.** An example takes part in exactly one step of each epoch, always in the same one, so
its steps are ⌈N/B⌉ apart. Shuffling again in each epoch could make two of its steps neighbours, and
the noise would be too small for that. A loop that is left and started again could do the same, and
is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, Sampler, SequentialSampler

from evertally import BadParameter, BadState, HorizonSpent

from .accounting import TrainingPlan


class FixedOrderBatches(Sampler[list[int]]):
    """All batches of a run, over all its epochs, as indices: the ``batch_sampler`` of a ``DataLoader``.

    ``start`` is the number of steps already taken. To resume a run, pass ``optimizer.steps_taken``
    and the ``seed`` of the first part. The order need not be secret.

    >>> from evertally.torch import training_plan
    >>> training = training_plan(examples=5, batch_size=2, epochs=2, parameters=1, epsilon=1.0, delta=1e-6)
    >>> [len(batch) for batch in FixedOrderBatches(training, seed=7)]
    [2, 2, 1, 2, 2, 1]
    >>> list(FixedOrderBatches(training, seed=7))[4:] == list(FixedOrderBatches(training, seed=7, start=4))
    True
    """

    def __init__(self, training: TrainingPlan, *, seed: int | None = None, start: int = 0) -> None:
        if seed is None:
            seed = secrets.randbits(62)
        if not 0 <= seed < 1 << 63:
            raise BadParameter(f"seed must be an integer from 0 to 2^63 - 1, not {seed}")
        self.training = training
        self.seed = seed
        self._shuffle()
        self._check_start(start)
        self.start = start
        self._is_started = False

    def _shuffle(self) -> None:
        generator = torch.Generator().manual_seed(self.seed)
        self._order: list[int] = torch.randperm(self.training.examples, generator=generator).tolist()

    def _check_start(self, start: int) -> None:
        if start < 0:
            raise BadParameter(f"start must be zero or more, not {start}")
        if start > self.training.steps:
            raise HorizonSpent(
                f"the run has {self.training.steps} steps, and cannot start after step {start}"
            )

    def batch(self, step: int) -> list[int]:
        """The examples of a step, counted from zero."""
        first = step % self.training.steps_per_epoch * self.training.batch_size
        return self._order[first : first + self.training.batch_size]

    def __iter__(self) -> Iterator[list[int]]:
        if self._is_started:
            raise BadState(
                "these batches hold all epochs and are gone through once: from a second start, "
                "examples would return sooner than accounted. "
                "Resume with load_state_dict(batches.state_dict(), start=optimizer.steps_taken)"
            )
        self._is_started = True
        for step in range(self.start, self.training.steps):
            yield self.batch(step)

    def __len__(self) -> int:
        return self.training.steps - self.start

    def state_dict(self) -> dict[str, Any]:
        """The state from which another process restores the same order."""
        return {"seed": self.seed, "examples": self.training.examples, "batch_size": self.training.batch_size}

    def load_state_dict(self, state: dict[str, Any], *, start: int) -> None:
        """Takes the order of a saved state and resumes at a step: ``start=optimizer.steps_taken``."""
        mine = self.state_dict()
        if set(state) != set(mine) or any(state[name] != mine[name] for name in ("examples", "batch_size")):
            raise BadState("the saved order is of another number of examples or another batch size")
        self._check_start(start)
        self.seed, self.start = int(state["seed"]), start
        self._shuffle()
        self._is_started = False


def check_loader(loader: DataLoader[Any], training: TrainingPlan) -> DataLoader[Any]:
    """Returns the loader if its batches come in the order of the accounting, and refuses it otherwise.

    A loader with :class:`FixedOrderBatches` of the same plan is accepted. So is a loader without
    shuffling, whose order is that of the data set.
    """
    if isinstance(loader.dataset, IterableDataset):
        raise BadParameter("the order of an iterable data set is not known")
    size = len(loader.dataset)  # type: ignore[arg-type]
    if size != training.examples:
        raise BadParameter(f"the plan is for {training.examples} examples, and the data set has {size}")
    batches = loader.batch_sampler
    if isinstance(batches, FixedOrderBatches):
        known = (training.examples, training.batch_size, training.epochs)
        theirs = batches.training
        if known != (theirs.examples, theirs.batch_size, theirs.epochs):
            raise BadParameter("the batches are those of another plan")
        return loader
    if not isinstance(loader.sampler, SequentialSampler):
        raise BadParameter(
            "the loader shuffles, or samples, in every epoch: an example could take part in steps that are "
            "closer than accounted. Give it batch_sampler=FixedOrderBatches(training)"
        )
    if loader.batch_size != training.batch_size:
        raise BadParameter(
            f"the plan is for batches of {training.batch_size}, and the loader makes them of "
            f"{loader.batch_size}"
        )
    if loader.drop_last and training.examples % training.batch_size:
        raise BadParameter(
            "the loader drops the last batch of an epoch, so steps are closer than accounted: set "
            "drop_last=False"
        )
    return loader
