"""A million events of ten thousand keys, in other partitions and batches than one machine has."""

import shutil
from pathlib import Path

import pandas as pd
from cluster import START, count_by_hand, make_events, run_program, run_stream, stream, write_files
from pyspark.sql import SparkSession

import evertally
from evertally.spark import private_counts

KEYS = 10_000
STEPS = 8
NUMBERS = ["estimate", "standard_error", "lower", "upper"]


def test_a_million_events_of_ten_thousand_keys(spark: SparkSession, binary: str, key_file: str, tmp_path: Path) -> None:
    events = make_events(1_000_000, KEYS, STEPS, seed=6)
    names = [*(f"k{number}" for number in range(KEYS)), "other"]
    (tmp_path / "keys").write_text("\n".join(names[:-1]))
    write_files(events, tmp_path / "events", 9)
    plan = evertally.plan(STEPS, epsilon=1.0, delta=1e-6, keys=names)
    arguments = {"time": "ts", "every": "1 minute", "start": START, "key": "region", "plan": plan, "noise_key": key_file}
    options = ["--steps", str(STEPS), "--epsilon", "1", "--delta", "1e-6", "--key", "region", "--keys", str(tmp_path / "keys")]
    released = run_program(binary, events, tmp_path, [*options, "--key-file", str(shutil.copy(key_file, tmp_path / "copy.key"))])
    expected = sorted_by_step_and_key(pd.read_csv(released, comment="#", float_precision="round_trip"))
    assert len(expected) == STEPS * len(names)

    finished = private_counts(spark.read.parquet(str(tmp_path / "events")), **arguments)  # type: ignore[arg-type]
    assert sorted_by_step_and_key(finished.toPandas()).equals(expected)

    spark.conf.set("spark.sql.shuffle.partitions", 3)
    try:
        streamed = private_counts(stream(spark, tmp_path / "events", 4), delay="5 seconds", **arguments)  # type: ignore[arg-type]
        run_stream(streamed, tmp_path)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 2)
    rows = spark.read.parquet(str(tmp_path / "releases"))
    by_hand = count_by_hand(events, plan, key_file, key="region", closing=(5_000_000, 60_000_000))
    expected = pd.DataFrame([(*name, *numbers) for name, numbers in by_hand.items()], columns=["step", "key", *NUMBERS])
    assert sorted_by_step_and_key(rows.toPandas()).equals(sorted_by_step_and_key(expected))


def sorted_by_step_and_key(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[["step", "key", *NUMBERS]].astype({name: "float64" for name in NUMBERS} | {"step": "int64"})
    return rows.sort_values(["step", "key"], ignore_index=True)
