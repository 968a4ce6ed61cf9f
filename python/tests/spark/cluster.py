"""Sessions, events for them to count, and what the program and one counter release of the same events."""

import csv
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Optional

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
# Virtual machines live for minutes here: what they would save later by compiling well is never
# saved. Executors and the queries that are killed inherit it.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import evertally
from evertally._native import _definition
from evertally.spark import ReleaseFiles, private_counts

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
    """Events in the order of their times, of a few keys more than are declared; the last one lies
    behind the range and lets the watermark pass it.
    """
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
    """The events in files that a stream reads in the order of their names; the last event has a
    file of its own.
    """
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


def count_folder(spark: SparkSession, folder: Path, **choices: Any) -> DataFrame:
    """The private counts of a folder of events by region and minute, with one file per batch."""
    rows = stream(spark, folder / "events", 1)
    return private_counts(
        rows, time="ts", every="1 minute", start=START, key="region", delay="10 seconds", **choices
    )


def writer_into(folder: Path, releases: DataFrame) -> DataStreamWriter:
    """A writer that stops when all files are read; its checkpoint is in the folder."""
    checkpoint = str(folder / "checkpoint")
    return releases.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)


def run_stream(releases: DataFrame, folder: Path, sink: Optional[Any] = None) -> StreamingQuery:
    """Runs a stream until all files are read."""
    writer = writer_into(folder, releases).foreachBatch(sink or ReleaseFiles(str(folder / "releases")))
    query = writer.start()
    query.awaitTermination()
    return query


def run_and_listen(releases: DataFrame, folder: Path, listener: Any, expected: int) -> int:
    """Runs a stream until all files are read, and returns how many rows the listener counts."""
    streams = releases.sparkSession.streams
    streams.addListener(listener)
    try:
        query = run_stream(releases, folder)
        # The listener hears of a batch a moment after it.
        for _ in range(100):
            if listener.of(query) >= expected:
                break
            time.sleep(0.05)
    finally:
        streams.removeListener(listener)
    return int(listener.of(query))


def as_releases(rows: DataFrame) -> Releases:
    """Rows by step and key, with their numbers."""
    keyed = "key" in rows.columns
    found: Releases = {}
    for row in rows.collect():
        name = (row.step, row.key) if keyed else (row.step,)
        assert name not in found, "a release came twice"
        found[name] = (row.estimate, row.standard_error, row.lower, row.upper)
    return found


def run_program(binary: str, events: pd.DataFrame, folder: Path, options: list[str], key_file: str) -> Path:
    """The file of what `evertally count` releases of the same events."""
    path, out = folder / "all.parquet", folder / "releases.csv"
    events.to_parquet(path, coerce_timestamps="us", index=False)
    # A copy without its record: the program records rows, and Spark totals.
    copy = str(shutil.copy(key_file, folder / "copy.key"))
    command = [binary, "count", str(path), "--time", "ts", "--every", "1m", "--from", START, "--outside", "drop"]
    subprocess.run([*command, *options, "--noise-key", copy, "--output", str(out), "--force"], check=True, capture_output=True)
    return out


def count_by_program(binary: str, events: pd.DataFrame, folder: Path, options: list[str], key_file: str) -> Releases:
    """What `evertally count` releases of the same events."""
    found: Releases = {}
    with open(run_program(binary, events, folder, options, key_file), newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            name = (int(row["step"]), row["key"]) if "key" in row else (int(row["step"]),)
            found[name] = (float(row["estimate"]), float(row["standard_error"]), float(row["lower"]), float(row["upper"]))
    return found


def count_by_hand(
    events: pd.DataFrame,
    plan: evertally.Plan,
    noise_key: Any,
    *,
    key: Optional[str] = None,
    keys: Optional[list[str]] = None,
    is_table: bool = False,
    person: Optional[str] = None,
    id: Optional[str] = None,
    value: Optional[str] = None,
    closing: Optional[tuple[int, Optional[int]]] = (10_000_000, MINUTE),
    start: Any = START,
    steps: Optional[int] = None,
) -> Releases:
    """What one counter releases of the true totals of events that differ in their times: of a
    stream whose events may be 10 seconds late, or of a finished table (`closing=None`).
    """
    start_micros = int(pd.Timestamp(start).tz_localize("UTC").value if pd.Timestamp(start).tzinfo is None else pd.Timestamp(start).value) // 1000
    rows = events.sort_values("ts", kind="stable")
    rows = rows.assign(step=(rows["ts"].astype("int64") // _to_micros(rows["ts"]) - start_micros) // MINUTE)
    rows = rows[(rows["step"] >= 0) & (rows["step"] < plan.horizon)]
    if person is not None:
        ids = rows[id].tolist() if id is not None and closing is None else None
        rows = rows[_counting(rows[person].tolist(), rows["step"].tolist(), ids, plan.max_steps, plan.min_gap)]
    elif id is not None:
        # Finished tables know an id for ever, and streams within a step.
        rows = rows.drop_duplicates([id] if closing is None else ["step", id])
    amounts = np.ones(len(rows))
    if value is not None:
        low, high = plan.contribution
        amounts = np.rint(np.clip(rows[value].to_numpy(), low, high) * 2**20) / 2**20
    names = keys if keys is not None else plan.keys
    lanes = np.zeros(len(rows), dtype=int)
    if names is not None:
        places = {name: place for place, name in enumerate(names)}
        lanes = np.array([places.get(name, places.get("other", -1)) for name in rows[key]], dtype=int)
    inputs = np.zeros((plan.horizon if steps is None else steps, 1 if names is None else len(names)))
    np.add.at(inputs, (rows["step"].to_numpy()[lanes >= 0], lanes[lanes >= 0]), amounts[lanes >= 0])
    definition = _definition(
        ("ts", value, key, person, id),
        (start_micros, MINUTE),
        closing,
        plan.contribution if value is not None else None,
        (plan.max_steps, plan.min_gap) if person is not None else None,
        closing is not None,
    )
    if keys is not None:
        plan = plan._part(keys) if is_table else plan.with_keys(keys)
    plan = plan._with_definition(definition)
    secret = noise_key if isinstance(noise_key, evertally.NoiseKey) else evertally.NoiseKey.from_file(noise_key)
    counter: Any = (evertally.Counter if names is None else evertally.KeyedCounter)(plan, secret._without_record())
    releases = counter.run(inputs[:, 0].copy() if names is None else inputs)
    lower, upper = releases.interval(0.95)
    columns = [array.reshape(len(inputs), -1) + 0.0 for array in (releases.values, lower, upper)]
    return {
        (step,) if names is None else (step, names[lane]): (
            float(columns[0][step, lane]), float(releases.standard_errors[step]), float(columns[1][step, lane]), float(columns[2][step, lane])
        )
        for step in range(len(inputs))
        for lane in range(columns[0].shape[1])
    }


def _to_micros(times: Any) -> int:
    """How many units of a column of times make a microsecond."""
    return {"ns": 1000, "us": 1}[times.dtype.unit]


def _counting(
    persons: list[str], steps: list[int], ids: Optional[list[Any]], max_steps: int, min_gap: int
) -> list[bool]:
    """Which events count, in the order of their times: one per person and step, in at most
    max_steps steps, at least min_gap apart, and no id of a person twice.
    """
    counted: dict[str, list[int]] = {}
    known: set[tuple[str, Any]] = set()
    chosen = []
    for place, (person, step) in enumerate(zip(persons, steps)):
        before = counted.setdefault(person, [])
        is_known = ids is not None and (person, ids[place]) in known
        may = not is_known and len(before) < max_steps and (not before or step - before[-1] >= min_gap)
        chosen.append(may)
        if may:
            before.append(step)
            if ids is not None:
                known.add((person, ids[place]))
    return chosen
