"""The releases of a table that is finished.

**Definition.** The same totals as in a query that goes on; rows are then sorted by shard and step, and each task takes the steps of its shards in their order.

**Guarantee.** The releases are those of a streaming query that has seen the same events and dropped none of them, to the bit. A task that is tried again releases the same.

**Cost.** A task holds one shard at a time, and the totals of some of its steps.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Optional

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evertally.spark.persons import admitted, participants
from evertally.spark.shards import Job, Shard, columns

Mapper = Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]

# A declared key stands before the totals of its shard, in a step before the first.
DECLARED = -1


def release_shards(totals: DataFrame, declared: DataFrame, job: Job, until: int, shards: int, schema: str) -> DataFrame:
    """The releases of all shards: `totals` are (shard, step, key, total), `declared` is (shard, key)."""
    keys = declared.select("shard", F.lit(DECLARED).cast("bigint").alias("step"), *_key(job), F.lit(0).cast("bigint").alias("total"))
    rows = totals.select("shard", "step", *_key(job), "total").unionByName(keys)
    return _sorted(rows, shards).mapInPandas(_releases(job, until), schema)


def admit_persons(first: DataFrame, job: Job, shards: int, schema: str) -> DataFrame:
    """The totals of those events that count: `first` is (shard, step, person, key, total)."""
    rows = first.select("shard", "step", "person", *_key(job), "total")
    return _sorted(rows, shards).mapInPandas(_admitted(job), schema)


def _key(job: Job) -> list[str]:
    return ["key"] if job.is_keyed else []


def _sorted(rows: DataFrame, shards: int) -> DataFrame:
    return rows.repartition(shards, "shard").sortWithinPartitions("shard", "step")


def _releases(job: Job, until: int) -> Mapper:
    def releases(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for parts in _by_shard(batches):
            names: list[str] = []
            shard: Optional[Shard] = None
            open_step: Optional[pd.DataFrame] = None
            for part in parts:
                heads = part["step"] == DECLARED
                if job.is_keyed:
                    names.extend(part.loc[heads, "key"].dropna())
                rows = part[~heads]
                if not len(rows) or (job.is_keyed and not names):
                    continue
                shard = shard or _new(job, names)
                rows = rows if open_step is None else pd.concat([open_step, rows], ignore_index=True)
                # The last step may go on in the next part.
                last = int(rows["step"].iloc[-1])
                yield from shard.close(last, *columns(rows[rows["step"] < last], job.is_keyed))
                open_step = rows[rows["step"] == last]
            # A shard into which no declared key falls has nothing to release.
            if names or not job.is_keyed:
                yield from (shard or _new(job, names)).close(until, *columns(open_step, job.is_keyed))

    return releases


def _new(job: Job, names: list[str]) -> Shard:
    return Shard.new(job, sorted(names) if job.is_keyed else None)


def _admitted(job: Job) -> Mapper:
    def totals(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for parts in _by_shard(batches):
            persons = participants(job, None)
            for part in parts:
                yield admitted(job, persons, part)

    return totals


def _by_shard(batches: Iterator[pd.DataFrame]) -> Iterator[Iterator[pd.DataFrame]]:
    """The parts of each shard in turn, of rows that are sorted by shard."""
    parts = ((shard, part) for rows in batches for shard, part in rows.groupby("shard", sort=True))
    for _, run in itertools.groupby(parts, key=lambda found: found[0]):
        yield (part for _, part in run)
