"""Keys that nobody declared, found in a finished table.

**Definition.** The events of persons are decided in shards of persons, by the same ``Admission`` as
everywhere, which also says where a person is new. Their amounts and new persons are then rows of
shards of keys, and a ``DiscoveringCounter`` takes every step of each shard.

**Guarantee.** The releases are, bit for bit, those of `evertally count --discover` for the same
definition of the count: the noise of a key is a function of its name, and thresholds are public. A
key below its threshold is in no row that is released. The number of shards, and so of partitions, is
chosen without looking at keys. All totals are digested and recorded, and the memory of every shard is
checked, before the first release.

**Cost.** A task holds all keys of one shard, at 51 bytes for each that is below the floor, and their
names while the memory is checked. Keys that are not found go through Spark's shuffles like all rows:
guard its files and its web interface like the data.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evertally import Admission, BadParameter, DiscoveringCounter, NoiseKey
from evertally._native import _CellDigests
from evertally.spark.backfill import by_shard, sorted_rows
from evertally.spark.record import RecordedDigests
from evertally.spark.shards import CELLS_AT_ONCE, LEVEL, MAX_TOTAL, TOO_LARGE, Integers, Job

Mapper = Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]

# The longest name of a key that a counter takes, in bytes.
MAX_KEY_BYTES = 4096

# The names of a key's two lanes in a digest begin with the role of the lane.
AMOUNT, PERSONS = "a", "p"


@dataclass(frozen=True, repr=False)
class Added:
    """What was added to the keys of a shard in one step. It shows nothing of itself: it is private."""

    step: int
    keys: list[str]
    totals: Integers
    new: Integers

    def digest(self, job: Job) -> npt.NDArray[np.uint64]:
        """A pair of words. Those of all shards add up to the digest of the step."""
        names = [role + key for role in (AMOUNT, PERSONS) for key in self.keys]
        cells = np.concatenate([self.totals, self.new]).reshape(1, -1)
        return _CellDigests(job.secret.key(), names).digest(cells)


def named(rows: DataFrame) -> DataFrame:
    """The events that name a key which can be found."""
    return rows.where(F.col("key").isNotNull() & (F.octet_length("key") <= MAX_KEY_BYTES))


def release_keys(
    first: DataFrame,
    job: Job,
    until: int,
    person_shards: int,
    shards: int,
    in_shards: Callable[[DataFrame], DataFrame],
    schema: str,
    key: Optional[NoiseKey],
) -> tuple[DataFrame, DataFrame]:
    """The releases of all keys that are found, and Spark's cache of the totals. `first` has the columns
    (shard, step, person, key, total), and (time, id) if ids are compared. `in_shards` adds the shard of
    a key.
    """
    order = ["time", "id"] if "id" in first.columns else []
    chosen = first.select("shard", "step", "person", "key", "total", *order)
    arrived = sorted_rows(chosen, person_shards, *order).mapInPandas(
        _arrivals(job), "step bigint, key string, total bigint, new bigint"
    )
    kept = sorted_rows(in_shards(arrived), shards).persist(StorageLevel.MEMORY_AND_DISK)
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


def _arrivals(job: Job) -> Mapper:
    """What counts and who is new, by step and key, of each shard of persons."""

    def arrivals(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for _, parts in by_shard(batches):
            admission = Admission(job.discovery, job.secret.key())
            for part in parts:
                ids = part["id"] if "id" in part.columns else None
                counts, new = admission.admit(part["person"], part["step"].to_numpy(np.int64), part["key"], ids)
                counted = part.assign(new=new.astype(np.int64))[counts]
                yield _added_up(counted, ["step", "key"])

    return arrivals


def _added_up(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """The sums of totals and of new persons. An overflow of integers would not be visible."""
    if len(rows) and len(rows) * int(rows["total"].abs().max()) >= MAX_TOTAL:
        magnitudes = rows["total"].abs().astype(np.float64)
        if magnitudes.groupby([rows[name] for name in by]).sum().max() >= MAX_TOTAL:
            raise BadParameter(TOO_LARGE)
    return rows.groupby(by, as_index=False, sort=False)[["total", "new"]].sum()


def _digests(job: Job, until: int) -> Mapper:
    """The digests of all totals, after a check that each shard fits in memory."""

    def digests(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for number, parts in by_shard(batches):
            persons: dict[str, int] = {}
            for added in _steps(parts, until):
                for key, new in zip(added.keys, added.new.tolist()):
                    persons[key] = persons.get(key, 0) + new
                words = added.digest(job)
                steps = np.array([added.step], dtype=np.int64)
                yield pd.DataFrame({"shard": [number], "steps": [steps.tobytes()], "words": [words.tobytes()]})
            counter = DiscoveringCounter(job.discovery, job.secret.key())
            counter._check_room(list(persons), list(persons.values()))

    return digests


def _releases(job: Job, until: int, recorded: RecordedDigests) -> Mapper:
    def releases(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for number, parts in by_shard(batches):
            counter = DiscoveringCounter(job.discovery, job.secret.key())
            checked = 0
            for added in _steps(parts, until):
                # Before anything of the step is released, and of the steps without totals before it.
                found = np.array([added.step], dtype=np.int64), added.digest(job).reshape(1, 2)
                recorded.check(number, checked, added.step + 1, found)
                checked = added.step + 1
                yield from _closed(job, counter, added.step)
                counter._add_amounts(added.keys, added.totals, job.grid_steps, added.new)
            nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.uint64)
            recorded.check(number, checked, until, nothing)
            yield from _closed(job, counter, until)

    return releases


def _closed(job: Job, counter: DiscoveringCounter, until: int) -> Iterator[pd.DataFrame]:
    """The releases of the steps before a step, some at a time."""
    rows: list[tuple[Any, ...]] = []
    while (step := counter.steps_closed) < until:
        for found in counter.close_step():
            release = found.release
            rows.append((step, found.key, release.value, release.standard_error, *release.interval(LEVEL)))
        if len(rows) >= CELLS_AT_ONCE:
            yield _table(job, rows)
            rows = []
    if rows:
        yield _table(job, rows)


def _table(job: Job, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    numbers = ["estimate", "standard_error", "lower", "upper"]
    table = pd.DataFrame(rows, columns=["step", "key", *numbers])
    table["step"] = table["step"].astype(np.int64)
    table["start_micros"] = job.start_micros + table["step"] * job.every_micros
    # Adding zero turns a rounded -0 into 0, as `evertally count` does.
    table[numbers] = table[numbers].astype(np.float64) + 0.0
    return table[["step", "start_micros", "key", *numbers]]


def _steps(parts: Iterator[pd.DataFrame], until: int) -> Iterator[Added]:
    """What was added in each step that has anything, in order."""
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
        sums = _added_up(added, ["key"])
        yield Added(
            int(step), sums["key"].tolist(), sums["total"].to_numpy(np.int64), sums["new"].to_numpy(np.int64)
        )
