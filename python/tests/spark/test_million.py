"""A million events of ten thousand keys, in other partitions and batches than one machine has."""

from pathlib import Path
from typing import Optional

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
    finished = private_counts(spark.read.parquet(str(tmp_path / "events")), **arguments)  # type: ignore[arg-type]
    released = sorted_by_step_and_key(finished.toPandas())
    assert len(released) == STEPS * len(names) and released.equals(by_hand(events, plan, key_file, None))

    spark.conf.set("spark.sql.shuffle.partitions", 3)
    try:
        streamed = private_counts(stream(spark, tmp_path / "events", 4), delay="5 seconds", **arguments)  # type: ignore[arg-type]
        run_stream(streamed, tmp_path)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 2)
    rows = spark.read.parquet(str(tmp_path / "releases"))
    assert sorted_by_step_and_key(rows.toPandas()).equals(by_hand(events, plan, key_file, (5_000_000, 60_000_000)))

    options = ["--horizon", str(STEPS), "--epsilon", "1", "--delta", "1e-6", "--group-by", "region", "--groups", str(tmp_path / "keys")]
    by_program = run_program(binary, events, tmp_path, options, key_file)
    assert sorted_by_step_and_key(pd.read_csv(by_program, comment="#", float_precision="round_trip")).equals(released)


def by_hand(events: pd.DataFrame, plan: evertally.Plan, key_file: str, closing: Optional[tuple[int, int]]) -> pd.DataFrame:
    found = count_by_hand(events, plan, key_file, key="region", closing=closing)
    rows = [(*name, *numbers) for name, numbers in found.items()]
    return sorted_by_step_and_key(pd.DataFrame(rows, columns=["step", "key", *NUMBERS]))


def sorted_by_step_and_key(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[["step", "key", *NUMBERS]].astype({name: "float64" for name in NUMBERS} | {"step": "int64"})
    return rows.sort_values(["step", "key"], ignore_index=True)
