"""Keys that nobody declared, and different persons, in finished tables: what the program releases."""

import pickle
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pandas as pd
import pytest
from cluster import (
    MINUTE,
    START,
    as_releases,
    count_by_hand,
    count_by_program,
    make_events,
    run_stream,
    stream,
    write_files,
)
from pyspark.sql import DataFrame, SparkSession

import evertally
from evertally._native import _definition
from evertally.spark import found, private_counts
from evertally.spark.record import RecordedDigests
from evertally.spark.shards import Job

STEPS = 8
BUDGET: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-5}
OPTIONS = ["--horizon", str(STEPS), "--epsilon", "2", "--delta", "1e-5"]
FIND = ["--group-by", "region", "--discover", "--person", "person"]


def events_of(count: int = 4000, persons: int = 1500) -> pd.DataFrame:
    """Events of many regions, of which few have many persons, some copies, and some that are alike but for
    their content.
    """
    events = make_events(count, 60, STEPS, seed=1, persons=persons)
    copies = events.iloc[:-1].sample(300, random_state=2)
    tied = events.iloc[:-1].sample(300, random_state=3)
    tied = tied.assign(region="k1", event=tied["event"] + 10_000, amount=tied["amount"] + 1.0)
    return pd.concat([events.iloc[:-1], copies, tied, events.iloc[-1:]], ignore_index=True)


def table(spark: SparkSession, events: pd.DataFrame, folder: Path) -> DataFrame:
    write_files(events, folder / "events", 4)
    return spark.read.parquet(str(folder / "events"))


def given(**arguments: Any) -> dict[str, Any]:
    return {"time": "ts", "every": "1 minute", "start": START, **arguments}


@pytest.mark.parametrize(
    ("arguments", "choices", "options"),
    [
        pytest.param({}, {}, ["--max-steps", "1"], id="one step"),
        pytest.param({"shards": 3}, {"max_steps": 3, "floor": 1}, ["--max-steps", "3", "--discover-floor", "1"], id="three shards"),
        pytest.param(
            {"value": "amount", "shards": 1},
            {"max_steps": 2, "min_gap": 3, "contribution": (-0.5, 5.25), "share": 0.7},
            ["--max-steps", "2", "--min-gap", "3", "--value", "amount", "--clamp", "-0.5,5.25", "--discover-share", "0.7"],
            id="values",
        ),
        pytest.param({"id": "event"}, {"max_steps": 4}, ["--max-steps", "4", "--id", "event"], id="ids"),
    ],
)
def test_a_finished_table_finds_what_the_program_finds(
    spark: SparkSession,
    binary: str,
    key_file: str,
    tmp_path: Path,
    arguments: dict[str, Any],
    choices: dict[str, Any],
    options: list[str],
) -> None:
    events = events_of()
    discovery = evertally.discover(STEPS, **BUDGET, **choices)
    shuffled = events.sample(frac=1.0, random_state=4)
    expected = count_by_program(binary, shuffled, tmp_path, [*OPTIONS, *FIND, *options], key_file)
    arguments = given(plan=discovery, noise_key=key_file, key="region", person="person", **arguments)
    rows = private_counts(table(spark, events, tmp_path), **arguments)
    assert as_releases(rows) == expected
    names = {name for _, name in expected}
    assert 1 < len(names) < events["region"].nunique(), "some keys are found, and some are hidden"


def test_hidden_keys_are_in_no_row_and_no_number_of_partitions(spark: SparkSession, tmp_path: Path) -> None:
    few = events_of()
    random = np.random.default_rng(6)
    hidden = few.iloc[:-1].sample(2000, random_state=7).assign(
        region=[f"canary-{number}" for number in range(2000)], person=[f"q{number}" for number in random.permutation(2000)]
    )
    many = pd.concat([hidden, few], ignore_index=True).sort_values("ts", kind="stable")
    discovery = evertally.discover(STEPS, **BUDGET, max_steps=2)
    seen = []
    for number, events in enumerate((few, many)):
        arguments = given(plan=discovery, noise_key=key_of(tmp_path, number), key="region", person="person")
        rows = private_counts(table(spark, events, tmp_path / str(number)), **arguments)
        seen.append((as_releases(rows), rows.rdd.getNumPartitions(), rows.schema))
    assert seen[0] == seen[1] and seen[0][0]


def key_of(folder: Path, number: int) -> str:
    """The same key in two files, each with a record of its own."""
    path = folder / f"{number}.key"
    evertally.NoiseKey.insecure_from_seed(3).to_file(path)
    return str(path)


def test_events_without_a_key_or_a_person_do_not_count(spark: SparkSession, tmp_path: Path) -> None:
    events = events_of(count=2000).iloc[:-1]
    extra = events.sample(400, random_state=5).assign(person="someone")
    unnamed = [extra.assign(region=region) for region in (None, " ", "x" * 4097)] + [
        extra.assign(region="unowned", person=person) for person in (None, " \t")
    ]
    discovery = evertally.discover(STEPS, **BUDGET)
    arguments = given(plan=discovery, key="region", person="person")
    seen = []
    for number, rows in enumerate((events, pd.concat([*unnamed, events], ignore_index=True))):
        folder = tmp_path / str(number)
        seen.append(as_releases(private_counts(table(spark, rows, folder), noise_key=key_of(tmp_path, number), **arguments)))
    assert seen[0] == seen[1] and seen[0]


def test_one_key_finds_keys_in_one_table(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    events = events_of(count=2000)
    discovery = evertally.discover(STEPS, **BUDGET)
    arguments = given(plan=discovery, noise_key=key_file, key="region", person="person")
    first = as_releases(private_counts(table(spark, events, tmp_path / "one"), **arguments))
    again = as_releases(private_counts(table(spark, events, tmp_path / "one"), shards=5, **arguments))
    assert first == again
    changed = events.assign(person=events["person"].where(events["event"] != 7, "somebody else"))
    with pytest.raises(evertally.KeyReused):
        private_counts(table(spark, changed, tmp_path / "two"), **arguments)


def test_what_does_not_fit_is_refused_before_anything_is_released(
    spark: SparkSession, key_file: str, tmp_path: Path
) -> None:
    discovery = evertally.discover(STEPS, **BUDGET, memory_limit=20_000)
    arguments = given(plan=discovery, noise_key=key_file, key="region", person="person")
    with pytest.raises(Exception, match="memory limit") as caught:
        private_counts(table(spark, events_of(), tmp_path), **arguments)
    assert "k1" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "choices", "options"),
    [
        pytest.param({}, {"max_steps": 1}, [], id="persons"),
        pytest.param({"key": "region"}, {"max_steps": 1, "keys": ["k0", "k1", "k2", "other"]}, ["--group-by", "region", "--groups", "k0,k1,k2"], id="one key"),
        pytest.param(
            {"key": "region", "shards": 2},
            {"keys_per_person": 3, "keys": ["k0", "k1", "k2", "k3", "other"]},
            ["--group-by", "region", "--groups", "k0,k1,k2,k3", "--groups-per-person", "3"],
            id="three keys",
        ),
    ],
)
def test_different_persons_are_those_of_the_program(
    spark: SparkSession,
    binary: str,
    key_file: str,
    tmp_path: Path,
    arguments: dict[str, Any],
    choices: dict[str, Any],
    options: list[str],
) -> None:
    events = events_of(persons=300)
    # Several keys of a person at the same moment: the first by name counts first.
    moments = events["ts"].dt.floor("10s").where(events.index % 3 == 0, events["ts"])
    events = events.assign(ts=moments).sort_values("ts", kind="stable")
    shuffled = events.sample(frac=1.0, random_state=4)
    expected = count_by_program(binary, shuffled, tmp_path, [*OPTIONS, "--distinct", "person", *options], key_file)
    plan = evertally.plan(STEPS, **BUDGET, **choices)
    rows = private_counts(table(spark, events, tmp_path), **given(plan=plan, noise_key=key_file, distinct="person", **arguments))
    assert as_releases(rows) == expected


def test_a_stream_counts_different_persons(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    events = make_events(3000, 4, STEPS, seed=1, persons=300)
    write_files(events, tmp_path / "events", 3)
    plan = evertally.plan(STEPS, **BUDGET, max_steps=1)
    released = private_counts(
        stream(spark, tmp_path / "events", 1), delay="10 seconds", **given(plan=plan, noise_key=key_file, distinct="person")
    )
    run_stream(released, tmp_path)
    assert as_releases(spark.read.parquet(str(tmp_path / "releases"))) == count_by_hand(events, plan, key_file, person="person")


def refused() -> list[Any]:
    discovery = evertally.discover(STEPS, **BUDGET)
    keyed = evertally.plan(STEPS, keys=["k0", "other"], keys_per_person=2)
    once = evertally.plan(STEPS, max_steps=1)
    return [
        pytest.param({"plan": discovery, "key": "region"}, "person must name a column", id="no person"),
        pytest.param({"plan": discovery, "person": "person"}, "key must name a column", id="no key"),
        pytest.param({"plan": discovery, "key": "region", "person": "person", "keys": ["k0"]}, "keys must be left out", id="declared keys"),
        pytest.param({"plan": discovery, "key": "amount", "person": "person"}, "key must be a column of strings", id="numbers as keys"),
        pytest.param({"plan": discovery, "key": "nothing", "person": "person"}, "key must be a column", id="no such column"),
        pytest.param({"plan": discovery, "key": "region", "distinct": "person"}, "distinct must be left out", id="distinct keys"),
        pytest.param(
            {"plan": evertally.discover(STEPS, keys_per_step=2), "key": "region", "person": "person"}, "keys_per_step=1", id="keys of a step"
        ),
        pytest.param(
            {"plan": evertally.discover(STEPS, contribution=(2.0, 3.0)), "key": "region", "person": "person"}, "contributions of one", id="range"
        ),
        pytest.param({"plan": once, "distinct": "person", "person": "person"}, "person must be left out", id="two persons"),
        pytest.param({"plan": once, "distinct": "person", "value": "amount"}, "value must be left out", id="distinct values"),
        pytest.param({"plan": once, "distinct": "person", "id": "event"}, "id must be left out", id="distinct ids"),
        pytest.param({"plan": evertally.plan(STEPS), "distinct": "person"}, "max_steps=1", id="events"),
        pytest.param({"plan": evertally.plan(STEPS, max_steps=2), "distinct": "person"}, "max_steps=1", id="two steps"),
        pytest.param({"plan": keyed, "key": "region", "person": "person"}, "distinct must name a column", id="keys of a person"),
        pytest.param({"plan": evertally.plan(STEPS, max_flips=2), "person": "person"}, "come and go", id="flips"),
    ]


@pytest.mark.parametrize(("arguments", "reason"), refused())
def test_what_cannot_be_counted_is_refused_on_the_driver(
    spark: SparkSession, key_file: str, tmp_path: Path, arguments: dict[str, Any], reason: str
) -> None:
    rows = table(spark, events_of(count=400), tmp_path)
    with pytest.raises(evertally.Error, match=reason):
        private_counts(rows, **given(noise_key=key_file, **arguments))


def definition_of_stream(bound: tuple[int, int], keys_per_person: int = 1) -> bytes:
    return _definition(
        ("ts", None, "region", "person", None),
        (int(pd.Timestamp(START).value) // 1000, MINUTE),
        closing=(10_000_000, MINUTE),
        bound=bound,
        within_step=True,
        keys_per_person=keys_per_person,
    )


def steps_of(events: pd.DataFrame) -> Any:
    return ((events["ts"] - pd.Timestamp(START)) // pd.Timedelta(minutes=1)).to_numpy(np.int64)


def found_by_hand(events: pd.DataFrame, discovery: evertally.Discovery, key_file: str) -> Any:
    """What one counter finds of events in the order of their times, under the definition of a stream."""
    discovery = discovery._with_definition(definition_of_stream((discovery.max_steps, discovery.min_gap)))
    key = evertally.NoiseKey.from_file(key_file)._without_record()
    counter, admission = evertally.DiscoveringCounter(discovery, key), evertally.Admission(discovery, key)
    steps = steps_of(events)
    releases = {}
    for step in range(STEPS):
        here = events[steps == step]
        counts, new = admission.admit(here["person"], step, here["region"])
        counter.add_each(here["region"][counts], np.ones(int(counts.sum())), new[counts])
        for row in counter.close_step():
            numbers = row.release.value, row.release.standard_error, *row.release.interval(0.95)
            releases[(step, row.key)] = numbers
    return releases


def in_order(events: pd.DataFrame) -> pd.DataFrame:
    """By time, then by content; the last event lies behind the range."""
    return events.sort_values(["ts", "event", "region"], kind="stable", ignore_index=True)


@pytest.mark.parametrize("shards", [None, 3])
def test_a_stream_finds_what_one_counter_does(
    spark: SparkSession, key_file: str, tmp_path: Path, shards: Optional[int]
) -> None:
    events = in_order(make_events(4000, 60, STEPS, seed=1, persons=1500))
    # A key whose first event comes late, and a key that nobody has after the first step.
    late = events["ts"] < pd.Timestamp(START) + pd.Timedelta(minutes=3)
    events = events[~(late & (events["region"] == "k2"))]
    late = events["ts"] < pd.Timestamp(START) + pd.Timedelta(minutes=1)
    events = events[late | (events["region"] != "k0") | (events.index == events.index[-1])]
    write_files(events, tmp_path / "events", 5)
    discovery = evertally.discover(STEPS, **BUDGET, max_steps=3, floor=2)
    arguments = given(plan=discovery, noise_key=key_file, key="region", person="person", delay="10 seconds", shards=shards)
    # One file a batch, and a query that is started again from its checkpoint.
    first = write_some(tmp_path, 3)
    run_stream(private_counts(stream(spark, tmp_path / "events", 1), **arguments), tmp_path)
    restore(first)
    run_stream(private_counts(stream(spark, tmp_path / "events", 1), **arguments), tmp_path)
    released = as_releases(spark.read.parquet(str(tmp_path / "releases")))
    expected = found_by_hand(events, discovery, key_file)
    assert released == expected
    names = {name for _, name in released}
    assert 1 < len(names) < events["region"].nunique()
    shown = [str(path) for path in (tmp_path / "releases").rglob("*")]
    assert not any("k1" in name for name in shown)


def write_some(folder: Path, kept: int) -> list[Path]:
    """Hides all but the first files of events."""
    hidden = sorted((folder / "events").iterdir())[kept:]
    return [path.rename(folder / path.name) for path in hidden]


def restore(hidden: list[Path]) -> None:
    for path in hidden:
        path.rename(path.parent / "events" / path.name)


def test_a_checkpoint_of_another_discovery_is_refused(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    write_files(in_order(make_events(500, 3, STEPS, seed=1)), tmp_path / "events", 2)
    arguments = given(noise_key=key_file, key="region", person="person", delay="10 seconds")
    rows = stream(spark, tmp_path / "events", 1)
    hidden = write_some(tmp_path, 2)
    run_stream(private_counts(rows, plan=evertally.discover(STEPS, **BUDGET), **arguments), tmp_path)
    restore(hidden)
    with pytest.raises(Exception, match="checkpoint belongs to another"):
        run_stream(private_counts(rows, plan=evertally.discover(STEPS, **BUDGET, floor=3), **arguments), tmp_path)


def test_a_stream_counts_persons_once_in_each_of_their_keys(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    events = in_order(make_events(3000, 4, STEPS, seed=1, persons=200))
    write_files(events, tmp_path / "events", 4)
    keys = ["k0", "k1", "k2", "other"]
    plan = evertally.plan(STEPS, **BUDGET, keys=keys, keys_per_person=2)
    released = private_counts(
        stream(spark, tmp_path / "events", 1),
        delay="10 seconds",
        **given(plan=plan, noise_key=key_file, distinct="person", key="region", shards=2),
    )
    run_stream(released, tmp_path)
    key = evertally.NoiseKey.from_file(key_file)._without_record()
    plan = plan._with_definition(definition_of_stream((1, 1), keys_per_person=2))
    regions = events["region"].where(events["region"].isin(keys), "other")
    steps = steps_of(events)
    counts, _ = evertally.Admission(plan, key).admit(events["person"], steps, regions)
    assert counts.sum() == 400
    inputs = np.zeros((STEPS, len(keys)))
    for step, region in zip(steps[counts], regions[counts]):
        inputs[step, keys.index(region)] += 1
    values = evertally.KeyedCounter(plan, key).run(inputs).values
    expected = {(step, region): values[step, place] for step in range(STEPS) for place, region in enumerate(keys)}
    found = as_releases(spark.read.parquet(str(tmp_path / "releases")))
    assert {name: estimate for name, (estimate, *_) in found.items()} == expected


def test_a_table_of_keys_serves_one_key_of_a_person(spark: SparkSession, key_file: str, tmp_path: Path) -> None:
    keys = spark.createDataFrame([("k0",), ("other",)], "key string")
    plan = evertally.plan(STEPS, open_keys=True, keys_per_person=2)
    with pytest.raises(evertally.BadParameter, match="must be a list"):
        private_counts(
            table(spark, events_of(count=400), tmp_path), **given(plan=plan, noise_key=key_file, distinct="person", key="region", keys=keys)
        )


def test_a_source_that_changes_is_refused_by_each_task() -> None:
    """Totals that differ from the recorded ones, in steps with totals and in steps without."""
    job = job_of(evertally.discover(6, **BUDGET), evertally.NoiseKey.insecure_from_seed(1))
    one = pd.DataFrame({"shard": [0], "step": [1], "key": ["a"], "total": [500], "new": [490]})
    both = pd.concat([one, one.assign(step=3, new=7)])
    words = [np.frombuffer(part, np.uint64).reshape(1, 2) for rows in found._digests(job, 6)(iter([both])) for part in rows["words"]]
    recorded = RecordedDigests({0: (np.array([1, 3]), np.concatenate(words))})
    released = pd.concat(found._releases(job, 6, recorded)(iter([both])))
    assert released["step"].tolist() == [1, 2, 3, 4, 5] and set(released["key"]) == {"a"}
    changes = [
        one,
        both[both["step"] == 3],
        both.assign(new=501),
        both.assign(total=501),
        both.assign(total=both["new"], new=both["total"]),
        both.assign(key="b"),
        both.assign(step=[0, 3]),
        both.assign(step=[1, 4]),
        pd.concat([both, one.assign(step=5)]),
        pd.concat([one.assign(step=0), both]),
    ]
    for changed in changes:
        with pytest.raises(evertally.BadState, match="has changed"):
            list(found._releases(job, 6, recorded)(iter([changed])))
    assert "500" not in repr(next(found.steps_of(iter([one]), 6))), "private"


def job_of(discovery: evertally.Discovery, key: evertally.NoiseKey) -> Job:
    class Here:
        def key(self) -> evertally.NoiseKey:
            return key

    secret: Any = Here()
    return Job(pickle.dumps(discovery), True, secret, 0, 60_000_000, 1 << 20, b"")
