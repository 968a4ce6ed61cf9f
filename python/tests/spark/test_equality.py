"""What Spark releases is what one counter releases of the true totals, and, of a finished table,
what `evertally count` does, to the bit.
"""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cluster import START, as_releases, count_by_hand, count_by_program, make_events, run_stream, stream, write_files
from pyspark.sql import SparkSession

import evertally
from evertally.spark import private_counts


STEPS = 12
KEYS = [f"k{number}" for number in range(9)]
BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
OPTIONS = ["--horizon", str(STEPS), "--epsilon", "1", "--delta", "1e-6"]


def cases() -> list[Any]:
    """What is counted: the arguments of Spark, the choices of the plan, the options of the program."""
    declared = [*KEYS, "other"]
    with_keys = ["--group-by", "region", "--groups", ",".join(KEYS)]
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
            {"key": "region", "person": "person", "id": "event"},
            {"keys": declared, **bounded},
            [*with_keys, *with_persons, "--id", "event"],
            id="ids of persons",
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


def events_of(arguments: dict[str, Any]) -> pd.DataFrame:
    events = make_events(3000, len(KEYS), STEPS, seed=1)
    if "id" in arguments:
        # Copies, some of them of a later minute and some far behind: those of one id are one event.
        copies = events.iloc[:-1].sample(500, random_state=2)
        moved = copies.iloc[:250].assign(ts=copies["ts"].iloc[:250] + pd.Timedelta(minutes=1, microseconds=1))
        moved = moved[moved["ts"] < pd.Timestamp(START) + pd.Timedelta(minutes=STEPS)]
        parts = [events.iloc[:-1], copies.iloc[250:], moved, events.iloc[-1:]]
        events = pd.concat(parts, ignore_index=True).sort_values("ts", kind="stable")
    return events


@pytest.mark.parametrize(("arguments", "choices", "options"), cases())
def test_streams_and_finished_tables_release_what_one_counter_does(
    spark: SparkSession, key_file: str, tmp_path: Path, arguments: dict[str, Any], choices: dict[str, Any], options: list[str]
) -> None:
    events = events_of(arguments)
    write_files(events, tmp_path / "events", 4)
    plan = evertally.plan(STEPS, **BUDGET, **choices)
    by_hand = {name: given for name, given in arguments.items() if name != "shards"}
    given = {"time": "ts", "every": "1 minute", "start": START, "plan": plan, "noise_key": key_file, **arguments}

    streamed = stream(spark, tmp_path / "events", 2)
    run_stream(private_counts(streamed, delay="10 seconds", **given), tmp_path)
    expected = count_by_hand(events, plan, key_file, **by_hand)
    assert len(expected) == STEPS * (len(KEYS) + 1 if "key" in arguments else 1)
    assert as_releases(spark.read.parquet(str(tmp_path / "releases"))) == expected

    finished = spark.read.parquet(str(tmp_path / "events"))
    assert as_releases(private_counts(finished, **given)) == count_by_hand(events, plan, key_file, **by_hand, closing=None)


@pytest.mark.parametrize(("arguments", "choices", "options"), cases())
def test_finished_tables_release_what_the_program_does(
    spark: SparkSession,
    binary: str,
    key_file: str,
    tmp_path: Path,
    arguments: dict[str, Any],
    choices: dict[str, Any],
    options: list[str],
) -> None:
    """Both decide by time, then by content: neither the order of a file nor that of partitions
    matters. Some events differ in their content alone.
    """
    events = events_of(arguments)
    tied = events.iloc[:-1].sample(300, random_state=3)
    tied = tied.assign(region="k1", event=tied["event"] + 10_000, amount=tied["amount"] + 1.0)
    events = pd.concat([events, tied], ignore_index=True)
    write_files(events, tmp_path / "events", 4)
    plan = evertally.plan(STEPS, **BUDGET, **choices)
    shuffled = events.sample(frac=1.0, random_state=4)
    expected = count_by_program(binary, shuffled, tmp_path, [*OPTIONS, *options], key_file)
    assert len(expected) == STEPS * (len(KEYS) + 1 if "key" in arguments else 1)
    finished = spark.read.parquet(str(tmp_path / "events"))
    given = {"time": "ts", "every": "1 minute", "start": START, "plan": plan, "noise_key": key_file, **arguments}
    assert as_releases(private_counts(finished, **given)) == expected
