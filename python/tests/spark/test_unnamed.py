"""Events that name nobody: they could be anybody's, and change nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cluster import START, as_releases, count_by_hand, count_by_program, run_and_listen, run_stream, stream, write_files
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
    by_program = [count_by_program(binary, events, tmp_path, OPTIONS, key_file) for events in (at(NAMED), rows)]
    assert by_program[0] == by_program[1]
    expected = count_by_hand(at(NAMED), PLAN, key_file, person="person", closing=None)
    # Two batches of unnamed events, then the others.
    write_files(rows, tmp_path / "events", 3)
    assert as_releases(private_counts(spark.read.parquet(str(tmp_path / "events")), **arguments(key_file))) == expected

    counted = private_counts(stream(spark, tmp_path / "events", 1), **arguments(key_file, delay="10 seconds"))
    left_out = run_and_listen(counted, tmp_path, UnnamedRowsNotPrivate(), len(UNNAMED))
    assert as_releases(spark.read.parquet(str(tmp_path / "releases"))) == count_by_hand(at(NAMED), PLAN, key_file, person="person")
    assert left_out == len(UNNAMED)


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


def test_bytes_that_are_not_text_name_nobody(spark: SparkSession, key_file: str) -> None:
    """They were repaired: the persons FF and FE had one name, U+FFFD, and shared the bound of one
    person. Without the one, the other counted. The same held for their ids.
    """
    rows = spark.createDataFrame(at([(0.1, "ann"), (0.2, "bob"), (1.5, "ann")])).drop("region", "event", "amount")
    strange = spark.sql("select timestamp'2024-01-08T00:00:03Z' as ts, cast(bytes as string) as person from values (x'ff'), (x'fe'), (x'61ff'), (x'eda080') as t(bytes)")
    expected = as_releases(private_counts(rows, **arguments(key_file)))
    assert as_releases(private_counts(rows.unionByName(strange), **arguments(key_file))) == expected
    with pytest.raises(PySparkException, match="an event names no person"):
        private_counts(rows.unionByName(strange), **arguments(key_file, unnamed="refuse")).collect()
    # In a finished table, events without an id are copies of nothing: all four count.
    given = {**arguments(key_file, plan=evertally.plan(STEPS, epsilon=1.0, delta=1e-6), id="person"), "person": None}
    named = spark.createDataFrame(at([(0.05, name) for name in "cdef"])).select("ts", "person")
    counted, different = (as_releases(private_counts(rows.unionByName(more), **given)) for more in (strange, named))
    assert counted == different


def test_names_are_trimmed(spark: SparkSession, binary: str, key_file: str, tmp_path: Path) -> None:
    """`evertally count` trimmed names and Spark did not: "ann" and "ann " were one person there and
    two here, under the same noise. A blank key was a key, and came after null.
    """
    rows = at([(0.1, "ann"), (1.1, "ann\u2003"), (2.1, "\tann"), (0.2, "bob "), (0.2, "bob"), (3.1, "cid")])
    rows = rows.assign(region=["k0", " k0", "k0", None, "", "k1\u00a0"], event=["1", " 1", "2", None, " ", "3"], amount=[1.0, 1.0, 1.0, 5.0, 3.0, 1.0])
    options = [*OPTIONS, "--group-by", "region", "--groups", "k0,k1", "--id", "event", "--value", "amount", "--clamp", "0,8"]
    expected = count_by_program(binary, rows, tmp_path, options, key_file)
    plan = evertally.plan(STEPS, epsilon=1.0, delta=1e-6, max_steps=1, keys=["k0", "k1", "other"], contribution=(0.0, 8.0))
    given = arguments(key_file, plan=plan, key="region", id="event", value="amount")
    assert as_releases(private_counts(spark.createDataFrame(rows), **given)) == expected


def test_declared_keys_are_names_too(spark: SparkSession, key_file: str) -> None:
    plan = evertally.plan(STEPS, epsilon=1.0, delta=1e-6, open_keys=True)
    given = {**arguments(key_file, plan=plan, key="region"), "person": None}
    rows = spark.createDataFrame(at(NAMED))
    tables = [spark.createDataFrame([(name,) for name in names], "name string") for names in (["k0", "k1"], ["k0 ", "k0", "k1", " ", None])]
    plain, padded = (as_releases(private_counts(rows, keys=table, **given)) for table in tables)
    assert plain == padded and len(plain) == 2 * STEPS


def test_names_are_those_of_the_program(spark: SparkSession) -> None:
    """Spark's expression and the function in Rust agree on every character of the basic plane,
    alone and beside another.
    """
    characters = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
    names = [*characters, *(f" {character}\n" for character in characters), *(f"a{character}b" for character in characters), "", "\U0001f600"]
    table = spark.createDataFrame(pd.DataFrame({"person": names}))
    found = [row.name for row in table.select(events.as_name(F.col("person")).alias("name")).collect()]
    assert found == [name.strip(events.WHITESPACE) or None for name in names]
    # A name may come twice, trimmed.
    persons = _Participants(2, 1, evertally.NoiseKey.generate())
    is_named = persons.admit(names, np.arange(len(names)))
    assert is_named.tolist() == [name is not None for name in found]
    assert found.count(None) == 2 * 25 + 1, "Unicode has 25 characters of whitespace"
