"""A noise key serves one input for each count: finished tables by their totals, streams by their
checkpoints.
"""

import gc
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cluster import START, as_releases, count_by_hand, make_events, run_stream, stream, write_files
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import evertally
from evertally.spark import ReleaseFiles, counts, private_counts

STEPS = 6
KEYS = ["k0", "k1", "other"]
BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
PLAN = evertally.plan(STEPS, **BUDGET, keys=KEYS)


def count(events: DataFrame, noise_key: Any, **change: Any) -> DataFrame:
    given: dict[str, Any] = {"time": "ts", "every": "1m", "start": START, "key": "region", "plan": PLAN, "noise_key": noise_key}
    return private_counts(events, **{**given, **change})


@pytest.fixture
def events() -> pd.DataFrame:
    return make_events(200, 3, STEPS, seed=8)


def one_more(events: pd.DataFrame) -> pd.DataFrame:
    """The same events and another one, in the fourth step."""
    added = events.iloc[:1].assign(ts=pd.Timestamp(START) + pd.Timedelta(minutes=3.5), event=-1)
    return pd.concat([events, added], ignore_index=True)


def test_a_finished_table_that_has_changed_is_refused(spark: SparkSession, key_file: str, events: pd.DataFrame) -> None:
    """A backfill over a table with one more row once released that row bare: the same noise, and
    another total.
    """
    table, more = spark.createDataFrame(events), spark.createDataFrame(one_more(events))
    released = as_releases(count(table, key_file))
    assert released == count_by_hand(events, PLAN, key_file, key="region", closing=None)
    with pytest.raises(evertally.KeyReused, match="they differ at step 3"):
        count(more, key_file)
    with pytest.raises(evertally.KeyReused, match="they differ at step 3"):
        count(more, evertally.NoiseKey.from_file(key_file))
    # The same table again, in other shards and partitions, and as far as it is the same.
    assert as_releases(count(table.repartition(5), key_file, shards=3)) == released
    early = as_releases(count(more, key_file, until="2024-01-08T00:03:00Z"))
    assert early == {name: numbers for name, numbers in released.items() if name[0] < 3}
    # Another count has noise of its own.
    as_releases(count(more, key_file, plan=PLAN.with_stream("more")))


def test_a_table_that_grows_goes_on(spark: SparkSession, key_file: str, events: pd.DataFrame) -> None:
    """What was released stays as it was, and further steps follow."""
    table, more = spark.createDataFrame(events), spark.createDataFrame(one_more(events))
    first = as_releases(count(table, key_file, until="2024-01-08T00:03:00Z"))
    assert {name: numbers for name, numbers in as_releases(count(more, key_file)).items() if name[0] < 3} == first
    with pytest.raises(evertally.KeyReused, match="step 3"):
        count(table, key_file)


@pytest.mark.parametrize("bound", [{}, {"max_steps": 2, "min_gap": 2}], ids=["events", "persons"])
def test_a_process_remembers_keys_without_a_file(spark: SparkSession, events: pd.DataFrame, bound: dict[str, Any]) -> None:
    key = evertally.NoiseKey.generate()
    persons = {"plan": evertally.plan(STEPS, **BUDGET, keys=KEYS, **bound), "person": "person"} if bound else {}
    released = as_releases(count(spark.createDataFrame(events), key, **persons))
    assert as_releases(count(spark.createDataFrame(events), key, **persons)) == released
    with pytest.raises(evertally.KeyReused):
        count(spark.createDataFrame(events.iloc[5:]), key, **persons)
    seed = evertally.NoiseKey.insecure_from_seed(5)
    for rows in (events, events.iloc[5:]):
        as_releases(count(spark.createDataFrame(rows), seed, **persons))


def test_a_source_that_changes_after_it_was_recorded_is_not_released(
    spark: SparkSession, key_file: str, events: pd.DataFrame, tmp_path: Path
) -> None:
    """Spark caches totals between the comparison and the release. If they are lost, they are
    counted again, from a source that may have changed.
    """
    write_files(events, tmp_path / "events", 1)
    counted = count(spark.read.parquet(str(tmp_path / "events")), key_file)
    expected = as_releases(counted)
    # The last event lay behind the range, and comes into it.
    one_more(events).iloc[-1:].to_parquet(tmp_path / "events" / "0001.parquet", coerce_timestamps="us", index=False)
    assert as_releases(counted.where("true")) == expected, "kept totals serve every action"
    spark.catalog.clearCache()
    with pytest.raises(PythonException, match="the table has changed since its totals were recorded"):
        counted.where("true").collect()


def test_totals_are_forgotten_with_the_table(spark: SparkSession, key_file: str, events: pd.DataFrame) -> None:
    kept = spark.sparkContext._jsc.getPersistentRDDs
    gc.collect()
    before = len(kept())
    counted = count(spark.createDataFrame(events), key_file)
    assert len(kept()) == before + 1
    with pytest.raises(evertally.KeyReused):
        count(spark.createDataFrame(one_more(events)), key_file)
    assert len(kept()) == before + 1
    del counted
    gc.collect()
    assert len(kept()) == before


def test_a_second_checkpoint_under_one_key_shows_nothing_and_a_restart_goes_on(
    spark: SparkSession, key_file: str, events: pd.DataFrame, tmp_path: Path
) -> None:
    """Two queries over the same events, each with a directory of its own, once released them under
    the same noise, with what was late in one of them and not in the other.
    """
    write_files(events.iloc[:100], tmp_path / "events", 2)

    def streamed() -> DataFrame:
        return stream(spark, tmp_path / "events", 1)

    run_stream(count(streamed(), key_file, delay="10 seconds"), tmp_path / "one")
    with pytest.raises(StreamingQueryException, match="the noise key serves the same count under another checkpoint"):
        run_stream(count(streamed(), key_file, delay="10 seconds"), tmp_path / "two")
    assert not list((tmp_path / "two").glob("releases/*"))
    # The same checkpoint resumes, and a count of another definition is accepted.
    events.iloc[100:-1].to_parquet(tmp_path / "events" / "9998.parquet", coerce_timestamps="us", index=False)
    events.iloc[-1:].to_parquet(tmp_path / "events" / "9999.parquet", coerce_timestamps="us", index=False)
    run_stream(count(streamed(), key_file, delay="10 seconds"), tmp_path / "one")
    expected = count_by_hand(events, PLAN, key_file, key="region")
    assert as_releases(spark.read.parquet(str(tmp_path / "one" / "releases"))) == expected
    run_stream(count(streamed(), key_file, delay="20 seconds"), tmp_path / "three")
    other = count_by_hand(events, PLAN, key_file, key="region", closing=(20_000_000, 60_000_000))
    assert as_releases(spark.read.parquet(str(tmp_path / "three" / "releases"))) == other != expected


def test_columns_that_are_changed_still_say_whose_they_are(spark: SparkSession, key_file: str, events: pd.DataFrame, tmp_path: Path) -> None:
    write_files(events, tmp_path / "events", 1)

    def streamed() -> DataFrame:
        return stream(spark, tmp_path / "events", 9)

    run_stream(count(streamed(), key_file, delay="10 seconds"), tmp_path / "one")
    changed = count(streamed(), key_file, delay="10 seconds").where("key != 'other'").select("step", (F.col("estimate") + 1).alias("estimate"))
    with pytest.raises(StreamingQueryException, match="under another checkpoint"):
        run_stream(changed, tmp_path / "two")


def test_a_table_of_releases_is_shown_by_its_query(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(0, 1.0)], "step bigint, estimate double")
    marked = rows.select(F.col("step").alias("step", metadata={"evertally": "unknown"}))
    with pytest.raises(evertally.BadState, match="hand ReleaseFiles, .* to foreachBatch"):
        ReleaseFiles(str(tmp_path))(marked, 0)


def test_checkpoints_of_the_first_version_are_refused_with_a_reason(
    spark: SparkSession, key_file: str, events: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What version 0.1 wrote into the state differs from what is written now in the number of the layout."""
    write_files(events.iloc[:100], tmp_path / "events", 2)
    with monkeypatch.context() as first_version:
        first_version.setattr(counts, "LAYOUT", 1)
        run_stream(count(stream(spark, tmp_path / "events", 1), key_file, delay="10 seconds"), tmp_path)
    shown = as_releases(spark.read.parquet(str(tmp_path / "releases")))
    events.iloc[100:].to_parquet(tmp_path / "events" / "9999.parquet", coerce_timestamps="us", index=False)
    with pytest.raises(StreamingQueryException, match="the checkpoint was made by version 0.1"):
        run_stream(count(stream(spark, tmp_path / "events", 1), key_file, delay="10 seconds"), tmp_path)
    assert as_releases(spark.read.parquet(str(tmp_path / "releases"))) == shown


def test_lists_of_keys_have_noise_of_their_own(spark: SparkSession, key_file: str, events: pd.DataFrame) -> None:
    """With one key more in the list, `other` once lost exactly its count: the noise did not depend
    on the list.
    """
    opened = evertally.plan(STEPS, **BUDGET, open_keys=True)
    table = spark.createDataFrame(events)
    few, more = (as_releases(count(table, key_file, plan=opened, keys=keys)) for keys in (["k0", "other"], ["k0", "k1", "other"]))
    # Independent noise, rounded to integers, is the same at one step in ten at most, and at
    # all six in one run of a million.
    assert any(few[step, "k0"] != more[step, "k0"] for step in range(STEPS))
    assert few == count_by_hand(events, opened, key_file, key="region", keys=["k0", "other"], closing=None)
