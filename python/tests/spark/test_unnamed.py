"""Events that name nobody: they could be anybody's, and change nothing."""

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cluster import START, as_releases, count_by_hand, count_by_program, run_stream, stream, write_files
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import evertally
from evertally._native import _Participants
from evertally.spark import UnnamedRowsNotPrivate, events, private_counts

STEPS = 6
PLAN = evertally.plan(STEPS, epsilon=1.0, delta=1e-6, max_steps=1)
OPTIONS = ["--horizon", str(STEPS), "--epsilon", "1", "--delta", "1e-6", "--person", "person", "--max-steps", "1"]


def at(rows: list[tuple[float, str | None]]) -> pd.DataFrame:
    """An event of a person at each of these minutes."""
    times = [pd.Timestamp(START) + pd.Timedelta(minutes=minute) for minute, _ in rows]
    persons = [person for _, person in rows]
    return pd.DataFrame({"ts": times, "region": "k0", "person": persons, "event": range(len(rows)), "amount": 1.0})


# Unnamed events lie before those of persons, and far ahead of them: they neither take a place nor
# let time pass.
NAMED: list[tuple[float, str | None]] = [(0.1, "ann"), (0.2, "bob"), (1.5, "cid"), (6.5, "eve")]
UNNAMED: list[tuple[float, str | None]] = [(0.05, None), (5.9, ""), (5.9, " "), (5.9, "\u00a0\t")]


def arguments(key_file: str, **more: Any) -> dict[str, Any]:
    return {"time": "ts", "every": "1m", "start": START, "noise_key": key_file, "plan": PLAN, "person": "person", **more}


def test_they_are_left_out_and_counted_by_those_who_ask(spark: SparkSession, binary: str, key_file: str, tmp_path: Path) -> None:
    """They once shared the empty name: the first of them counted, and without it another did, in
    another step. That cost more than was promised.
    """
    rows = at([*UNNAMED, *NAMED])
    # A copy without its record: the program records rows, and Spark totals.
    copy = str(shutil.copy(key_file, tmp_path / "copy.key"))
    by_program = [count_by_program(binary, events, tmp_path, [*OPTIONS, "--noise-key", copy]) for events in (at(NAMED), rows)]
    assert by_program[0] == by_program[1]
    expected = count_by_hand(at(NAMED), PLAN, key_file, person="person", closing=None)
    # Two batches of unnamed events, then the others.
    write_files(rows, tmp_path / "events", 3)
    assert as_releases(private_counts(spark.read.parquet(str(tmp_path / "events")), **arguments(key_file))) == expected

    left_out = UnnamedRowsNotPrivate()
    spark.streams.addListener(left_out)
    try:
        streamed = stream(spark, tmp_path / "events", 1)
        query = run_stream(private_counts(streamed, **arguments(key_file, delay="10 seconds")), tmp_path)
        # The listener hears of a batch a moment after it.
        for _ in range(100):
            if left_out.of(query) >= len(UNNAMED):
                break
            time.sleep(0.05)
    finally:
        spark.streams.removeListener(left_out)
    assert as_releases(spark.read.parquet(str(tmp_path / "releases"))) == count_by_hand(at(NAMED), PLAN, key_file, person="person")
    assert left_out.of(query) == len(UNNAMED)


def test_they_stop_a_query_that_refuses_them(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    given = arguments(key_file, unnamed="refuse")
    for nobody in UNNAMED:
        rows = spark.createDataFrame(at([*NAMED, nobody]))
        with pytest.raises(PySparkException, match="an event names no person"):
            private_counts(rows, **given).collect()
    named = spark.createDataFrame(at(NAMED))
    assert as_releases(private_counts(named, **given)) == as_releases(private_counts(named, **arguments(key_file)))
    write_files(at([*NAMED[:3], *UNNAMED, *NAMED[3:]]), tmp_path / "events", 2)
    counted = private_counts(stream(spark, tmp_path / "events", 1), **given, delay="10 seconds")
    with pytest.raises(StreamingQueryException, match="an event names no person"):
        run_stream(counted, tmp_path)


def test_blank_ids_are_no_ids(spark: SparkSession, key_file: str) -> None:
    """Null ids were left out, and blank ones were copies of one another.

    In a finished table such events are copies of nothing, as in `evertally count`.
    """
    given = {**arguments(key_file, plan=evertally.plan(STEPS, epsilon=1.0, delta=1e-6), id="name"), "person": None}
    blank, named = (
        at([(0.1, "1"), (0.2, "1"), *zip((0.3, 1.3, 2.3, 2.4), ids)]).rename(columns={"person": "name"})
        for ids in (("", " ", None, None), ("2", "3", "4", "5"))
    )
    counted, expected = (as_releases(private_counts(spark.createDataFrame(part), **given)) for part in (blank, named))
    assert counted == expected


def test_names_are_those_of_the_program(spark: SparkSession) -> None:
    """Spark's expression and the function in Rust agree on every character of the basic plane,
    alone and beside another.
    """
    characters = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
    names = [*characters, *(f" {character}\n" for character in characters), "", "\U0001f600"]
    table = spark.createDataFrame(pd.DataFrame({"person": names}))
    kept = {row.person for row in events.named(table, refuse=False).select(F.col("person")).collect()}
    persons = _Participants(1, 1, evertally.NoiseKey.generate())
    admitted = persons.admit(names, np.zeros(len(names), dtype=np.int64))
    assert kept == {name for name, is_named in zip(names, admitted) if is_named}
    assert len(names) - len(kept) == 2 * 25 + 1, "Unicode has 25 characters of whitespace"
