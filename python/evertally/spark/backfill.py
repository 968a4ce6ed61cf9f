"""The releases of a finished table.

**Definition.** The totals are those of a streaming query. Rows are then sorted by shard and step,
and each task takes the steps of its shards in order.

**Guarantee.** The releases are, bit for bit, those of `evertally count` for the same definition of
the count. A task that is run again releases the same. If the noise key has a record, all totals are
digested and recorded before the first release, and tasks release no other totals
(:mod:`~evertally.spark.record`).

**Cost.** A task holds one shard at a time, and the totals of some of its steps.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Optional

import pandas as pd
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evertally import NoiseKey
from evertally.spark.persons import admitted, counted_schema, participants
from evertally.spark.record import Digester, RecordedDigests
from evertally.spark.shards import Check, Job, ShardKeys, Shard, Integers, columns

Mapper = Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]

# A declared key comes before the totals of its shard, in a step before the first.
DECLARED = -1


def release_shards(
    totals: DataFrame,
    declared: DataFrame,
    job: Job,
    until: int,
    shards: int,
    schema: str,
    key: Optional[NoiseKey],
) -> tuple[DataFrame, Optional[DataFrame]]:
    """The releases of all shards. `totals` has the columns (shard, step, key, total), `declared`
    has (shard, key). If the key has a record, the totals are recorded, and the second table is
    Spark's cache of them.
    """
    keys = declared.select(
        "shard",
        F.lit(DECLARED).cast("bigint").alias("step"),
        *_key(job),
        F.lit(0).cast("bigint").alias("total"),
    )
    rows = sorted_rows(totals.select("shard", "step", *_key(job), "total").unionByName(keys), shards)
    if key is None:
        return rows.mapInPandas(_releases(job, until, None), schema), None
    kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        recorded = RecordedDigests.collected(
            kept.mapInPandas(_digests(job, until), "shard bigint, steps binary, words binary")
        )
        recorded.admit(key, job.plan, until)
    except BaseException:
        kept.unpersist()
        raise
    return kept.mapInPandas(_releases(job, until, recorded), schema), kept


def admit_persons(first: DataFrame, job: Job, shards: int) -> DataFrame:
    """The totals of the events that count. `first` has the columns (shard, step, person, key,
    total), (time, id) if ids are compared, and (time) if a person counts in several keys.
    """
    kept = [name for name in ("time", "id") if name in first.columns]
    rows = first.select("shard", "step", "person", *_key(job), "total", *kept)
    # A step may be cut into several parts, between which the order of `admitted` does not reach.
    order = [*kept, *(["key"] if job.counts_in_several_keys else [])]
    return sorted_rows(rows, shards, *order).mapInPandas(_admitted(job), counted_schema(job))


def _key(job: Job) -> list[str]:
    return ["key"] if job.is_keyed else []


def sorted_rows(rows: DataFrame, shards: int, *order: str) -> DataFrame:
    """The rows of each shard together, by step."""
    return rows.repartition(shards, "shard").sortWithinPartitions("shard", "step", *order)


def _releases(job: Job, until: int, recorded: Optional[RecordedDigests]) -> Mapper:
    def releases(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for number, parts in by_shard(batches):
            shard: Optional[Shard] = None
            check: Optional[Check] = None
            for names, ended, rows in _closed(job, parts, until):
                if shard is None:
                    shard = Shard(job, names)
                    check = None if recorded is None else _checks(job, names, recorded, number)
                yield from shard.close(ended, *columns(rows, job.is_keyed), check)

    return releases


def _digests(job: Job, until: int) -> Mapper:
    def digests(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for number, parts in by_shard(batches):
            digester: Optional[Digester] = None
            next_step = 0
            for names, ended, rows in _closed(job, parts, until):
                if digester is None:
                    digester, keys = Digester(job, names), ShardKeys(names)
                for first, cells in keys.cells(next_step, ended, *columns(rows, job.is_keyed)):
                    steps, words = digester.digest(first, cells)
                    yield pd.DataFrame(
                        {"shard": [number], "steps": [steps.tobytes()], "words": [words.tobytes()]}
                    )
                next_step = ended

    return digests


def _checks(job: Job, names: Optional[list[str]], recorded: RecordedDigests, number: int) -> Check:
    digester = Digester(job, names)

    def check(first: int, cells: Integers) -> None:
        recorded.check(number, first, first + len(cells), digester.digest(first, cells))

    return check


def _closed(
    job: Job, parts: Iterator[pd.DataFrame], until: int
) -> Iterator[tuple[Optional[list[str]], int, Optional[pd.DataFrame]]]:
    """The names of a shard's keys, the step before which all totals are complete, and the totals
    that were not yet handed out. Nothing for a shard without declared keys.
    """
    names: list[str] = []
    open_step: Optional[pd.DataFrame] = None
    for part in parts:
        heads = part["step"] == DECLARED
        if job.is_keyed:
            names.extend(part.loc[heads, "key"].dropna())
        rows = part[~heads]
        if not len(rows) or (job.is_keyed and not names):
            continue
        rows = rows if open_step is None else pd.concat([open_step, rows], ignore_index=True)
        # The last step may continue in the next part.
        last = int(rows["step"].iloc[-1])
        yield _ordered(job, names), last, rows[rows["step"] < last]
        open_step = rows[rows["step"] == last]
    # A shard without declared keys has nothing to release.
    if names or not job.is_keyed:
        yield _ordered(job, names), until, open_step


def _ordered(job: Job, names: list[str]) -> Optional[list[str]]:
    return sorted(names) if job.is_keyed else None


def _admitted(job: Job) -> Mapper:
    def totals(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for _, parts in by_shard(batches):
            persons = participants(job, None)
            for part in parts:
                yield admitted(job, persons, part)

    return totals


def by_shard(batches: Iterator[pd.DataFrame]) -> Iterator[tuple[int, Iterator[pd.DataFrame]]]:
    """The name of each shard with its parts, from rows that are sorted by shard."""
    parts = ((shard, part) for rows in batches for shard, part in rows.groupby("shard", sort=True))
    for shard, run in itertools.groupby(parts, key=lambda found: found[0]):
        yield int(shard), (part for _, part in run)
