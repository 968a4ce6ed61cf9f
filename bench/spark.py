"""Times Spark jobs with and without privacy on request, for `cargo xtask bench spark`.

Each line of input is a task and its arguments. Each line of output is a document of measurements. All tasks share one
session. The two kinds of query differ only in the private step: source, time range, watermark, declared keys,
aggregation by window and sink are the same.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import evertally
from evertally.spark import noise, private_counts
from evertally.spark.arguments import PROVIDER, ROCKSDB

START = "2026-01-05T00:00:00Z"
MINUTE = 60_000_000
STEPS = 60
BATCHES = 10
# Zipf's law over the declared keys.
EXPONENT = 1.1
BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
SCHEMA = "ts timestamp, region string"


def build_session(cores: int) -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        # Both kinds of query use the same state store, which writes changes only.
        PROVIDER: ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("evertally bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def names(keys: int) -> list[str]:
    return [f"key-{number:06}" for number in range(keys)]


def write_events(folder: Path, events: int, keys: int) -> None:
    """The events of all steps in order of time, in one file per core and batch. They are written once."""
    done = folder / "_DONE"
    if done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(1)
    weights = np.arange(1, keys + 1) ** -EXPONENT
    start = int(pd.Timestamp(START).value) // 1000
    times = np.sort(random.integers(0, STEPS * MINUTE, events)) + start
    regions = np.array(names(keys), dtype=object)[random.choice(keys, events, p=weights / weights.sum())]
    cuts = np.linspace(0, events, 2 * BATCHES + 1).astype(int).tolist()
    for number, (first, last) in enumerate(zip(cuts, cuts[1:])):
        path = folder / f"{number:04}.parquet"
        table = pd.DataFrame({"ts": pd.to_datetime(times[first:last], unit="us", utc=True), "region": regions[first:last]})
        table.to_parquet(path, coerce_timestamps="us", index=False)
        # A stream reads files in order of age.
        os.utime(path, (1_700_000_000 + number,) * 2)
    done.touch()


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.queries = 0
        self.spark = build_session(2)
        self.key_file = folder / "noise.key"
        if not self.key_file.exists():
            evertally.NoiseKey.generate().to_file(self.key_file)

    def events(self, events: int, keys: int) -> DataFrame:
        folder = self.folder / f"events-{events}-{keys}"
        write_events(folder, events, keys)
        return self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).parquet(str(folder))

    def private(self, events: DataFrame, keys: int) -> DataFrame:
        plan = evertally.plan(STEPS, **BUDGET, keys=[*names(keys), "other"])
        return private_counts(
            events, time="ts", every="1 minute", start=START, delay="10 seconds", key="region", plan=plan, noise_key=self.key_file
        )

    def plain(self, events: DataFrame, keys: int) -> DataFrame:
        """The same totals without privacy: for the same time range, with other keys under one name."""
        declared = F.broadcast(self.spark.createDataFrame([(name,) for name in [*names(keys), "other"]], "declared string"))
        start = F.lit(START).cast("timestamp")
        ahead = F.current_timestamp() + F.expr("interval 1 minute")
        inside = (F.col("ts") >= start) & (F.col("ts") < start + F.expr(f"interval {STEPS} minutes"))
        rows = events.where(F.col("ts") <= ahead).withWatermark("ts", "10 seconds").where(inside)
        rows = rows.select("ts", F.col("region").alias("key"))
        rows = rows.join(declared, F.col("key") == F.col("declared"), "left").withColumn("key", F.coalesce("declared", F.lit("other")))
        return rows.groupBy(F.window("ts", "1 minute"), "key").count()

    def query(self, kind: str, events: int, keys: int, partitions: int) -> dict[str, Any]:
        """The seconds from the call to the end of a query, and the progress reports of its batches."""
        self.spark.conf.set("spark.sql.shuffle.partitions", partitions)
        # Each query has its own directory, because Spark may still be cleaning up the previous one.
        self.queries += 1
        checkpoint = self.folder / f"checkpoint-{self.queries}"
        for earlier in self.folder.glob("checkpoint-*"):
            shutil.rmtree(earlier, ignore_errors=True)
        source = self.events(events, keys)
        began, worked = time.perf_counter(), processor_seconds()
        rows = {"private": self.private, "plain": self.plain}[kind](source, keys)
        writer = rows.writeStream.format("noop").outputMode("append").option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds, worked = time.perf_counter() - began, processor_seconds() - worked
        batches = [json.loads(progress.json) for progress in query.recentProgress]
        seen = sum(batch["numInputRows"] for batch in batches)
        assert seen == events, (seen, events)
        durations: dict[str, float] = {}
        for batch in batches:
            for part, spent in batch["durationMs"].items():
                durations[part] = durations.get(part, 0.0) + spent / 1000
        for batch in batches:
            for operator in batch["stateOperators"]:
                label = "shards" if operator["operatorName"].startswith("transformWithState") else "totals"
                for part in ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs"):
                    name = f"{label}: {part.removesuffix('TimeMs')}"
                    durations[name] = durations.get(name, 0.0) + operator[part] / 1000
        spent = [batch["durationMs"]["triggerExecution"] / 1000 for batch in batches]
        return {
            "seconds": seconds,
            "processor_seconds": worked,
            # The steady state of a query: the first batch loads the libraries and creates the state
            # of every key.
            "going_seconds": sum(spent[1:]),
            "going_events": sum(batch["numInputRows"] for batch in batches[1:]),
            # All but the last step, which ends after the watermark. The first batch closes none,
            # because the watermark moves after it.
            "going_steps": STEPS - 1,
            "batch_seconds": spent,
            "durations": durations,
            "state_bytes_per_key": written_state(checkpoint, keys),
        }

    def noise(self, dimension: int, steps: int, slices: int) -> dict[str, Any]:
        """The seconds of a job that makes the noise of some steps and discards it."""
        rows = noise(dimension, spark=self.spark, noise_key=self.key_file, steps=range(steps), slices=slices, horizon=1000, **BUDGET)
        began = time.perf_counter()
        rows.write.format("noop").mode("overwrite").save()
        return {"seconds": time.perf_counter() - began}

    def answer(self, words: list[str]) -> dict[str, Any]:
        match words:
            case ["query", kind, events, keys, partitions]:
                return self.query(kind, int(events), int(keys), int(partitions))
            case ["noise", dimension, steps, slices]:
                return self.noise(int(dimension), int(steps), int(slices))
        raise SystemExit(f"unknown task {words}")


def processor_seconds() -> float:
    """The processor time of this process and its descendants, if the system reports it. Other load on the machine does not increase it."""
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of a program may contain any character. It ends with the last parenthesis.
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        # Includes children that have ended.
        spent[number] = sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    ours, found = {os.getpid()}, 0
    while len(ours) > found:
        found = len(ours)
        ours |= {number for number, parent in parents.items() if parent in ours}
    return sum(spent[number] for number in ours if number in spent)


def written_state(checkpoint: Path, keys: int) -> float:
    """The bytes per key that a batch writes for the operator with the larger state, as compressed by Spark: the whole state of its shards."""
    written: dict[tuple[str, str], int] = {}
    for path in (checkpoint / "state").glob("*/*/*.changelog"):
        place = (path.parts[-3], path.name)
        written[place] = written.get(place, 0) + path.stat().st_size
    operators = {operator for operator, _ in written}
    medians = [float(np.median([size for place, size in written.items() if place[0] == operator])) for operator in operators]
    return max(medians, default=0.0) / keys


def main() -> None:
    # Only answers go to standard output. All other output, including Java's, goes to standard
    # error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    bench = Bench(Path(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(bench.answer(line.split())), file=answers, flush=True)


if __name__ == "__main__":
    main()
