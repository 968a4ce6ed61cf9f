"""The arguments of ``private_counts``: their forms, and whether they fit together.

**Guarantee.** Whatever can be known to be wrong without looking at events is refused on the driver, before
anything is read.
"""

import datetime
from collections.abc import Sequence
from typing import Optional, Union

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from evertally import BadParameter, Discovery, Plan, Unsupported
from evertally._native import _bucket_micros, _interval_micros, _time_micros
from evertally.spark.events import Columns, Ticks

# Values are counted on a grid of 2^-20 in 64 bits: the sum of two million values of the largest
# magnitude does not overflow.
MAX_CONTRIBUTION = 1 << 20

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
WATERMARK = "spark.watermarkDelayMs"

Moment = Union[str, datetime.datetime, datetime.date]
Keys = Union[Sequence[str], DataFrame]


def check_classic(session: SparkSession) -> None:
    if not hasattr(session, "_jsparkSession"):
        raise Unsupported(
            "evertally.spark runs in a classic Spark session: Spark Connect hands no secret to executors"
        )


def check_columns(df: DataFrame, columns: Columns) -> None:
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


def check_unnamed(unnamed: str, columns: Columns) -> None:
    if unnamed not in ("drop", "refuse"):
        raise BadParameter(f'unnamed must be "drop" or "refuse", got {unnamed!r}')
    if unnamed == "refuse" and columns.person is None:
        raise BadParameter('unnamed="refuse" needs person: without it no event has to name one')


def check_distinct(
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


def check_discovery(plan: Discovery, columns: Columns, keys: Optional[Keys]) -> None:
    if columns.key is None:
        raise BadParameter("key must name a column if the plan is a discovery")
    if keys is not None:
        raise BadParameter("keys must be left out if the plan is a discovery: keys are found, and none are declared")
    if columns.person is None:
        raise BadParameter("person must name a column if the plan is a discovery: a key appears once enough persons hold it")
    if plan.keys_per_step > 1:
        raise BadParameter("plan must be a discovery with keys_per_step=1: a person counts with one event per step")


def check_plan(plan: Plan, columns: Columns, keys: Optional[Keys], is_distinct: bool) -> None:
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


def checked_range(plan: Union[Plan, Discovery], columns: Columns) -> tuple[float, float]:
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


def check_stream(
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


def read_ticks(plan: Plan, start_micros: int, every_micros: int) -> Ticks:
    """The declared range of time. An unbounded plan lasts as long as times can be represented."""
    if start_micros < 0:
        raise BadParameter("start must not be before 1970, where Spark's watermarks begin")
    if start_micros % 1000:
        raise BadParameter("start must be in whole milliseconds, as Spark's watermarks are")
    most = ((1 << 63) - 1 - start_micros) // every_micros
    if plan.horizon > most and not plan.is_unbounded:
        raise BadParameter(f"the plan's steps must end before the year 294,000, got {plan.horizon} of them")
    return Ticks(start_micros, every_micros, min(plan.horizon, most))


def read_micros(name: str, moment: Moment) -> int:
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


def read_length(every: str) -> int:
    """The microseconds of a length, in the form of the command line ("15m") or of Spark ("15 minutes")."""
    if not isinstance(every, str):
        raise BadParameter(f"every must be a text such as 1 minute, got {type(every).__name__}")
    return _bucket_micros(every)


def read_interval(name: str, text: Optional[str]) -> Optional[int]:
    """The microseconds of an interval, in Spark's form or that of the command line."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise BadParameter(f"{name} must be a text such as 10 minutes, got {type(text).__name__}")
    micros = _interval_micros(text)
    if micros is None:
        raise BadParameter(f"{name} must be an interval such as 10 minutes or 10m, got {text!r}")
    return micros
