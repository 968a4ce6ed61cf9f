"""Keys that nobody declared: the steps of some of them, and the releases of a finished table.

**Definition.** A shard is a ``DiscoveringCounter`` of some keys. It takes what persons added to each key in a
step, and how many of them were new there, which ``Admission`` has decided (:mod:`~evertally.spark.persons`).

**Guarantee.** The releases of a finished table are, bit for bit, those of `evertally count --discover` for
the same definition of the count: the noise of a key is a function of its name, and thresholds are public.
A key below its threshold is in no row that is released. The number of shards, and so of partitions, is
chosen without looking at keys. All totals of a finished table are digested and recorded, and the memory
of every shard is checked, before the first release.

**Cost.** A task holds all keys of one shard, at 43 bytes for each that is below the floor, and their
names while the memory is checked. Keys that are not found go through Spark's shuffles like all rows:
guard its files and its web interface like the data.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import pandas as pd
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evertally import DiscoveringCounter, NoiseKey
from evertally._native import _CellDigests
from evertally.spark.backfill import by_shard, sorted_rows
from evertally.spark.persons import added_up
from evertally.spark.record import RecordedDigests, Words
from evertally.spark.shards import CELLS_AT_ONCE, LEVEL, Integers, Job

Mapper = Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]

# The longest name of a key that a counter takes, in bytes.
MAX_KEY_BYTES = 4096

# The names of a key's two lanes in a digest begin with the role of the lane.
AMOUNT, PERSONS = "a", "p"

NUMBERS = ["estimate", "standard_error", "lower", "upper"]


@dataclass(frozen=True, repr=False)
class Added:
    """What was added to the keys of a shard in one step. It shows nothing of itself: it is private."""

    step: int
    keys: list[str]
    totals: Integers
    new: Integers

    def digest(self, job: Job) -> tuple[Integers, Words]:
        """The step, and a pair of words. Those of all shards add up to the digest of the step."""
        names = [role + key for role in (AMOUNT, PERSONS) for key in self.keys]
        cells = np.concatenate([self.totals, self.new]).reshape(1, -1)
        words = _CellDigests(job.secret.key(), names).digest(cells).reshape(1, 2)
        return np.array([self.step], dtype=np.int64), words


class FoundShard:
    """Some of the keys, and their counter."""

    def __init__(self, job: Job, state: Optional[bytes] = None) -> None:
        """A shard before its first step, or one that resumes from a saved state. The state of another
        discovery or key is refused.
        """
        self._job = job
        discovery, key = job.discovery, job.secret.key()
        self._counter = (
            DiscoveringCounter(discovery, key) if state is None else DiscoveringCounter.resume(discovery, key, state)
        )

    def save(self) -> bytes:
        """The state as bytes. It holds true counts and hidden names: guard a checkpoint like the data."""
        return self._counter.save()

    @property
    def next_step(self) -> int:
        return self._counter.steps_closed

    def add(self, added: Added) -> None:
        """Adds to the open step."""
        self._counter._add_amounts(added.keys, added.totals, self._job.grid_steps, added.new)

    def close(self, until: int) -> Iterator[pd.DataFrame]:
        """Takes every step before `until` and hands out the releases of the keys that have appeared, some
        steps at a time.
        """
        rows: list[tuple[Any, ...]] = []
        while (step := self.next_step) < until:
            for found in self._counter.close_step():
                release = found.release
                rows.append((step, found.key, release.value, release.standard_error, *release.interval(LEVEL)))
            if len(rows) >= CELLS_AT_ONCE:
                yield self._table(rows)
                rows = []
        if rows:
            yield self._table(rows)

    def _table(self, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
        table = pd.DataFrame(rows, columns=["step", "key", *NUMBERS])
        table["start_micros"] = self._job.start_micros + table["step"] * self._job.every_micros
        # Adding zero turns a rounded -0 into 0, as `evertally count` does.
        table[NUMBERS] += 0.0
        return table[["step", "start_micros", "key", *NUMBERS]]


def named(rows: DataFrame) -> DataFrame:
    """The events that name a key which can be found."""
    return rows.where(F.col("key").isNotNull() & (F.octet_length("key") <= MAX_KEY_BYTES))


def release_shards(
    totals: DataFrame, job: Job, until: int, shards: int, schema: str, key: Optional[NoiseKey]
) -> tuple[DataFrame, DataFrame]:
    """The releases of all keys that are found, and Spark's cache of the totals, which have the columns
    (shard, step, key, total, new).
    """
    kept = sorted_rows(totals, shards).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        recorded = RecordedDigests.collected(
            kept.mapInPandas(_digests(job, until), "shard bigint, steps binary, words binary")
        )
        if key is not None:
            recorded.admit(key, job.discovery.persons, until)
    except BaseException:
        kept.unpersist()
        raise
    return kept.mapInPandas(_releases(job, until, recorded), schema), kept


def _digests(job: Job, until: int) -> Mapper:
    """The digests of all totals, after a check that each shard fits in memory."""

    def digests(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for number, parts in by_shard(batches):
            persons: dict[str, int] = {}
            for added in steps_of(parts, until):
                for key, new in zip(added.keys, added.new.tolist()):
                    persons[key] = persons.get(key, 0) + new
                steps, words = added.digest(job)
                yield pd.DataFrame({"shard": [number], "steps": [steps.tobytes()], "words": [words.tobytes()]})
            counter = DiscoveringCounter(job.discovery, job.secret.key())
            counter._check_room(list(persons), list(persons.values()))

    return digests


def _releases(job: Job, until: int, recorded: RecordedDigests) -> Mapper:
    def releases(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for number, parts in by_shard(batches):
            shard = FoundShard(job)
            checked = 0
            for added in steps_of(parts, until):
                # Before anything of the step is released, and of the steps without totals before it.
                recorded.check(number, checked, added.step + 1, added.digest(job))
                checked = added.step + 1
                yield from shard.close(added.step)
                shard.add(added)
            nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.uint64)
            recorded.check(number, checked, until, nothing)
            yield from shard.close(until)

    return releases


def steps_of(parts: Iterator[pd.DataFrame], until: int) -> Iterator[Added]:
    """What was added in each step that has anything, in order, from rows that are in the order of steps."""
    left: Optional[pd.DataFrame] = None
    for part in parts:
        rows = part if left is None else pd.concat([left, part], ignore_index=True)
        # The last step may continue in the next part.
        last = rows["step"].iloc[-1]
        yield from _complete(rows[rows["step"] < last], until)
        left = rows[rows["step"] == last]
    if left is not None:
        yield from _complete(left, until)


def _complete(rows: pd.DataFrame, until: int) -> Iterator[Added]:
    for step, added in rows[rows["step"] < until].groupby("step", sort=True):
        sums = added_up(added, ["key"], has_new=True)
        # The columns of a sum are no arrays of their own.
        totals, new = (np.ascontiguousarray(sums[name], dtype=np.int64) for name in ("total", "new"))
        yield Added(int(step), sums["key"].tolist(), totals, new)
