"""The arguments of ``private_counts``: their checks and their meaning."""

import datetime
import hashlib
import json
import os
import pickle
from collections.abc import Sequence
from dataclasses import replace
from time import time_ns
from typing import Any, Optional, Union

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from evertally import BadParameter, Discovery, NoiseKey, Plan, Unsupported
from evertally._native import _GRID, _OTHER, _bucket_micros, _definition, _interval_micros, _time_micros
from evertally.spark import backfill, events, found
from evertally.spark.events import Columns, Ticks
from evertally.spark.record import forget_with, metadata_of
from evertally.spark.secret import recorded_key, secret_of
from evertally.spark.shards import Job
from evertally.spark.streaming import KeyShards, PersonShards

# Values are counted on a grid of 2^-20 in 64 bits: the sum of two million values of the largest
# magnitude does not overflow.
MAX_CONTRIBUTION = 1 << 20
KEYS_PER_SHARD = 1 << 14
MIN_KEYS_PER_SHARD = 1 << 8
PERSON_SHARDS_PER_PARTITION = 8

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
WATERMARK = "spark.watermarkDelayMs"
NUMBERS = ["estimate", "standard_error", "lower", "upper"]

# The version of the state of a checkpoint, and of the hash that assigns keys to shards.
LAYOUT = 2

Moment = Union[str, datetime.datetime, datetime.date]
Keys = Union[Sequence[str], DataFrame]


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
        key, or with one of more than 4,096 bytes, do not count. It needs `key`, `person` and a finished
        table.
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
        persons who count once in each of several keys, which needs a finished table.
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
    _check_classic(session)
    if distinct is not None:
        _check_distinct(distinct, plan, person, value, id)
        person = distinct
    columns = Columns(time=time, value=value, key=key, person=person, id=id)
    _check_columns(df, columns)
    _check_unnamed(unnamed, columns)
    if isinstance(plan, Discovery):
        _check_discovery(df, plan, columns, keys)
        steps_plan, declared, names = plan.totals, None, None
    else:
        _check_plan(plan, columns, keys, is_distinct=distinct is not None)
        steps_plan, (declared, names) = plan, _declared(session, plan, keys)
        if plan.keys_per_person > 1:
            _check_several_keys(df, names)
    clamp = _checked_range(plan, columns)
    ticks = _ticks(steps_plan, _micros("start", start), _length(every))
    width, digest = _measured(declared, names)
    # Nothing that is chosen here depends on keys that are found.
    shards = _shards(session, shards, None if isinstance(plan, Discovery) else width)

    # Done before time moves: an event without a person must not close a step.
    rows = events.named(events.chosen(df, columns), refuse=unnamed == "refuse")
    closing = None
    if df.isStreaming:
        _check_stream(session, rows, delay, until)
        delay_micros, ahead_micros = _interval("delay", delay), _interval("ahead", ahead)
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
    else:
        plan = (plan if keys is None or names is None else plan.with_keys(names))._with_definition(definition)
        # Any key can be the pattern for the plans of shards.
        pattern = plan if declared is None else plan._part([_OTHER])
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
    schema = f"step bigint, start_micros bigint, {'key string, ' if job.is_keyed else ''}" + ", ".join(
        f"{name} double" for name in NUMBERS
    )
    if isinstance(plan, Discovery):
        return _found(rows, columns, ticks, job, shards, schema, recorded)
    totals = _totals(rows, columns, ticks, job, names, df.isStreaming)
    totals = events.in_shards(totals, "key" if job.is_keyed else None, shards)
    initial = _initial(session, declared, shards)
    kept = None
    if df.isStreaming:
        released = totals.groupBy("shard").transformWithStateInPandas(
            KeyShards(job), schema, "append", "eventTime", initialState=initial.groupBy("shard")
        )
    else:
        released, kept = backfill.release_shards(totals, initial, job, ticks.steps, shards, schema, recorded)
    return _as_releases(released, job, metadata_of(recorded, plan) if df.isStreaming else {}, kept)


def _as_releases(released: DataFrame, job: Job, metadata: dict[str, Any], kept: Optional[DataFrame]) -> DataFrame:
    """The columns of releases. Spark forgets its cache of totals together with them."""
    start_time = F.timestamp_micros("start_micros").alias("start", metadata=metadata)
    named = ["key"] if job.is_keyed else []
    marked = [F.col(name).alias(name, metadata=metadata) for name in [*named, *NUMBERS]]
    released = released.select(F.col("step").alias("step", metadata=metadata), start_time, *marked)
    if kept is not None:
        forget_with(released, kept)
    return released


def _found(
    rows: DataFrame, columns: Columns, ticks: Ticks, job: Job, shards: int, schema: str, recorded: Optional[NoiseKey]
) -> DataFrame:
    """The releases of keys that nobody declared."""
    rows = found.named(rows)
    first = events.first_of_each(rows, ["person", "id"] if columns.id is not None else ["person"], ticks)
    first = events.with_step(first, ticks).withColumnRenamed("amount", "total")
    person_shards = PERSON_SHARDS_PER_PARTITION * _partitions(rows.sparkSession)
    first = events.in_shards(first, "person", person_shards)
    released, kept = found.release_keys(
        first, job, ticks.steps, person_shards, shards, lambda keyed: events.in_shards(keyed, "key", shards), schema, recorded
    )
    return _as_releases(released, job, {}, kept)


def _totals(
    rows: DataFrame, columns: Columns, ticks: Ticks, job: Job, names: Optional[list[str]], is_streaming: bool
) -> DataFrame:
    """The totals of each (step, key). Keys are looked up in the list after it is decided which
    events count.
    """
    if columns.person is not None and job.plan.keys_per_person > 1:
        # An event of an undeclared key counts for `other`, if only to take one of the keys of its person.
        rows = events.declared_only(rows, [*(names or []), _OTHER])
        rows = events.first_of_each_key(rows, ticks)
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
    schema = f"step bigint, {'key string, ' if job.is_keyed else ''}total bigint"
    if not is_streaming:
        return backfill.admit_persons(first, job, shards, schema)
    chosen = ["shard", "step", "person", *(["key"] if job.is_keyed else []), "total", "closed"]
    return first.select(*chosen).groupBy("shard").transformWithStateInPandas(
        PersonShards(job), f"{schema}, closed timestamp", "append", "eventTime", eventTimeColumnName="closed"
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
        ended = min(ended, (_micros("until", until) - ticks.start_micros) // ticks.every_micros)
    if ended < 0:
        raise BadParameter("until must not be before start")
    now = time_ns() // 1000
    if ticks.start_micros + ended * ticks.every_micros > now:
        raise BadParameter(
            "until must be given if the plan's last step is not over yet, and must not be in the "
            "future: steps that are not over cannot be released"
        )
    return ended


def _check_classic(session: SparkSession) -> None:
    if not hasattr(session, "_jsparkSession"):
        raise Unsupported(
            "evertally.spark runs in a classic Spark session: Spark Connect hands no secret to executors"
        )


def _check_columns(df: DataFrame, columns: Columns) -> None:
    fields = {field.name: field.dataType for field in df.schema.fields}
    names = "of strings or integers", (T.StringType, T.IntegralType)
    kinds = {"time": ("of type timestamp", (T.TimestampType,)), "value": ("of numbers", (T.NumericType,))}
    for role, name in vars(columns).items():
        if name is None:
            continue
        if name not in fields:
            raise BadParameter(
                f"{role} must be a column of the table, which has {', '.join(fields)}; got {name!r}"
            )
        expected, types = kinds.get(role, names)
        if not isinstance(fields[name], types):
            raise BadParameter(
                f"{role} must be a column {expected}, got {name!r} of type {fields[name].simpleString()}"
            )


def _check_unnamed(unnamed: str, columns: Columns) -> None:
    if unnamed not in ("drop", "refuse"):
        raise BadParameter(f'unnamed must be "drop" or "refuse", got {unnamed!r}')
    if unnamed == "refuse" and columns.person is None:
        raise BadParameter('unnamed="refuse" needs person: without it no event has to name one')


def _check_distinct(
    distinct: str, plan: Union[Plan, Discovery], person: Optional[str], value: Optional[str], id: Optional[str]
) -> None:
    given = {"person": person, "value": value, "id": id}
    for name, column in given.items():
        if column is not None:
            raise BadParameter(f"{name} must be left out with distinct: each person counts as one, once")
    if isinstance(plan, Discovery):
        raise BadParameter("distinct must be left out with a discovery, which counts the events of keys")
    if plan.unit != "person" or plan.max_steps != 1:
        raise BadParameter(
            "plan must be made with max_steps=1 for distinct, or with keys_per_person: each person counts once"
        )


def _check_discovery(df: DataFrame, plan: Discovery, columns: Columns, keys: Optional[Keys]) -> None:
    if columns.key is None:
        raise BadParameter("key must name a column if the plan is a discovery")
    if keys is not None:
        raise BadParameter("keys must be left out if the plan is a discovery: keys are found, and none are declared")
    if columns.person is None:
        raise BadParameter("person must name a column if the plan is a discovery: a key appears once enough persons hold it")
    if plan.keys_per_step > 1:
        raise BadParameter("plan must be a discovery with keys_per_step=1: a person counts with one event per step")
    if df.isStreaming:
        raise Unsupported(
            "keys are found in finished tables only: a streaming query cannot yet keep the counts of keys that have "
            "not appeared. Use evertally.DiscoveringCounter with evertally.Admission, or count finished tables"
        )


def _check_several_keys(df: DataFrame, names: Optional[list[str]]) -> None:
    if df.isStreaming:
        raise Unsupported(
            "persons who count in several keys are for finished tables: a streaming query remembers in which "
            "steps a person counted, and not in which keys. Make the plan with max_steps=1"
        )
    if names is None:
        raise BadParameter("keys must be a list, not a table, if a person counts in several of them")


def _check_plan(plan: Plan, columns: Columns, keys: Optional[Keys], is_distinct: bool) -> None:
    """Checks that the plan fits the columns and keys."""
    if plan.dimension is not None:
        raise BadParameter(
            "plan must be one for totals, got one for vectors: evertally.spark.noise makes their noise"
        )
    if plan.max_flips is not None:
        raise Unsupported("persons who come and go are not counted in Spark: use evertally.Presence, or evertally count")
    if plan.keys_per_person > 1 and not is_distinct:
        raise BadParameter("distinct must name a column if the plan is made with keys_per_person")
    is_keyed, is_open = plan.keys is not None, plan.has_open_keys
    if (is_keyed or is_open) != (columns.key is not None):
        got = "a key column and a plan for one total" if columns.key else "a plan for keys and no key column"
        raise BadParameter(f"key and plan must both be for keys or both not, got {got}")
    if is_open != (keys is not None):
        got = "neither" if keys is None else ("both" if is_keyed else "keys for a plan of one total")
        raise BadParameter(
            f"keys must be declared either by the plan or, if it has open keys, here; got {got}"
        )
    if columns.person is None and plan.unit == "person":
        raise BadParameter("person must name a column if the plan bounds a person's steps")
    if columns.person is not None and plan.unit != "person":
        raise BadParameter(
            "plan must bound a person's steps if person names a column: make it with max_steps, even if "
            "that is 1, so that no budget for single events takes it"
        )


def _checked_range(plan: Union[Plan, Discovery], columns: Columns) -> tuple[float, float]:
    """The range of one contribution."""
    low, high = plan.contribution
    if columns.value is None and not low <= 1.0 <= high:
        raise BadParameter(
            f"plan must allow contributions of one, as events count, got a range of {low} to {high}"
        )
    if columns.value is not None and max(abs(low), abs(high)) > MAX_CONTRIBUTION:
        raise BadParameter(
            f"plan must allow contributions of at most 2^20 in magnitude, got a range of {low} to {high}"
        )
    return low, high


def _check_stream(
    session: SparkSession, rows: DataFrame, delay: Optional[str], until: Optional[Moment]
) -> None:
    has_watermark = WATERMARK in rows.schema["time"].metadata
    if delay is None and not has_watermark:
        raise BadParameter(
            "delay must be given for a streaming table without a watermark on its time, got nothing"
        )
    if delay is not None and has_watermark:
        raise BadParameter("delay must be left out where the table has a watermark already, got both")
    if until is not None:
        raise BadParameter("until is for finished tables: a stream is released as time passes")
    if session.conf.get(PROVIDER, "") != ROCKSDB:
        # Spark's stateful operators run only on this state store. A query reads the setting when it
        # starts.
        session.conf.set(PROVIDER, ROCKSDB)


def _ticks(plan: Plan, start_micros: int, every_micros: int) -> Ticks:
    """The declared range of time. An unbounded plan lasts as long as times can be represented."""
    if start_micros < 0:
        raise BadParameter("start must not be before 1970, where Spark's watermarks begin")
    if start_micros % 1000:
        raise BadParameter("start must be in whole milliseconds, as Spark's watermarks are")
    most = ((1 << 63) - 1 - start_micros) // every_micros
    if plan.horizon > most and not plan.is_unbounded:
        raise BadParameter(f"the plan's steps must end before the year 294,000, got {plan.horizon} of them")
    return Ticks(start_micros, every_micros, min(plan.horizon, most))


def _micros(name: str, moment: Moment) -> int:
    """The microseconds since 1970 of a moment, in UTC unless it has a zone."""
    if isinstance(moment, str):
        micros = _time_micros(moment)
        if micros is None:
            raise BadParameter(f"{name} must be a time such as 2026-01-05T00:00:00Z, got {moment!r}")
        return micros
    if not isinstance(moment, datetime.date):
        raise BadParameter(f"{name} must be a time, got {type(moment).__name__}")
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime.combine(moment, datetime.time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(microseconds=1)


def _length(every: str) -> int:
    """The microseconds of a length, in the form of the command line ("15m") or of Spark ("15 minutes")."""
    if not isinstance(every, str):
        raise BadParameter(f"every must be a text such as 1 minute, got {type(every).__name__}")
    return _bucket_micros(every)


def _interval(name: str, text: Optional[str]) -> Optional[int]:
    """The microseconds of an interval, in Spark's form or that of the command line."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise BadParameter(f"{name} must be a text such as 10 minutes, got {type(text).__name__}")
    micros = _interval_micros(text)
    if micros is None:
        raise BadParameter(f"{name} must be an interval such as 10 minutes or 10m, got {text!r}")
    return micros
