"""What Spark releases is what `evertally count` releases, to the bit."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cluster import START, as_releases, count_by_program, make_events, run_stream, stream, write_files
from pyspark.sql import SparkSession

import evertally
from evertally.spark import private_counts


STEPS = 12
KEYS = [f"k{number}" for number in range(9)]
BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
OPTIONS = ["--steps", str(STEPS), "--epsilon", "1", "--delta", "1e-6"]


def cases() -> list[Any]:
    """What is counted: the arguments of Spark, the choices of the plan, the options of the program."""
    declared = [*KEYS, "other"]
    with_keys = ["--key", "region", "--keys", ",".join(KEYS)]
    bounded = {"max_steps": 3, "min_gap": 2}
    with_persons = ["--person", "person", "--max-steps", "3", "--min-gap", "2"]
    return [
        pytest.param({}, {}, [], id="one total"),
        pytest.param({"key": "region", "shards": 3}, {"keys": declared}, with_keys, id="keys in three shards"),
        pytest.param({"key": "region", "keys": declared}, {"open_keys": True}, with_keys, id="keys declared here"),
        pytest.param(
            {"key": "region", "value": "amount"},
            {"keys": declared, "contribution": (-0.5, 5.25)},
            [*with_keys, "--value", "amount", "--clamp", "-0.5,5.25"],
            id="values",
        ),
        pytest.param({"key": "region", "id": "event"}, {"keys": declared}, [*with_keys, "--id", "event"], id="ids"),
        pytest.param(
            {"key": "region", "person": "person"}, {"keys": declared, **bounded}, [*with_keys, *with_persons], id="persons"
        ),
        pytest.param(
            {"person": "person", "value": "amount"},
            {"contribution": (0.0, 4.0), **bounded},
            [*with_persons, "--value", "amount", "--clamp", "0,4"],
            id="values of persons",
        ),
        pytest.param(
            {"key": "region"}, {"keys": declared, "workload": ("window", 4)}, [*with_keys, "--window", "4"], id="windows"
        ),
    ]


@pytest.mark.parametrize(("arguments", "choices", "options"), cases())
def test_streams_and_finished_tables_release_what_the_program_does(
    spark: SparkSession,
    binary: str,
    key_file: str,
    tmp_path: Path,
    arguments: dict[str, Any],
    choices: dict[str, Any],
    options: list[str],
) -> None:
    events = make_events(3000, len(KEYS), STEPS, seed=1)
    if "id" in arguments:
        # Copies, some of them far behind: those of one id are one event.
        copies = events.iloc[:-1].sample(500, random_state=2)
        events = pd.concat([events.iloc[:-1], copies, events.iloc[-1:]], ignore_index=True).sort_values("ts", kind="stable")
    write_files(events, tmp_path / "events", 4)
    plan = evertally.plan(STEPS, **BUDGET, **choices)
    expected = count_by_program(binary, events, tmp_path, [*OPTIONS, *options, "--key-file", key_file])
    arguments = {"time": "ts", "every": "1 minute", "start": START, "plan": plan, "noise_key": key_file, **arguments}
    assert len(expected) == STEPS * (len(KEYS) + 1 if "key" in arguments else 1)

    streamed = stream(spark, tmp_path / "events", 2)
    run_stream(private_counts(streamed, delay="10 seconds", **arguments), tmp_path)
    assert as_releases(spark.read.parquet(str(tmp_path / "releases"))) == expected

    finished = spark.read.parquet(str(tmp_path / "events"))
    assert as_releases(private_counts(finished, **arguments)) == expected
