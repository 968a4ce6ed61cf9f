"""How some of the keys take their steps: the whole of the mechanism, without Spark.

**Definition.** A shard is a counter for some of the declared keys of a plan (or for the one total of a plan without keys), and the number of the step that is
next. ``close`` takes every step before a given one, with the totals of those that had any.

**Guarantee.** What a key releases does not depend on which keys share its shard, on how many shards there are, or on how the steps were divided among
calls: the noise of a key is that of the whole plan (``Plan._part``). A shard never takes a step twice, and ``save`` resumes bit for bit.

**Cost.** ``Plan.bytes_per_coordinate`` a key. Steps are taken some at a time, so that a shard that closes a year of empty steps holds no more than
``CELLS_AT_ONCE`` numbers of them.
"""

import functools
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt
import pandas as pd

from evertally import BadParameter, BadState, Counter, HorizonSpent, KeyedCounter, Plan
from evertally.spark.secret import Secret

LEVEL = 0.95
CELLS_AT_ONCE = 1 << 18

# Values are counted on a grid of 2^-20, as `evertally count` does: sums of whole numbers do not depend on their order.
GRID = 1 << 20

# Doubles hold every whole number up to here, and what is not held exactly would not be counted exactly.
LARGEST_TOTAL = 1 << 53
TOO_LARGE = "the total of a step is too large to be counted exactly"

Whole = npt.NDArray[np.int64]
Check = Callable[[int, Whole], None]

ANOTHER = (
    "the checkpoint belongs to another plan, noise key, list of keys, range of time, number of shards or spark.sql.shuffle.partitions: go on with what it was made "
    "with, or take a new checkpoint, a new directory of releases, a new noise key and a budget of its own"
)


FIRST_VERSION = (
    "the checkpoint was made by version 0.1, whose noise left out how a count is defined: let 0.1 finish it, or take a new checkpoint, a new directory of releases, a new noise "
    "key and a budget of its own"
)


@dataclass(frozen=True)
class Job:
    """Everything that executors must agree on. It holds no key, only where to find it."""

    plan_pickled: bytes
    """A plan for a single total, or for one of the keys, as a pattern for those of shards."""
    is_keyed: bool
    secret: Secret
    start_micros: int
    every_micros: int
    scale: int
    """How many units of a total make one: ``GRID`` for values, 1 for counts."""
    identity: bytes
    """What a checkpoint must have in common with the query that goes on from it."""

    @property
    def plan(self) -> Plan:
        return _plan(self.plan_pickled)

    def refusal(self, identity: bytes) -> BadState:
        """Why a checkpoint of another identity is not gone on with."""
        # After the plan comes the number of the layout, which was 1 in version 0.1.
        return BadState(FIRST_VERSION if identity[32:].startswith(b"|1|") else ANOTHER)

    def steps_ended_by(self, micros: int) -> int:
        """How many steps have ended at a time."""
        return max(0, (micros - self.start_micros) // self.every_micros)

    def end_of(self, step: int) -> int:
        return self.start_micros + (step + 1) * self.every_micros


@functools.lru_cache(maxsize=8)
def _plan(pickled: bytes) -> Plan:
    # Workers serve many tasks; a plan is made once in each.
    plan = pickle.loads(pickled)
    assert isinstance(plan, Plan)
    return plan


class Lanes:
    """The keys of a shard in a fixed order, and totals of them as tables of steps."""

    def __init__(self, names: Optional[Sequence[str]]) -> None:
        self.names = None if names is None else np.array(names, dtype=object)
        self._index = None if names is None else pd.Index(self.names)

    def cells(
        self, first: int, until: int, steps: Whole, keys: Optional[npt.NDArray[Any]], totals: Whole
    ) -> Iterator[tuple[int, Whole]]:
        """Every step from `first` to before `until`, some at a time, with a row for each step and a column for each key.

        Totals are those of (step, key), and add up where a pair comes more than once. A key that the shard does not know was not declared: it is left out.
        """
        lanes = np.zeros(len(steps), dtype=np.int64)
        if self._index is not None:
            lanes = self._index.get_indexer(pd.Index(keys, dtype=object)).astype(np.int64)
            declared = lanes >= 0
            steps, lanes, totals = steps[declared], lanes[declared], totals[declared]
        if len(steps) and (steps.min() < first or steps.max() >= until):
            # Spark hands over each closed step once and whole. Anything else would count under noise that was released.
            raise BadState("a total came for a step that is closed, or for one that is still open")
        width = 1 if self.names is None else len(self.names)
        at_once = max(1, CELLS_AT_ONCE // width)
        while first < until:
            last = min(until, first + at_once)
            here = (steps >= first) & (steps < last)
            if np.abs(totals[here].astype(np.float64)).sum() >= 2.0**62:
                # Where all of them together do not overflow, none of the sums does.
                raise BadParameter(TOO_LARGE)
            cells = np.zeros((last - first, width), dtype=np.int64)
            np.add.at(cells, (steps[here] - first, lanes[here]), totals[here])
            yield first, _checked(cells)
            first = last


class Shard:
    """The keys of a shard, their counter, and what has been released of them."""

    def __init__(self, job: Job, names: Optional[Sequence[str]], counter: Union[Counter, KeyedCounter]) -> None:
        self._job = job
        self._counter = counter
        self._lanes = Lanes(names)

    @classmethod
    def new(cls, job: Job, names: Optional[Sequence[str]]) -> "Shard":
        """A shard before its first step. The names of its keys are in any fixed order; None for a plan without keys."""
        key = job.secret.key()
        if names is None:
            return cls(job, None, Counter(job.plan, key))
        return cls(job, names, KeyedCounter(job.plan._part(list(names)), key))

    @classmethod
    def resume(cls, job: Job, names: Optional[Sequence[str]], state: bytes) -> "Shard":
        """A shard as it was saved; the state of another plan or key is refused."""
        key = job.secret.key()
        if names is None:
            return cls(job, None, Counter.resume(job.plan, key, state))
        return cls(job, names, KeyedCounter.resume(job.plan._part(list(names)), key, state))

    def save(self) -> bytes:
        """It holds true totals and noise: a checkpoint is to be guarded like the data."""
        return self._counter.save()

    @property
    def next_step(self) -> int:
        return self._counter.steps_taken

    def close(
        self, until: int, steps: Whole, keys: Optional[npt.NDArray[Any]], totals: Whole, check: Optional[Check] = None
    ) -> Iterator[pd.DataFrame]:
        """Takes every step before `until` and hands out its releases, some steps at a time, each of them when `check` has seen its totals.

        Totals are in units of ``Job.scale``; see ``Lanes.cells``.
        """
        for first, cells in self._lanes.cells(self.next_step, until, steps, keys, totals):
            if check is not None:
                check(first, cells)
            yield self._release(first, cells / float(self._job.scale))

    def _release(self, first: int, inputs: npt.NDArray[np.float64]) -> pd.DataFrame:
        rows, width = inputs.shape
        if isinstance(self._counter, KeyedCounter):
            releases = self._counter.run(inputs)
        else:
            releases = self._counter.run(inputs[:, 0])
        # Adding zero turns a rounded -0 into 0, as `evertally count` does.
        lower, upper = (end.ravel() + 0.0 for end in releases.interval(LEVEL))
        steps = np.repeat(np.arange(first, first + rows), width)
        columns = {"step": steps, "start_micros": self._job.start_micros + steps * self._job.every_micros}
        if self._lanes.names is not None:
            columns["key"] = np.tile(self._lanes.names, rows)
        columns |= {
            "estimate": releases.values.ravel() + 0.0,
            "standard_error": np.repeat(releases.standard_errors, width),
            "lower": lower,
            "upper": upper,
        }
        return pd.DataFrame(columns)


def columns(rows: Optional[pd.DataFrame], is_keyed: bool) -> tuple[Whole, Optional[npt.NDArray[Any]], Whole]:
    """What ``Shard.close`` takes, of rows of (step, key, total); None stands for none."""
    if rows is None:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, (nothing.astype(object) if is_keyed else None), nothing
    keys = rows["key"].to_numpy(object) if is_keyed else None
    return rows["step"].to_numpy(np.int64), keys, rows["total"].to_numpy(np.int64)


def _checked(totals: Whole) -> Whole:
    """Totals that doubles hold."""
    if len(totals) and (totals.max() > LARGEST_TOTAL or totals.min() < -LARGEST_TOTAL):
        raise BadParameter(TOO_LARGE)
    return totals


def horizon_spent(job: Job) -> HorizonSpent:
    """The error with which a query stops that has nothing left to release."""
    return HorizonSpent(
        f"all {job.plan.horizon} steps of the plan are released, and time has gone on: a further release would not be private. "
        "Every release so far is committed. Count what follows under a plan of its own, with a budget, a checkpoint and a directory of its own"
    )
