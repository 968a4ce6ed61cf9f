"""What a stream does besides counting: late events, the end of a horizon, checkpoints of other
plans, batches that come again.
"""

import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cluster import START, as_releases, count_by_hand, make_events, run_and_listen, run_stream, stream, write_files
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import evertally
from evertally.spark import LateRowsNotPrivate, ReleaseFiles, private_counts

STEPS = 6
KEYS = ["k0", "k1", "k2", "other"]


def plan(**choices: Any) -> evertally.Plan:
    return evertally.plan(STEPS, epsilon=1.0, delta=1e-6, **choices)


def arguments(key_file: str, **more: Any) -> dict[str, Any]:
    return {"time": "ts", "every": "1m", "start": START, "delay": "10 seconds", "noise_key": key_file, **more}


def minute(number: float) -> pd.Timestamp:
    return pd.Timestamp(START) + pd.Timedelta(minutes=number)


def at(minutes: list[float]) -> pd.DataFrame:
    """An event of key k0 at each of these minutes."""
    numbers = range(len(minutes))
    rows = {"ts": [minute(number) for number in minutes], "region": "k0", "person": "p0", "event": numbers, "amount": 1.0}
    return pd.DataFrame(rows)


def releases_of(spark: SparkSession, folder: Path) -> dict[Any, Any]:
    return as_releases(spark.read.parquet(str(folder / "releases")))


def test_keys_that_come_in_several_parts_are_one_shard(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    events = make_events(500, 3, STEPS, seed=3)
    write_files(events, tmp_path / "events", 2)
    keyed = plan(keys=[f"k{number}" for number in range(40)])
    expected = count_by_hand(events, keyed, key_file, key="region")
    assert len(expected) == 40 * STEPS
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 3)
    try:
        streamed = stream(spark, tmp_path / "events", 1)
        run_stream(private_counts(streamed, key="region", plan=keyed, shards=3, **arguments(key_file)), tmp_path)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert releases_of(spark, tmp_path) == expected


def test_undeclared_keys_do_not_count_wherever_they_fall(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    events = make_events(300, 20, STEPS, seed=4)
    write_files(events, tmp_path / "events", 1)
    write_files(events[events["region"].isin(["k0", "k1"]) | (events.index == 300)], tmp_path / "declared", 1)
    finished = {**arguments(key_file), "delay": None, "key": "region"}
    opened = plan(open_keys=True)
    table = spark.createDataFrame([("k0",), ("k1",), ("k1",), (None,)], "name string")
    expected = as_releases(private_counts(spark.read.parquet(str(tmp_path / "declared")), plan=plan(keys=["k0", "k1"]), **finished))
    assert len(expected) == 2 * STEPS
    # More shards than keys: some of them have no declared key.
    counted = private_counts(spark.read.parquet(str(tmp_path / "events")), plan=opened, keys=["k0", "k1"], shards=7, **finished)
    assert as_releases(counted) == expected
    by_hand: dict[str, Any] = {"key": "region", "keys": ["k0", "k1"], "is_table": True}
    counted = private_counts(spark.read.parquet(str(tmp_path / "events")), plan=opened, keys=table, shards=7, **finished)
    assert as_releases(counted) == count_by_hand(events, opened, key_file, **by_hand, closing=None) != expected
    expected = count_by_hand(events, opened, key_file, **by_hand)
    streamed = stream(spark, tmp_path / "events", 1)
    run_stream(private_counts(streamed, plan=opened, keys=table, key="region", shards=7, **arguments(key_file)), tmp_path)
    assert releases_of(spark, tmp_path) == expected


def test_a_late_event_is_dropped_and_counted_by_those_who_ask(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    # The watermark passes the first step at 3.5, and the batch after that closes it.
    write_files(at([0.1, 0.2, 3.5, 3.6, 0.3, 6.5]), tmp_path / "events", 5)
    counted = private_counts(stream(spark, tmp_path / "events", 1), plan=plan(), **arguments(key_file))
    late = run_and_listen(counted, tmp_path, LateRowsNotPrivate(), 1)
    assert releases_of(spark, tmp_path) == count_by_hand(at([0.1, 0.2, 3.5, 3.6, 6.5]), plan(), key_file)
    assert late == 1


def test_an_event_from_the_future_does_not_close_the_steps_of_others(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    now = pd.Timestamp(datetime.datetime.now(datetime.timezone.utc)).floor("min")
    start = now - pd.Timedelta(minutes=4)
    times = [start + pd.Timedelta(seconds=30), now + pd.Timedelta(days=1), start + pd.Timedelta(seconds=40), now]
    events = at([0.0] * 4).assign(ts=times)
    write_files(events, tmp_path / "events", 3)
    streamed = stream(spark, tmp_path / "events", 1)
    given = {**arguments(key_file), "start": start.to_pydatetime()}
    run_stream(private_counts(streamed, plan=plan(), **given), tmp_path)
    released = releases_of(spark, tmp_path)
    assert sorted(released) == [(0,), (1,), (2,)]
    expected = count_by_hand(events.drop(index=1), plan(), key_file, start=start)
    assert all(expected[step] == numbers for step, numbers in released.items())


def test_the_end_of_the_horizon_stops_the_query_and_loses_nothing(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    write_files(at([0.5, 5.5, 6.5]), tmp_path / "events", 2)
    counted = private_counts(stream(spark, tmp_path / "events", 1), plan=plan(), **arguments(key_file))
    run_stream(counted, tmp_path)
    before = releases_of(spark, tmp_path)
    assert len(before) == STEPS
    later = at([9.0, 10.0])
    later.iloc[:1].to_parquet(tmp_path / "events" / "9998.parquet", coerce_timestamps="us", index=False)
    later.iloc[1:].to_parquet(tmp_path / "events" / "9999.parquet", coerce_timestamps="us", index=False)
    counted = private_counts(stream(spark, tmp_path / "events", 1), plan=plan(), **arguments(key_file))
    with pytest.raises(StreamingQueryException, match="all 6 steps of the plan are released"):
        run_stream(counted, tmp_path)
    assert releases_of(spark, tmp_path) == before


def test_the_last_releases_come_out_though_time_has_gone_far_beyond(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    write_files(at([0.5, 60.0]), tmp_path / "events", 1)
    counted = private_counts(stream(spark, tmp_path / "events", 1), plan=plan(keys=KEYS), key="region", **arguments(key_file))
    run_stream(counted, tmp_path)
    assert len(releases_of(spark, tmp_path)) == STEPS * len(KEYS)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"plan": evertally.plan(STEPS, epsilon=2.0, delta=1e-6, keys=KEYS)}, id="budget"),
        pytest.param({"plan": evertally.plan(2, epsilon=1.0, delta=1e-6, keys=KEYS)}, id="horizon"),
        pytest.param({"noise_key": evertally.NoiseKey.generate()}, id="noise key"),
        pytest.param({"start": "2024-01-07"}, id="start"),
        pytest.param({"plan": evertally.plan(STEPS, epsilon=1.0, delta=1e-6, keys=["k0", "k1", "k3", "other"])}, id="keys"),
        pytest.param({"shards": 5}, id="shards"),
    ],
)
def test_a_checkpoint_of_another_plan_is_refused(
    spark: SparkSession, key_file: str, tmp_path: Path, change: dict[str, Any]
) -> None:
    write_files(at([0.5, 1.5, 3.5]), tmp_path / "events", 2)
    given = arguments(key_file, plan=plan(keys=KEYS), key="region")
    run_stream(private_counts(stream(spark, tmp_path / "events", 1), **given), tmp_path)
    before = releases_of(spark, tmp_path)
    at([4.5]).to_parquet(tmp_path / "events" / "9999.parquet", coerce_timestamps="us", index=False)
    with pytest.raises(StreamingQueryException, match="the checkpoint belongs to another plan"):
        run_stream(private_counts(stream(spark, tmp_path / "events", 1), **{**given, **change}), tmp_path)
    assert releases_of(spark, tmp_path) == before


def test_a_batch_that_comes_again_must_be_the_same(spark: SparkSession, tmp_path: Path) -> None:
    sink = ReleaseFiles(str(tmp_path))
    batch = spark.range(10, 15).select(F.col("id").alias("step"), F.rand(seed=1).alias("estimate"))
    sink(batch, 7)

    def shown() -> list[str]:
        return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("batch=*/*"))

    before = shown()
    assert before
    sink(batch, 7)
    assert shown() == before
    for other in (batch.where("step < 14"), batch.union(batch.where("step = 10")), batch.withColumn("estimate", F.col("estimate") + 1)):
        with pytest.raises(evertally.BadState, match="batch 7 has come again with other releases"):
            sink(other, 7)
    # A new checkpoint has other batches, of steps that were shown.
    for number in (1, 8):
        with pytest.raises(evertally.BadState, match=f"batch {number} begins at step 14, and step 14 was shown by batch 7"):
            sink(batch.where("step = 14"), number)
    sink(batch.where("false"), 8)
    assert shown() == before
    sink(batch.withColumn("step", F.col("step") + 5), 9)
    assert len(shown()) > len(before)
    # A driver that died before batch 12 was in its place leaves both notes: another batch 12, of a
    # new checkpoint, is refused by the earlier one.
    (tmp_path / "_last-step" / "24-by-12").touch()
    with pytest.raises(evertally.BadState, match="batch 12 begins at step 10, and step 19 was shown by batch 9"):
        sink(batch, 12)
    sink(batch.withColumn("step", F.col("step") + 10), 12)
    assert [path.name for path in (tmp_path / "_last-step").glob("[0-9]*")] == ["24-by-12"]
    assert not list(tmp_path.glob("_writing*"))


def test_a_checkpoint_begun_anew_shows_nothing(spark: SparkSession, tmp_path: Path) -> None:
    # The record of a key would refuse it first: this is what the directory of releases sees.
    given = {**arguments(""), "noise_key": evertally.NoiseKey.insecure_from_seed(3)}
    write_files(at([0.5, 1.5, 0.6, 2.5, 6.5]), tmp_path / "events", 4)
    counted = private_counts(stream(spark, tmp_path / "events", 1), plan=plan(), **given)
    run_stream(counted, tmp_path)
    before = releases_of(spark, tmp_path)
    (tmp_path / "checkpoint").rename(tmp_path / "lost")
    counted = private_counts(stream(spark, tmp_path / "events", 5), plan=plan(), **given)
    with pytest.raises(StreamingQueryException, match="was shown by batch|has come again"):
        run_stream(counted, tmp_path)
    assert releases_of(spark, tmp_path) == before


def test_undeclared_keys_are_their_persons_like_any_other(spark: SparkSession, key_file: str) -> None:
    events = at([0.1, 0.2, 1.1]).assign(region=["unknown", "k0", "k0"])
    bounded = evertally.plan(STEPS, epsilon=1.0, delta=1e-6, open_keys=True, max_steps=1)
    given = {**arguments(key_file), "delay": None, "key": "region", "person": "person", "plan": bounded}
    rows = spark.createDataFrame(events)
    table = spark.createDataFrame([("k0",)], "name string")
    for keys in (["k0"], table):
        # The one step of the person went to a key that nobody declared.
        assert as_releases(private_counts(rows, keys=keys, **given)) == as_releases(private_counts(rows.where("false"), keys=keys, **given))


def test_a_named_stream_has_noise_of_its_own_in_each_range(spark: SparkSession, key_file: str) -> None:
    rows = spark.createDataFrame([], "ts timestamp")
    given = {**arguments(key_file), "delay": None}
    names = ["", "visits", "sales"]
    estimates = {
        tuple(row[0] for row in as_releases(private_counts(rows, plan=evertally.plan(40, epsilon=1.0, delta=1e-6, stream=name), **{**given, "start": start})).values())
        for name in names
        for start in ("2024-01-08", "2024-01-09")
    }
    assert len(estimates) == 2 * len(names)
