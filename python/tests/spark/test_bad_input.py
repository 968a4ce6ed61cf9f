"""What cannot be counted is refused before a query starts, with a sentence that says what was expected."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cluster import SCHEMA, START, as_releases, count_by_program
from pyspark.sql import DataFrame, SparkSession

import evertally
from evertally.spark import noise, private_counts
from evertally.spark.shards import ShardKeys

PLAN = evertally.plan(10, epsilon=1.0, delta=1e-6)
KEYED = evertally.plan(10, epsilon=1.0, delta=1e-6, keys=["a", "b"])
OPEN = evertally.plan(10, epsilon=1.0, delta=1e-6, open_keys=True)
KEY = evertally.NoiseKey.generate()


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], SCHEMA)


GOOD: dict[str, Any] = {"time": "ts", "every": "1 minute", "start": START, "plan": PLAN, "noise_key": KEY}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": "when"}, "time must be a column of the table, which has ts, region, person, event, amount; got 'when'"),
        ({"time": "region"}, "time must be a column of type timestamp, got 'region' of type string"),
        ({"value": "region"}, "value must be a column of numbers"),
        ({"plan": KEYED, "key": "amount"}, "key must be a column of strings or integers, got 'amount' of type double"),
        ({"person": "nobody"}, "person must be a column of the table"),
        ({"person": "person", "unnamed": "keep"}, 'unnamed must be "drop" or "refuse", got \'keep\''),
        ({"unnamed": "refuse"}, 'unnamed="refuse" needs person'),
        ({"id": "nothing"}, "id must be a column of the table"),
        ({"every": "a while"}, "must be like 30s, 15m, 1h, 1d or 1w"),
        ({"every": "0 minutes"}, "must be like 30s, 15m, 1h, 1d or 1w"),
        ({"start": "yesterday"}, "start must be a time such as 2026-01-05T00:00:00Z, got 'yesterday'"),
        ({"start": "2024-01-08T00:00:00.0001Z"}, "start must be in whole milliseconds"),
        ({"start": "2999-01-01"}, "steps that are not over cannot be released"),
        ({"until": "2999-01-01", "plan": evertally.plan(None)}, "steps that are not over cannot be released"),
        ({"start": "1969-12-31"}, "start must not be before 1970"),
        ({"key": "region"}, "got a key column and a plan for one total"),
        ({"plan": KEYED}, "got a plan for keys and no key column"),
        ({"plan": KEYED, "key": "region", "keys": ["a"]}, "keys must be declared either by the plan or, if it has open keys, here; got both"),
        ({"plan": OPEN, "key": "region"}, "here; got neither"),
        ({"plan": OPEN, "key": "region", "keys": []}, "keys must be at least one"),
        ({"plan": OPEN, "key": "region", "keys": ["a", "a"]}, "distinct"),
        ({"plan": OPEN, "key": "region", "keys": ["a", "b\u00a0"]}, "keys must be names without whitespace at their ends"),
        ({"start": 7}, "start must be a time, got int"),
        ({"every": 60}, "every must be a text such as 1 minute, got int"),
        ({"plan": evertally.plan(10, dimension=3)}, "plan must be one for totals, got one for vectors"),
        ({"plan": evertally.plan(10, max_steps=2)}, "person must name a column if the plan bounds a person's steps"),
        ({"plan": evertally.plan(10, max_steps=1)}, "person must name a column if the plan bounds a person's steps"),
        ({"person": "person"}, "plan must bound a person's steps if person names a column: make it with max_steps"),
        ({"start": "2026-W01"}, "start must be a time such as"),
        ({"plan": evertally.plan(10, contribution=(2.0, 5.0))}, "plan must allow contributions of one"),
        ({"plan": evertally.plan(10, contribution=(0.0, 1e-7)), "value": "amount"}, "wider than the grid"),
        ({"plan": evertally.plan(10, contribution=(0.0, 2.0**21)), "value": "amount"}, "at most 2\\^20 in magnitude"),
        ({"plan": evertally.plan(None)}, "until must be given for a finished table under an unbounded plan"),
        ({"until": "2020-01-01"}, "until must not be before start"),
        ({"shards": 0}, "shards must be at least 1, got 0"),
        ({"noise_key": 7}, "noise_key must be a NoiseKey, or the path of a key file on every executor, got int"),
    ],
)
def test_finished_tables(events: DataFrame, change: dict[str, Any], message: str) -> None:
    with pytest.raises(evertally.BadParameter, match=message):
        private_counts(events, **{**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "delay must be given for a streaming table without a watermark on its time"),
        ({"delay": "1 minute", "until": "2027-01-01"}, "until is for finished tables"),
        ({"delay": "a while"}, "delay must be an interval such as 10 minutes or 10m, got 'a while'"),
        ({"delay": "10m", "ahead": "soon"}, "ahead must be an interval"),
    ],
)
def test_streams(spark: SparkSession, change: dict[str, Any], message: str) -> None:
    rates = spark.readStream.format("rate").load()
    with pytest.raises(evertally.BadParameter, match=message):
        private_counts(rates, **{**GOOD, "time": "timestamp", **change})


def test_two_watermarks(spark: SparkSession) -> None:
    marked = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    with pytest.raises(evertally.BadParameter, match="delay must be left out where the table has a watermark already"):
        private_counts(marked, **{**GOOD, "time": "timestamp"}, delay="1 minute")
    assert private_counts(marked, **{**GOOD, "time": "timestamp"}).isStreaming


def test_rows_that_cannot_count_are_left_out_and_undeclared_keys_with_them(spark: SparkSession) -> None:
    good = "select timestamp'2024-01-08T00:00:30Z' as ts, 'a' as region, 2.5D as amount"
    bad = [
        "select null, 'a', 2.0D",
        "select timestamp'2024-01-08T00:00:40Z', 'a', double('NaN')",
        "select timestamp'2024-01-08T00:00:40Z', 'a', null",
        "select timestamp'2024-01-08T00:00:40Z', 'z', 2.0D",
        "select timestamp'2024-01-08T00:00:40Z', null, 2.0D",
        "select timestamp'2024-01-07T23:59:59Z', 'a', 2.0D",
        "select timestamp'2024-01-08T00:10:00Z', 'a', 2.0D",
        "select timestamp'2024-01-08T00:00:40Z', cast(x'ff61' as string), 2.0D",
    ]
    keyed = evertally.plan(10, epsilon=1.0, delta=1e-6, keys=["a", "b"], contribution=(0.0, 4.0))
    arguments: dict[str, Any] = {**GOOD, "plan": keyed, "key": "region", "value": "amount"}
    expected = as_releases(private_counts(spark.sql(good), **arguments))
    assert len(expected) == 20
    all_rows = spark.sql(" union all ".join([good, *bad]))
    assert as_releases(private_counts(all_rows, **arguments)) == expected
    # Names of columns are taken as they are.
    dotted = all_rows.withColumnsRenamed({"ts": "a.b", "region": "c`d"})
    named = {**arguments, "time": "a.b", "key": "c`d"}
    assert sorted(as_releases(private_counts(dotted, **named))) == sorted(expected)


@pytest.mark.parametrize("table", ["select 1.5D as key", "select 'a' as key, 1 as number", "select 'a' as key where false"])
def test_tables_of_keys(spark: SparkSession, events: DataFrame, table: str) -> None:
    with pytest.raises(evertally.BadParameter, match="keys must be (a finished table of one column|at least one)"):
        private_counts(events, **{**GOOD, "plan": OPEN, "key": "region", "keys": spark.sql(table)})


def test_a_key_file_that_is_not_there_is_named(events: DataFrame) -> None:
    with pytest.raises(Exception, match="the noise key /nowhere/noise.key cannot be read on this executor"):
        private_counts(events, **{**GOOD, "noise_key": "/nowhere/noise.key"}).collect()


def test_totals_that_no_double_holds_are_counted(spark: SparkSession, binary: str, key_file: str, tmp_path: Path) -> None:
    """Totals reached the counter as doubles, so 8,193 values of 2^20 in one step stopped the query.
    Whether a query stops must not depend on such data, and `evertally count` took them.
    """
    amounts = [1e9] * 9000 + [2.0**-20]
    rows = pd.DataFrame({"ts": [pd.Timestamp("2024-01-08T00:00:30Z")] * len(amounts), "amount": amounts})
    options = ["--horizon", "10", "--epsilon", "1", "--delta", "1e-6", "--value", "amount", "--clamp", f"0,{2**20}"]
    expected = count_by_program(binary, rows, tmp_path, options, key_file)
    largest = evertally.plan(10, epsilon=1.0, delta=1e-6, contribution=(0.0, 2.0**20))
    given = {**GOOD, "plan": largest, "value": "amount", "noise_key": key_file}
    assert as_releases(private_counts(spark.createDataFrame(rows), **given)) == expected


def test_totals_that_64_bits_do_not_hold_stop_the_count(spark: SparkSession) -> None:
    largest = evertally.plan(10, epsilon=1.0, delta=1e-6, contribution=(0.0, 2.0**20))
    rows = spark.range(1 << 23).selectExpr("timestamp'2024-01-08T00:00:30Z' as ts", "1e9D as amount")
    with pytest.raises(Exception, match="too large for integers of 64 bits"):
        private_counts(rows, **{**GOOD, "plan": largest, "value": "amount"}).collect()


def test_only_the_total_of_a_key_in_a_step_is_limited() -> None:
    """The totals of several keys and steps together were refused above 2^62, although each fitted."""
    large = 1 << 61
    keys, steps = np.array(["a", "b", "a", "b"], dtype=object), np.array([0, 0, 1, 1])
    totals = np.array([large, -large, large, large])
    [(first, cells)] = ShardKeys(["a", "b"]).cells(0, 2, steps, keys, totals)
    assert first == 0 and cells.tolist() == [[large, -large], [large, large]]
    for more in (large, -large):
        with pytest.raises(evertally.BadParameter, match="too large for integers of 64 bits"):
            list(ShardKeys(["a"]).cells(0, 1, np.array([0, 0]), keys[[0, 0]], np.array([more, more])))


@pytest.mark.parametrize(
    ("dim", "choices", "message"),
    [
        (PLAN, {}, "plan must be one for vectors"),
        (evertally.plan(10, dimension=3), {"epsilon": 2.0}, "choices are given with a dimension, not with a plan"),
        (3, {"horizon": 10, "steps": range(5, 11)}, "steps must be consecutive and within the 10 of the plan"),
        (3, {"horizon": 10, "steps": range(0, 10, 2)}, "steps must be consecutive"),
        (3, {"horizon": 10, "slices": 0}, "slices must be at least 1"),
        (3, {"horizon": None}, "steps must be given for an unbounded plan"),
        (3, {"horizon": 10, "dtype": "int"}, "dtype must be float64 or float32, got 'int'"),
    ],
)
def test_noise(spark: SparkSession, dim: Any, choices: dict[str, Any], message: str) -> None:
    with pytest.raises(evertally.BadParameter, match=message):
        noise(dim, spark=spark, noise_key=KEY, **choices)
