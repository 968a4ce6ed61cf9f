"""Which events count, and their steps and amounts, in Spark's own expressions.

**Definition.** The rule is that of the ``admission`` module in `evertally-stream`; this module
states it in Spark's expressions. An event may count if it has a time that lies in the range of the
plan and not beyond the clock of its batch. It also needs a value if values are summed, and a person
if persons are bounded. It counts in the step of its time, as one or as its value clamped to the
plan's contribution. It counts for its key if that is declared, and otherwise for ``other`` if that
is declared. If persons are bounded, the first event of each person in each step counts. If events
have ids, the first event of each id counts. A stream compares ids within a step only; without
persons, it leaves out events without an id.

**Guarantee.** Which events count depends on the set of events, never on the order in which
partitions deliver them: *first* is by time, then by id, key and value. A batch that is run again
therefore has the same totals. Amounts are integers, so sums do not depend on order either. Only the
watermark depends on arrival: an event whose step it has passed is late and does not count.

A person, an id or a key is a text with at least one character that is not whitespace, and is
trimmed: the rule of ``given_name`` in `evertally-stream`. Bytes that are not UTF-8 are no text. They
must not be repaired either, because two different people would then have one name. An event without
a person could belong to anyone. It is left out before it can move time, so it changes nothing.

Spark logs the clock of a batch, so it too is the same when the batch is run again.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from evertally._native import _GRID, _OTHER, _ends_on_grid, _whitespace
from evertally.spark import placement
from evertally.spark.shards import TOO_LARGE

# The characters that Rust's `str::trim` removes.
WHITESPACE = _whitespace()

# The prefix of the name under which Spark's progress reports count rows that name no person.
UNNAMED = "evertally unnamed "
REFUSED = 'an event names no person: unnamed="drop" leaves such events out'


@dataclass(frozen=True)
class Ticks:
    """The declared range of time: steps of equal length."""

    start_micros: int
    every_micros: int
    steps: int

    @property
    def end_micros(self) -> int:
        return self.start_micros + self.steps * self.every_micros


@dataclass(frozen=True)
class Columns:
    """The columns of the events by their roles. None means that no column has the role."""

    time: str
    value: Optional[str]
    key: Optional[str]
    person: Optional[str]
    id: Optional[str]


def chosen(events: DataFrame, columns: Columns) -> DataFrame:
    """The columns that have a role, renamed to it. Keys, persons and ids are names, or null."""
    names = [(role, name) for role in ("time", "value", "key", "person", "id") if (name := getattr(columns, role)) is not None]
    # Names may have dots in them.
    found = {role: F.col("`" + name.replace("`", "``") + "`") for role, name in names}
    return events.select(
        *[(as_name(column) if role in ("key", "person", "id") else column).alias(role) for role, column in found.items()]
    )


def as_name(column: Column) -> Column:
    """The trimmed name in a column, or null if it holds none."""
    trimmed = F.btrim(F.try_validate_utf8(column.cast("string")), F.lit(WHITESPACE))
    return F.when(trimmed != "", trimmed)


def named(events: DataFrame, refuse: bool) -> DataFrame:
    """The events that name a person. With `refuse`, an event that names no person stops the query.

    In a stream the number of unnamed events is observed, which costs no additional job. In a
    finished table this would keep Spark from reading only the rows of the range.
    """
    if "person" not in events.columns:
        return events
    is_named = F.col("person").isNotNull()
    if refuse:
        return events.where(F.when(is_named, F.lit(True)).otherwise(F.raise_error(F.lit(REFUSED)).cast("boolean")))
    if events.isStreaming:
        # One query may contain two counts, and Spark requires different names.
        events = events.observe(UNNAMED + uuid.uuid4().hex, F.count_if(~is_named).alias("rows"))
    return events.where(is_named)


def watermarked(events: DataFrame, delay: Optional[int], ahead: Optional[int]) -> DataFrame:
    """Lets events move time, but never beyond the clock of a batch: one event from the future must
    not close the steps of all others. Both lengths are in microseconds.

    An existing watermark of the events is kept: events that have moved it cannot be left out here.
    """
    if delay is None:
        return events
    if ahead is not None:
        events = events.where(F.col("time") <= F.current_timestamp() + F.expr(f"interval {ahead} microseconds"))
    return events.withWatermark("time", f"{delay} microseconds")


def counted(events: DataFrame, ticks: Ticks, clamp: tuple[float, float]) -> DataFrame:
    """The rows that may count, as (time, key, person, id, amount)."""
    roles = events.columns
    micros = F.unix_micros("time")
    rows = events.where((micros >= ticks.start_micros) & (micros < ticks.end_micros))
    amount = F.lit(1).cast("bigint")
    if "value" in roles:
        value = F.col("value").cast("double")
        rows = rows.where(value.isNotNull() & ~F.isnan(value))
        amount = _amount(value, clamp)
    if "id" in roles and "person" not in roles and events.isStreaming:
        rows = rows.where(F.col("id").isNotNull())
    return rows.select("time", amount.alias("amount"), *[role for role in ("key", "person", "id") if role in roles])


def declared_only(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """Rows whose key is not declared go to ``other``, or to no key, which no shard knows.

    This comes after the decision which events count: an event of an undeclared key still counts as
    an event of its person or id.
    """
    table = rows.sparkSession.createDataFrame([(name,) for name in names], "declared string")
    key = F.coalesce("declared", F.lit(_OTHER)) if _OTHER in names else F.col("declared")
    return rows.join(F.broadcast(table), F.col("key") == F.col("declared"), "left").withColumn("key", key).drop("declared")


def _amount(value: Column, clamp: tuple[float, float]) -> Column:
    """The value inside the clamp on the grid, with the rounding of `evertally count`."""
    lowest, highest = _ends_on_grid(*clamp)
    inside = F.least(F.greatest(value, F.lit(clamp[0])), F.lit(clamp[1]))
    rounded = F.rint(inside * float(_GRID)).cast("bigint")
    return F.least(F.greatest(rounded, F.lit(lowest).cast("bigint")), F.lit(highest).cast("bigint"))


def first_of_each(rows: DataFrame, units: Sequence[str], ticks: Ticks) -> DataFrame:
    """The first row of each unit in each step, by time, then by content. A unit may have several
    columns.
    """
    return _firsts(rows, [_window(ticks), *map(F.col, units)], units, ["window"])


def first_of_each_id(rows: DataFrame) -> DataFrame:
    """The first row of each id, by time, then by content. A row without an id is a copy of nothing,
    and stays.
    """
    firsts = _firsts(rows.where(F.col("id").isNotNull()), [F.col("id")], ["id"], [])
    return firsts.unionByName(rows.where(F.col("id").isNull()).select(*firsts.columns))


def _firsts(
    rows: DataFrame, groups: Sequence[Column], units: Sequence[str], kept: Sequence[str]
) -> DataFrame:
    order = [name for name in ("time", "id", "key", "amount") if name in rows.columns]
    first = [F.col(f"first.{name}").alias(name) for name in order if name not in units]
    return rows.groupBy(*groups).agg(F.min(F.struct(*order)).alias("first")).select(*kept, *units, *first)


def totals(rows: DataFrame, ticks: Ticks, counts: bool) -> DataFrame:
    """The total of each step and key, by Spark's own aggregation: (step, key, total, closed)."""
    window = [F.col("window")] if "window" in rows.columns else [_window(ticks)]
    keys = [F.col("key")] if "key" in rows.columns else []
    total = F.count(F.lit(1)) if counts else F.coalesce(F.try_sum("amount"), F.raise_error(F.lit(TOO_LARGE)).cast("bigint"))
    return with_step(rows.groupBy(*window, *keys).agg(total.alias("total")), ticks)


def with_step(rows: DataFrame, ticks: Ticks) -> DataFrame:
    """Replaces a window by its step and its last instant, which carries the watermark."""
    step = F.expr(f"(unix_micros(window.start) - {ticks.start_micros}L) div {ticks.every_micros}L")
    kept = [name for name in rows.columns if name != "window"]
    return rows.select(*kept, step.alias("step"), F.window_time("window").alias("closed"))


def in_shards(rows: DataFrame, column: Optional[str], shards: int) -> DataFrame:
    """Adds the name of the shard of each row, from a public hash of a column."""
    if column is None or shards == 1:
        return rows.withColumn("shard", F.lit(0).cast("bigint"))
    number = F.pmod(F.xxhash64(column), F.lit(shards))
    return rows.withColumn("shard", _name(rows.sparkSession, number, shards))


def all_shards(session: SparkSession, shards: int) -> DataFrame:
    """The names of all shards."""
    if shards == 1:
        return session.range(1).withColumnRenamed("id", "shard")
    return session.range(shards).select(_name(session, F.col("id"), shards).alias("shard"))


def _name(session: SparkSession, number: Column, shards: int) -> Column:
    names = placement.names(session, shards)
    return number if names is None else F.get(F.expr(f"array({', '.join(f'{name}L' for name in names)})"), number)


def _window(ticks: Ticks) -> Column:
    offset = ticks.start_micros % ticks.every_micros
    window = F.window("time", f"{ticks.every_micros} microseconds", startTime=f"{offset} microseconds")
    return window.alias("window")
