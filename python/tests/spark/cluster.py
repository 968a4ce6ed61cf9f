"""Sessions, events for them to count, and what the program releases of the same events."""

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from evertally.spark import ReleaseFiles

START = "2024-01-08T00:00:00Z"
MINUTE = 60_000_000
Releases = dict[tuple[Any, ...], tuple[float, float, float, float]]


def build_session(master: str, **settings: Any) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("evertally")
    defaults = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        # Not UTC, and with clocks that are set back: no time may depend on it.
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    }
    for name, value in {**defaults, **settings}.items():
        builder = builder.config(name, str(value))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def make_events(count: int, keys: int, steps: int, seed: int, persons: int = 50) -> pd.DataFrame:
    """Events in the order of their times, of a few keys more than are declared; the last one lies behind the range and lets the watermark pass it."""
    random = np.random.default_rng(seed)
    start = int(pd.Timestamp(START).value) // 1000
    times = np.sort(random.choice(steps * MINUTE, count, replace=False)) + start
    events = pd.DataFrame(
        {
            "ts": pd.to_datetime(times, unit="us", utc=True),
            "region": [f"k{number}" for number in random.zipf(1.3, count) % (keys + 3)],
            "person": [f"p{number}" for number in random.integers(0, persons, count)],
            "event": np.arange(count),
            "amount": random.normal(3.0, 4.0, count),
        }
    )
    end = pd.DataFrame({**events.iloc[:1].to_dict("list"), "ts": [pd.Timestamp(START) + pd.Timedelta(minutes=steps, seconds=30)], "event": [count]})
    return pd.concat([events, end], ignore_index=True)


def write_files(events: pd.DataFrame, folder: Path, files: int) -> None:
    """The events in files that a stream reads in the order of their names; the last event has a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = np.linspace(0, len(events) - 1, files + 1).astype(int).tolist()
    parts = [events.iloc[first:last] for first, last in zip(cuts, cuts[1:])] + [events.iloc[-1:]]
    for number, part in enumerate(parts):
        path = folder / f"{number:04}.parquet"
        part.to_parquet(path, coerce_timestamps="us", index=False)
        # A stream takes files by their age.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


SCHEMA = "ts timestamp, region string, person string, event bigint, amount double"


def stream(spark: SparkSession, folder: Path, files_at_once: int) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_at_once)
    return reader.parquet(str(folder))


def run_stream(releases: DataFrame, folder: Path, sink: Optional[Any] = None) -> StreamingQuery:
    """Runs a stream until all files are read."""
    writer = releases.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer = writer.foreachBatch(sink or ReleaseFiles(str(folder / "releases")))
    query = writer.start()
    query.awaitTermination()
    return query


def as_releases(rows: DataFrame) -> Releases:
    """Rows by step and key, with their numbers."""
    keyed = "key" in rows.columns
    found: Releases = {}
    for row in rows.collect():
        name = (row.step, row.key) if keyed else (row.step,)
        assert name not in found, "a release came twice"
        found[name] = (row.estimate, row.standard_error, row.lower, row.upper)
    return found


def run_program(binary: str, events: pd.DataFrame, folder: Path, options: list[str]) -> Path:
    """The file of what `evertally count` releases of the same events."""
    path, out = folder / "all.parquet", folder / "releases.csv"
    events.to_parquet(path, coerce_timestamps="us", index=False)
    command = [binary, "count", str(path), "--time", "ts", "--every", "1m", "--from", START, "--outside", "drop"]
    subprocess.run([*command, *options, "--output", str(out)], check=True, capture_output=True)
    return out


def count_by_program(binary: str, events: pd.DataFrame, folder: Path, options: list[str]) -> Releases:
    """What `evertally count` releases of the same events."""
    found: Releases = {}
    with open(run_program(binary, events, folder, options), newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            name = (int(row["step"]), row["key"]) if "key" in row else (int(row["step"]),)
            found[name] = (float(row["estimate"]), float(row["standard_error"]), float(row["lower"]), float(row["upper"]))
    return found
