"""The steps of some of the keys: the whole mechanism, without Spark.

**Definition.** A shard is a counter for some of the declared keys of a plan, or for the single
total of a plan without keys, and the number of its next step. ``close`` takes every step before a
given one, with or without totals.

**Guarantee.** The releases of a key do not depend on the other keys of its shard, on the number of
shards, or on how the steps were divided among calls: the noise of a key is that of the whole plan
(``Plan._part``). A shard never takes a step twice, and it resumes bit for bit from ``save``.

**Cost.** ``Plan.bytes_per_coordinate`` per key. Steps are taken some at a time, so a shard that
closes a year of empty steps holds at most ``CELLS_AT_ONCE`` of their numbers.
"""

import functools
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt
import pandas as pd

from evertally import BadParameter, BadState, Counter, Discovery, HorizonSpent, KeyedCounter, Plan
from evertally.spark.secret import Secret

LEVEL = 0.95
CELLS_AT_ONCE = 1 << 18

# Totals are integers, because their sums do not depend on order. They stay below half of what 64
# bits hold, so that rounding in the check of a sum cannot hide an overflow.
MAX_TOTAL = 1 << 62
TOO_LARGE = "the total of a step is too large for integers of 64 bits"

Integers = npt.NDArray[np.int64]
Check = Callable[[int, Integers], None]

ANOTHER = (
    "the checkpoint belongs to another plan, noise key, list of keys, range of time, number of shards "
    "or spark.sql.shuffle.partitions: resume with the same ones, "
    "or use a new checkpoint, a new directory of releases, a new noise key and a separate budget"
)

OPEN_OR_CLOSED = "a total came for a step that is closed, or for one that is still open"

FIRST_VERSION = (
    "the checkpoint was made by version 0.1, whose noise left out how a count is defined: let 0.1 finish "
    "it, or use a new checkpoint, a new directory of releases, a new noise key and a separate budget"
)


@dataclass(frozen=True)
class Job:
    """Everything that executors must agree on. It holds no key, only a reference to it."""

    plan_pickled: bytes
    """A plan for a single total, or for one key as a pattern for the plans of shards; or a discovery."""
    is_keyed: bool
    secret: Secret
    start_micros: int
    every_micros: int
    grid_steps: int
    """What one unit of a total counts, in steps of the grid of 2^-20: 1 for values, and 2^20 for
    counts.
    """
    identity: bytes
    """What a checkpoint must have in common with the query that resumes it."""

    @property
    def plan_of_either_kind(self) -> Union[Plan, Discovery]:
        return _plan(self.plan_pickled)

    @property
    def plan(self) -> Plan:
        plan = _plan(self.plan_pickled)
        assert isinstance(plan, Plan)
        return plan

    @property
    def discovery(self) -> Discovery:
        discovery = _plan(self.plan_pickled)
        assert isinstance(discovery, Discovery)
        return discovery

    @property
    def finds_keys(self) -> bool:
        return isinstance(_plan(self.plan_pickled), Discovery)

    @property
    def counts_in_several_keys(self) -> bool:
        """Whether a person counts once in each of several keys."""
        return not self.finds_keys and self.plan.keys_per_person > 1

    @property
    def horizon(self) -> int:
        return _plan(self.plan_pickled).horizon

    def refusal(self, identity: bytes) -> BadState:
        """The error for a checkpoint of another identity."""
        # After the plan comes the number of the layout, which was 1 in version 0.1.
        return BadState(FIRST_VERSION if identity[32:].startswith(b"|1|") else ANOTHER)

    def steps_ended_by(self, micros: int) -> int:
        """The number of steps that have ended by a time."""
        return max(0, (micros - self.start_micros) // self.every_micros)

    def end_of(self, step: int) -> int:
        return self.start_micros + (step + 1) * self.every_micros


@functools.lru_cache(maxsize=8)
def _plan(pickled: bytes) -> Union[Plan, Discovery]:
    # A worker serves many tasks and makes a plan only once.
    plan = pickle.loads(pickled)
    assert isinstance(plan, (Plan, Discovery))
    return plan


class ShardKeys:
    """The keys of a shard in a fixed order, and their totals as tables of steps."""

    def __init__(self, names: Optional[Sequence[str]]) -> None:
        self.names = None if names is None else np.array(names, dtype=object)
        self._index = None if names is None else pd.Index(self.names)

    def cells(
        self, first: int, until: int, steps: Integers, keys: Optional[npt.NDArray[Any]], totals: Integers
    ) -> Iterator[tuple[int, Integers]]:
        """Every step from `first` to before `until`, some at a time, with a row for each step and a
        column for each key.

        Totals belong to (step, key) pairs; those of one pair are added up. A key that the shard
        does not know was not declared, and is left out.
        """
        places = np.zeros(len(steps), dtype=np.int64)
        if self._index is not None:
            places = self._index.get_indexer(pd.Index(keys, dtype=object)).astype(np.int64)
            declared = places >= 0
            steps, places, totals = steps[declared], places[declared], totals[declared]
        if len(steps) and (steps.min() < first or steps.max() >= until):
            # Spark hands over each closed step once and completely. Other totals would use noise
            # that was already released.
            raise BadState(OPEN_OR_CLOSED)
        width = 1 if self.names is None else len(self.names)
        at_once = max(1, CELLS_AT_ONCE // width)
        while first < until:
            last = min(until, first + at_once)
            here = (steps >= first) & (steps < last)
            where, added = (steps[here] - first, places[here]), totals[here]
            magnitudes = np.abs(added.astype(np.float64))
            # If all of them together do not overflow, no sum does.
            if magnitudes.sum() >= MAX_TOTAL:
                sums = np.zeros((last - first, width))
                np.add.at(sums, where, magnitudes)
                if sums.max() >= MAX_TOTAL:
                    raise BadParameter(TOO_LARGE)
            cells = np.zeros((last - first, width), dtype=np.int64)
            np.add.at(cells, where, added)
            yield first, cells
            first = last


class Shard:
    """The keys of a shard and their counter."""

    def __init__(self, job: Job, names: Optional[Sequence[str]], state: Optional[bytes] = None) -> None:
        """A shard before its first step, or one that resumes from a saved state. The state of
        another plan or key is refused. The names of its keys are in any fixed order, or None for a
        plan without keys.
        """
        self._job = job
        self._keys = ShardKeys(names)
        kind: type[Union[Counter, KeyedCounter]] = Counter if names is None else KeyedCounter
        plan = job.plan if names is None else job.plan._part(list(names))
        key = job.secret.key()
        self._counter = kind(plan, key) if state is None else kind.resume(plan, key, state)

    def save(self) -> bytes:
        """The state as bytes. It holds true totals and noise: guard a checkpoint like the data."""
        return self._counter.save()

    @property
    def next_step(self) -> int:
        return self._counter.steps_taken

    def close(
        self,
        until: int,
        steps: Integers,
        keys: Optional[npt.NDArray[Any]],
        totals: Integers,
        check: Optional[Check] = None,
    ) -> Iterator[pd.DataFrame]:
        """Takes every step before `until` and hands out its releases, some steps at a time. `check`
        sees the totals of a step before its releases are handed out.

        Totals are in units of ``Job.grid_steps``; see ``ShardKeys.cells``.
        """
        for first, cells in self._keys.cells(self.next_step, until, steps, keys, totals):
            if check is not None:
                check(first, cells)
            yield self._release(first, cells)

    def _release(self, first: int, cells: Integers) -> pd.DataFrame:
        rows, width = cells.shape
        releases = self._counter._run_amounts(cells, self._job.grid_steps)
        # Adding zero turns a rounded -0 into 0, as `evertally count` does.
        lower, upper = (end.ravel() + 0.0 for end in releases.interval(LEVEL))
        steps = np.repeat(np.arange(first, first + rows), width)
        columns = {"step": steps, "start_micros": self._job.start_micros + steps * self._job.every_micros}
        if self._keys.names is not None:
            columns["key"] = np.tile(self._keys.names, rows)
        columns |= {
            "estimate": releases.values.ravel() + 0.0,
            "standard_error": np.repeat(releases.standard_errors, width),
            "lower": lower,
            "upper": upper,
        }
        return pd.DataFrame(columns)


def columns(
    rows: Optional[pd.DataFrame], is_keyed: bool
) -> tuple[Integers, Optional[npt.NDArray[Any]], Integers]:
    """The arguments of ``Shard.close`` from rows of (step, key, total). None means no rows."""
    if rows is None:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, (nothing.astype(object) if is_keyed else None), nothing
    keys = rows["key"].to_numpy(object) if is_keyed else None
    return rows["step"].to_numpy(np.int64), keys, rows["total"].to_numpy(np.int64)


def horizon_spent(job: Job) -> HorizonSpent:
    """The error that stops a query when all steps are released."""
    return HorizonSpent(
        f"all {job.horizon} steps of the plan are released, and later events have arrived: a further "
        "release would not be private. Every release so far is committed. Count later events under a new "
        "plan, with a new budget, checkpoint and directory"
    )
