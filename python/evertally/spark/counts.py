"""``private_counts``: what its arguments mean, and which parts of Spark they become."""

import hashlib
import json
import os
import pickle
from dataclasses import replace
from time import time_ns
from typing import Any, Optional, Union

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from evertally import BadParameter, Discovery, NoiseKey, Plan
from evertally._native import _GRID, _OTHER, _definition
from evertally.spark import backfill, events, found
from evertally.spark.arguments import (
    WATERMARK,
    Keys,
    Moment,
    check_classic,
    check_columns,
    check_discovery,
    check_distinct,
    check_plan,
    check_stream,
    check_unnamed,
    checked_range,
    read_interval,
    read_length,
    read_micros,
    read_ticks,
)
from evertally.spark.events import Columns, Ticks
from evertally.spark.persons import counted_schema
from evertally.spark.record import forget_with, metadata_of
from evertally.spark.secret import recorded_key, secret_of
from evertally.spark.shards import Job
from evertally.spark.streaming import FoundShards, KeyShards, PersonShards

KEYS_PER_SHARD = 1 << 14
MIN_KEYS_PER_SHARD = 1 << 8
PERSON_SHARDS_PER_PARTITION = 8

NUMBERS = ["estimate", "standard_error", "lower", "upper"]

# The version of the state of a checkpoint, and of the hash that assigns keys to shards.
LAYOUT = 2


def private_counts(
    df: DataFrame,
    *,
    time: str,
    every: str,
    start: Moment,
    plan: Union[Plan, Discovery],
    noise_key: Union[NoiseKey, str, "os.PathLike[str]"],
    key: Optional[str] = None,
    keys: Optional[Keys] = None,
    person: Optional[str] = None,
    distinct: Optional[str] = None,
    unnamed: str = "drop",
    id: Optional[str] = None,
    value: Optional[str] = None,
    delay: Optional[str] = None,
    ahead: Optional[str] = "1 minute",
    until: Optional[Moment] = None,
    shards: Optional[int] = None,
) -> DataFrame:
    """Private running totals of a streaming or finished table of events, as a table of releases.

    The columns are ``step, start, key, estimate, standard_error, lower, upper``, with an interval
    of 95 %. The releases do not depend on the number of partitions, executors and batches. Those of
    a finished table are, bit for bit, those of `evertally count` on the
    same events with the same choices and key.

    df: the events. A streaming table gives a streaming table, which is written in append mode. A
        finished table is released at once.
    time: the column of type timestamp with the time of an event.
    every: the length of a step: "1 minute", "15m", "1 hour", "1d", "1 week".
    start: the start of the first step, in UTC unless it has a zone: a datetime, or a text in any form
        that `evertally count` takes. It is declared, because the time of the first event is private.
    plan: the horizon, the budget, who is protected, and what is counted: one total, declared keys,
        or keys that are declared here (`open_keys=True`). A plan by `evertally.discover` is for keys
        that nobody declared: a key has rows from the step in which it appears, and events without a
        key, or with one of more than 4,096 bytes, do not count. It needs `key` and `person`.
    noise_key: the path of a key file that the driver and every executor can read, or a NoiseKey.
        Its uses are recorded next to the file (see `NoiseKey`). The same finished table has the
        same releases again; another table under the same choices raises `KeyReused`. So does a
        streaming query under a second checkpoint, if its sink is `ReleaseFiles`. If the driver
        cannot see the file, nothing is refused.
    key, keys: the column to count by, and the declared keys if the plan has open keys: a list, or a
        table with one column. An event of another key counts as `other` if the list or plan has
        this key, and is left out otherwise.
    person: the column with the person of an event. It protects persons instead of events: a person
        counts with one event per step, in at most max_steps steps of the plan, at least min_gap
        apart. The plan must be made with max_steps.
    distinct: the column with the person of an event, to count different persons: each counts once, in
        the step of their first event. The plan is made with max_steps=1, or with keys_per_person for
        persons who count once in each of several keys.
    unnamed: what to do with an event whose person is null, blank or not UTF-8. It could belong to
        anyone, so no person's bound covers it: "drop" leaves it out, and "refuse" stops the query;
        a stream cannot get past such an event. Needs `person`. `UnnamedRowsNotPrivate` counts the
        events that a stream leaves out.
    id: the column that identifies an event. Copies count once (copies of one person, with
        `person`). A streaming table compares the ids of one step only, and none with `person`.
    value: the column to sum, with each value clamped to the plan's contribution. Defaults to None,
        which counts events.
    delay: how late events may be, as in `withWatermark`. Required for a streaming table without a
        watermark. A step is closed when the latest event is this long past its end; events that
        come later are dropped.
    ahead: events that are further ahead of the clock of their batch are left out, so that no event
        can move time forward. None trusts all times. Not applied to a table with its own watermark,
        which its events have already moved.
    until: for a finished table, release the steps that end by this time. Defaults to all steps.
        Steps that are not over cannot be released: more of their events may come, and their noise
        serves only once.
    shards: the number of parts into which keys are divided. A checkpoint is tied to it.

    For a finished table, this call counts the events and compares the totals with the record. Spark
    caches the totals while the result is in use. Different choices have independent noise under one
    key, and each spends its own budget. A streaming table is a different count from a finished one,
    because it drops late events.

    Values that are not numbers and events without a time do not count. Keys, persons and ids are
    trimmed of whitespace. In a stream with ids and without persons, events with an id that is
    missing, blank or not UTF-8 do not count either. Spark's web interface and progress reports show
    true counts: guard them like the data. For a streaming table the session's state store is set to
    RocksDB, which Spark's operator requires.
    """
    session = df.sparkSession
    check_classic(session)
    if distinct is not None:
        check_distinct(distinct, plan, person, value, id)
        person = distinct
    columns = Columns(time=time, value=value, key=key, person=person, id=id)
    check_columns(df, columns)
    check_unnamed(unnamed, columns)
    if isinstance(plan, Discovery):
        check_discovery(plan, columns, keys)
        steps_plan, declared, names = plan.totals, None, None
    else:
        check_plan(plan, columns, keys, is_distinct=distinct is not None)
        steps_plan, (declared, names) = plan, _declared(session, plan, keys)
        if plan.keys_per_person > 1 and names is None:
            raise BadParameter("keys must be a list, not a table, if a person counts in several of them")
    clamp = checked_range(plan, columns)
    ticks = read_ticks(steps_plan, read_micros("start", start), read_length(every))
    width, digest = _measured(declared, names)
    # Nothing that is chosen here depends on keys that are found.
    shards = _shards(session, shards, None if isinstance(plan, Discovery) else width)

    # Done before time moves: an event without a person must not close a step.
    rows = events.named(events.chosen(df, columns), refuse=unnamed == "refuse")
    closing = None
    if df.isStreaming:
        check_stream(session, rows, delay, until)
        delay_micros, ahead_micros = read_interval("delay", delay), read_interval("ahead", ahead)
        rows = events.watermarked(rows, delay_micros, ahead_micros)
        late_micros = int(rows.schema["time"].metadata[WATERMARK]) * 1000
        # Nothing bounds how far ahead the events of a table with its own watermark may be.
        closing = late_micros, None if delay is None else ahead_micros
    # Two counts that could differ have independent noise.
    definition = _definition(
        (time, value, key, person, id),
        (ticks.start_micros, ticks.every_micros),
        closing,
        clamp=clamp if value is not None else None,
        bound=(plan.max_steps, plan.min_gap) if person is not None else None,
        within_step=closing is not None,
        keys_per_person=1 if isinstance(plan, Discovery) else plan.keys_per_person,
    )
    pattern: Union[Plan, Discovery]
    if isinstance(plan, Discovery):
        pattern = plan._with_definition(definition)
        recorded_plan = pattern.persons
    else:
        plan = (plan if keys is None or names is None else plan.with_keys(names))._with_definition(definition)
        # Any key can be the pattern for the plans of shards.
        pattern = plan if declared is None else plan._part([_OTHER])
        recorded_plan = plan
    identity = "|".join(map(str, ("", LAYOUT, shards, _partitions(session), digest, names is not None)))
    job = Job(
        plan_pickled=pickle.dumps(pattern),
        is_keyed=key is not None,
        secret=secret_of(session.sparkContext, noise_key),
        start_micros=ticks.start_micros,
        every_micros=ticks.every_micros,
        grid_steps=_GRID if value is None else 1,
        identity=pattern.fingerprint + identity.encode(),
    )
    recorded = recorded_key(noise_key)
    if not df.isStreaming:
        ticks = replace(ticks, steps=_steps_until(steps_plan, ticks, until))
    rows = events.counted(rows, ticks, clamp)
    if isinstance(plan, Discovery):
        rows = found.named(rows)
    totals = _totals(rows, columns, ticks, job, names, df.isStreaming)
    totals = events.in_shards(totals, "key" if job.is_keyed else None, shards)
    released, kept = _released(totals, declared, ticks, job, shards, recorded, df.isStreaming)
    metadata = metadata_of(recorded, recorded_plan) if df.isStreaming else {}
    return _as_releases(released, job, metadata, kept)


def _released(
    totals: DataFrame,
    declared: Optional[DataFrame],
    ticks: Ticks,
    job: Job,
    shards: int,
    recorded: Optional[NoiseKey],
    is_streaming: bool,
) -> tuple[DataFrame, Optional[DataFrame]]:
    """The releases of all shards of keys, and Spark's cache of the totals of a finished table, if
    there is one.
    """
    schema = f"step bigint, start_micros bigint, {'key string, ' if job.is_keyed else ''}" + ", ".join(
        f"{name} double" for name in NUMBERS
    )
    if job.finds_keys and is_streaming:
        shard = totals.groupBy("shard")
        return shard.transformWithStateInPandas(FoundShards(job), schema, "append", "eventTime"), None
    if job.finds_keys:
        return found.release_shards(totals, job, ticks.steps, shards, schema, recorded)
    initial = _initial(totals.sparkSession, declared, shards)
    if is_streaming:
        released = totals.groupBy("shard").transformWithStateInPandas(
            KeyShards(job), schema, "append", "eventTime", initialState=initial.groupBy("shard")
        )
        return released, None
    return backfill.release_shards(totals, initial, job, ticks.steps, shards, schema, recorded)


def _as_releases(released: DataFrame, job: Job, metadata: dict[str, Any], kept: Optional[DataFrame]) -> DataFrame:
    """The columns of releases. Spark forgets its cache of totals together with them."""
    start_time = F.timestamp_micros("start_micros").alias("start", metadata=metadata)
    named = ["key"] if job.is_keyed else []
    marked = [F.col(name).alias(name, metadata=metadata) for name in [*named, *NUMBERS]]
    released = released.select(F.col("step").alias("step", metadata=metadata), start_time, *marked)
    if kept is not None:
        forget_with(released, kept)
    return released


def _totals(
    rows: DataFrame, columns: Columns, ticks: Ticks, job: Job, names: Optional[list[str]], is_streaming: bool
) -> DataFrame:
    """The totals of each (step, key). Keys are looked up in the list after it is decided which
    events count.
    """
    if job.counts_in_several_keys:
        # An event of an undeclared key counts for `other`, if only to take one of the keys of its person.
        rows = events.declared_only(rows, sorted({*(names or []), _OTHER}))
        rows = events.first_of_each(rows, ["person", "key"], ticks)
        names = None
    elif columns.person is not None:
        # A stream compares no ids: it would have to remember those of every person.
        has_ids = columns.id is not None and not is_streaming
        rows = events.first_of_each(rows, ["person", "id"] if has_ids else ["person"], ticks)
        rows = rows if has_ids else rows.drop("time", "id")
    elif columns.id is not None and is_streaming:
        rows = events.first_of_each(rows, ["id"], ticks).drop("time")
    elif columns.id is not None:
        rows = events.first_of_each_id(rows)
    if names is not None:
        rows = events.declared_only(rows, names)
    if columns.person is None:
        return events.totals(rows, ticks, counts=columns.value is None)
    first = events.with_step(rows, ticks)
    shards = PERSON_SHARDS_PER_PARTITION * _partitions(rows.sparkSession)
    first = events.in_shards(first.withColumnRenamed("amount", "total"), "person", shards)
    if not is_streaming:
        return backfill.admit_persons(first, job, shards)
    chosen = ["shard", "step", "person", *(["key"] if job.is_keyed else []), "total", "closed"]
    schema = f"{counted_schema(job)}, closed timestamp"
    if job.counts_in_several_keys:
        # As a number, because Spark allows one column with a watermark.
        first, chosen = first.withColumn("time", F.unix_micros("time")), [*chosen, "time"]
    return first.select(*chosen).groupBy("shard").transformWithStateInPandas(
        PersonShards(job), schema, "append", "eventTime", eventTimeColumnName="closed"
    )


def _declared(
    session: SparkSession, plan: Plan, keys: Optional[Keys]
) -> tuple[Optional[DataFrame], Optional[list[str]]]:
    """The declared keys as a table, and as a list if they were not given as a table."""
    if isinstance(keys, DataFrame):
        if (
            keys.isStreaming
            or len(keys.columns) != 1
            or not isinstance(keys.schema[0].dataType, (T.StringType, T.IntegralType))
        ):
            got = f"{'a streaming one of ' if keys.isStreaming else ''}{keys.schema.simpleString()}"
            raise BadParameter(
                f"keys must be a finished table of one column of strings or integers, got {got}"
            )
        named = keys.toDF("key").select(events.as_name(F.col("key")).alias("key"))
        return named.where("key is not null").distinct(), None
    names = list(keys) if keys is not None else plan.keys
    if names is None:
        return None, None
    # The plan checks the keys.
    names = plan._part(names).keys or []
    if any(not name or name != name.strip(events.WHITESPACE) for name in names):
        raise BadParameter(
            "keys must be names without whitespace at their ends, which is trimmed from the keys of events"
        )
    return session.createDataFrame([(name,) for name in names], "key string"), names


def _measured(declared: Optional[DataFrame], names: Optional[list[str]]) -> tuple[int, str]:
    """The number of declared keys, and the text by which a checkpoint recognises them."""
    if declared is None:
        return 1, ""
    if names is not None:
        return len(names), hashlib.blake2b(json.dumps(sorted(names)).encode(), digest_size=16).hexdigest()
    hashes = [F.bit_xor(F.xxhash64(F.lit(seed), "key")) for seed in (1, 2)]
    row = declared.agg(F.count("key"), *hashes).first()
    assert row is not None
    if row[0] == 0:
        raise BadParameter("keys must be at least one, got a table without any")
    return row[0], "|".join(map(str, row))


def _initial(session: SparkSession, declared: Optional[DataFrame], shards: int) -> DataFrame:
    """The initial rows of shards: one row for each shard, and their keys."""
    there = events.all_shards(session, shards)
    if declared is None:
        return there
    keys = events.in_shards(declared, "key", shards).select("shard", "key")
    return there.withColumn("key", F.lit(None).cast("string")).unionByName(keys)


def _shards(session: SparkSession, asked: Optional[int], width: Optional[int]) -> int:
    """The number of shards. Without a number of keys, because they are found, one for each partition."""
    if asked is not None and asked < 1:
        raise BadParameter(f"shards must be at least 1, got {asked}")
    if width is None:
        return asked or _partitions(session)
    if width == 1:
        return 1
    # A multiple of the number of partitions, unless shards would then hold very few keys.
    partitions = _partitions(session)
    return asked or min(
        partitions * -(-width // (KEYS_PER_SHARD * partitions)), max(1, width // MIN_KEYS_PER_SHARD)
    )


def _partitions(session: SparkSession) -> int:
    return int(session.conf.get("spark.sql.shuffle.partitions") or 1)


def _steps_until(plan: Plan, ticks: Ticks, until: Optional[Moment]) -> int:
    if until is None and plan.is_unbounded:
        raise BadParameter("until must be given for a finished table under an unbounded plan, got nothing")
    ended = ticks.steps
    if until is not None:
        ended = min(ended, (read_micros("until", until) - ticks.start_micros) // ticks.every_micros)
    if ended < 0:
        raise BadParameter("until must not be before start")
    now = time_ns() // 1000
    if ticks.start_micros + ended * ticks.every_micros > now:
        raise BadParameter(
            "until must be given if the plan's last step is not over yet, and must not be in the "
            "future: steps that are not over cannot be released"
        )
    return ended
