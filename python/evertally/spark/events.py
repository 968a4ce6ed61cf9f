"""Which events count, in which step and for how much, in Spark's own expressions.

**Definition.** An event counts if it has a time in the range of the plan and not beyond the clock of its batch, a value where values are summed, and
an id where events have ids. It counts in the
step of its time, for its key where that is declared and for ``other`` where that is declared instead, as one or as its value clamped to the plan's contribution.
Where events have an id, the first of those with one id in one step counts; where persons are bounded, the first of each person in each step.

**Guarantee.** What counts is a function of the set of events, never of the order in which partitions deliver them: *first* is by time, then by id, key and value.
A batch that is run again therefore has the same totals. Amounts are whole numbers, so that sums do not depend on order either. The watermark alone looks at arrival: an event
whose step it has passed is late and does not count.

The clock of a batch is in Spark's log of the batch, so that it too is the same when the batch is run again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from evertally._native import _OTHER
from evertally.spark import placement
from evertally.spark.shards import GRID

TOO_LARGE = "the total of a step is too large to be counted exactly"


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
    """The columns of the events by their roles; an absent one plays none."""

    time: str
    value: Optional[str]
    key: Optional[str]
    person: Optional[str]
    id: Optional[str]


def watermarked(events: DataFrame, time: str, delay: Optional[str], ahead: Optional[str]) -> DataFrame:
    """Lets time move by the events, but never beyond the clock of a batch: one event from the future must not close the steps of all others.

    A watermark that the events have already is kept: what has moved it cannot be left out here.
    """
    if delay is None:
        return events
    if ahead is not None:
        events = events.where(F.col(time) <= F.current_timestamp() + F.expr(f"interval {ahead}"))
    return events.withWatermark(time, delay)


def counted(
    events: DataFrame, columns: Columns, ticks: Ticks, clamp: tuple[float, float], declared: Optional[Sequence[str]]
) -> DataFrame:
    """The rows that may count, as (time, key, person, id, amount). Where the declared keys are given, others count as ``other`` or are left out, before
    they can take room in Spark's state."""
    micros = F.unix_micros(F.col(columns.time))
    rows = events.where((micros >= ticks.start_micros) & (micros < ticks.end_micros))
    if columns.value is not None:
        value = F.col(columns.value).cast("double")
        rows = rows.where(value.isNotNull() & ~F.isnan(value))
    chosen = [F.col(columns.time).alias("time"), _amount(columns.value, clamp).alias("amount")]
    for role in ("key", "person", "id"):
        column = getattr(columns, role)
        if column is not None:
            chosen.append(F.col(column).cast("string").alias(role))
    rows = rows.select(*chosen)
    if columns.id is not None and columns.person is None:
        rows = rows.where(F.col("id").isNotNull())
    if columns.person is not None:
        # Events without a person are one person's: unattributed events are bounded together, never unbounded.
        rows = rows.withColumn("person", F.coalesce("person", F.lit("")))
    if declared is not None:
        names = events.sparkSession.createDataFrame([(name,) for name in declared], "declared string")
        names = F.broadcast(names)
        if _OTHER in declared:
            rows = rows.join(names, F.col("key") == F.col("declared"), "left")
            rows = rows.withColumn("key", F.coalesce("declared", F.lit(_OTHER))).drop("declared")
        else:
            rows = rows.join(names, F.col("key") == F.col("declared"), "left_semi")
    return rows


def _amount(value: Optional[str], clamp: tuple[float, float]) -> Column:
    """What an event counts for: one, or its value inside the clamp on the grid, by the rounding of `evertally count`."""
    if value is None:
        return F.lit(1).cast("bigint")
    low, high = clamp
    inside = F.least(F.greatest(F.col(value).cast("double"), F.lit(low)), F.lit(high))
    rounded = F.rint(inside * float(GRID)).cast("bigint")
    lowest, highest = -int(-low * GRID // 1), int(high * GRID // 1)
    return F.least(F.greatest(rounded, F.lit(lowest).cast("bigint")), F.lit(highest).cast("bigint"))


def first_of_each(rows: DataFrame, unit: str, ticks: Ticks) -> DataFrame:
    """One row for each unit in each step: its first, whatever order they come in."""
    order = [name for name in ("time", "id", "key", "amount") if name in rows.columns]
    return (
        rows.groupBy(_window(ticks), F.col(unit))
        .agg(F.min(F.struct(*order)).alias("first"))
        .select("window", unit, *[F.col(f"first.{name}").alias(name) for name in order if name not in (unit, "time")])
    )


def totals(rows: DataFrame, ticks: Ticks, counts: bool) -> DataFrame:
    """The total of each step and key, by Spark's own aggregation: (step, key, total, closed)."""
    window = [F.col("window")] if "window" in rows.columns else [_window(ticks)]
    keys = [F.col("key")] if "key" in rows.columns else []
    total = F.count(F.lit(1)) if counts else F.coalesce(F.try_sum("amount"), F.raise_error(F.lit(TOO_LARGE)).cast("bigint"))
    return with_step(rows.groupBy(*window, *keys).agg(total.alias("total")), ticks)


def with_step(rows: DataFrame, ticks: Ticks) -> DataFrame:
    """The step of a window in place of the window, and the last instant of it, which carries the watermark on."""
    step = (F.unix_micros("window.start") - F.lit(ticks.start_micros)) / F.lit(ticks.every_micros)
    kept = [name for name in rows.columns if name != "window"]
    return rows.select(*kept, step.cast("bigint").alias("step"), F.window_time("window").alias("closed"))


def in_shards(rows: DataFrame, column: Optional[str], shards: int) -> DataFrame:
    """The name of the shard of each row, by a public hash of a column."""
    if column is None or shards == 1:
        return rows.withColumn("shard", F.lit(0).cast("bigint"))
    called = F.expr(f"array({', '.join(f'{name}L' for name in placement.names(shards))})")
    return rows.withColumn("shard", F.get(called, F.pmod(F.xxhash64(column), F.lit(shards))))


def _window(ticks: Ticks) -> Column:
    offset = ticks.start_micros % ticks.every_micros
    window = F.window("time", f"{ticks.every_micros} microseconds", startTime=f"{offset} microseconds")
    return window.alias("window")
