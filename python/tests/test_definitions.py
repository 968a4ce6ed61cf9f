"""Definitions of counts, and the forms of times, lengths and names: the same as on the command line."""

import doctest
import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evertally
from evertally._native import (
    _GRID,
    _OTHER,
    _bucket_micros,
    _definition,
    _ends_on_grid,
    _interval_micros,
    _time_micros,
    _whitespace,
)

COLUMNS = ("t", "v", "k", "p", "i")


def test_definitions_are_frozen() -> None:
    """Noise hangs on these bytes; the library freezes the same two."""
    whole = _definition(("t", None, "größe", "p", ""), (-1, _bucket_micros("1w")), (5, 7), (-1.0, 2.5), (4, 7), True)
    digests = [(len(made), hashlib.blake2b(made, digest_size=8).hexdigest()) for made in (whole, _definition((None,) * 5))]
    assert digests == [(172, "ce85f70e45a5723d"), (29, "751401841db7b256")]
    assert _OTHER == "other"


@pytest.mark.parametrize(
    "change",
    [
        {"columns": ("t", None, "k", "p", "i")},
        {"buckets": (0, 2)},
        {"buckets": (1, 1)},
        {"buckets": None},
        {"closing": (5, None)},
        {"closing": (5, 8)},
        {"closing": None},
        {"clamp": (0.0, 2.0)},
        {"clamp": None},
        {"bound": (2, 7)},
        {"bound": None},
        {"within_step": False},
    ],
)
def test_every_choice_is_in_a_definition(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "columns": COLUMNS, "buckets": (0, 1), "closing": (5, 7), "clamp": (0.0, 1.0), "bound": (4, 7), "within_step": True
    }
    assert _definition(**given) == _definition(**given) != _definition(**{**given, **change})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30), ("1m", 60), ("1h", 3600), ("1d", 86_400), ("2w", 1_209_600),
        ("1 second", 1), (" 15  minutes ", 900), ("2 hours", 7200), ("1 day", 86_400), ("2 weeks", 1_209_600),
    ],
)
def test_lengths_are_read_in_every_unit(text: str, seconds: int) -> None:
    assert _bucket_micros(text) == seconds * 1_000_000


@pytest.mark.parametrize(
    "text",
    ["", "h", "0h", "-1h", "1.5h", "1y", "99999999999999w", "0 minutes", "-1 minutes", "1 month", "5 milliseconds", "1 hour 5 minutes", "minute"],
)
def test_lengths_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(evertally.BadParameter, match="the length of a bucket"):
        _bucket_micros(text)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("10m", 600_000_000), ("0 seconds", 0), ("1 hour 30 minutes", 5_400_000_000), ("7 microseconds", 7), ("2 milliseconds", 2000),
        ("", None), ("soon", None), ("1 hour 30", None), ("-1 seconds", None), ("1.5 seconds", None), ("+1 second", None),
        ("99999999999999 weeks", None), ("15000000 weeks 15000000 weeks", None),
    ],
)  # fmt: skip
def test_intervals_are_those_of_spark_and_of_the_command_line(text: str, micros: int | None) -> None:
    assert _interval_micros(text) == micros


def test_times_are_those_of_the_command_line() -> None:
    """They were read by Python, whose forms differ between its versions: 2026-W01 was a time, and
    Unix seconds were none.
    """
    forms = ["2026-01-05T08:30:00Z", "2026-01-05t08:30:00z", "2026-01-05T10:30:00+02:00", "2026-01-05 08:30", "1767601800"]
    assert [_time_micros(form) for form in forms] == [1_767_601_800_000_000] * len(forms)
    assert [_time_micros(form) for form in ("2026-W01", "20260105", "soon", "")] == [None, 20_260_105_000_000, None, None]


def test_amounts_lie_inside_a_clamp_whose_ends_are_between_steps() -> None:
    assert _ends_on_grid(-0.5, 5.25) == (-_GRID // 2, 21 * _GRID // 4)
    assert _ends_on_grid(-0.1, 0.1) == (-104_857, 104_857)
    for lo, hi in ((0.0, 1e-7), (1.0, 0.0), (0.0, 2.0**50)):
        with pytest.raises(evertally.BadParameter, match="clamp"):
            _ends_on_grid(lo, hi)


def test_definitions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(evertally.BadParameter, match="positive"):
        _definition(COLUMNS, (0, 0))
    with pytest.raises(evertally.BadParameter):
        _definition(COLUMNS, clamp=(1.0, 0.0))


@pytest.mark.parametrize("function", [_definition, _bucket_micros, _interval_micros, _time_micros, _ends_on_grid, _whitespace])
def test_the_examples_run(function: object) -> None:
    test = doctest.DocTestParser().get_doctest(function.__doc__ or "", {}, "example", None, 0)
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.skipif("EVERTALLY_BINARY" not in os.environ, reason="EVERTALLY_BINARY does not name the command line program")
def test_the_command_line_counts_under_the_same_name(tmp_path: Path) -> None:
    key = evertally.NoiseKey.insecure_from_seed(7)
    key.to_file(tmp_path / "noise.key")
    rows = [("1970-01-01T00:00:30Z", "a"), ("1970-01-01T00:02:00Z", "b"), ("1970-01-01T00:02:59Z", "a"), ("1970-01-01T00:03:00Z", "c")]
    events = tmp_path / "events.csv"
    events.write_text("when,page\n" + "".join(f"{when},{page}\n" for when, page in rows))
    command = [os.environ["EVERTALLY_BINARY"], "count", str(events), "--time", "when", "--group-by", "page", "--groups", "a,b", "--every", "1m"]
    command += ["--from", "1970-01-01T00:00:00Z", "--horizon", "4", "--epsilon", "1", "--delta", "1e-6"]
    command += ["--noise-key", str(tmp_path / "noise.key"), "--output", str(tmp_path / "releases.csv")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    counted = _definition(("when", None, "page", None, None), (0, _bucket_micros("1m")))
    plan = evertally.plan(4, epsilon=1.0, delta=1e-6, keys=["a", "b", _OTHER])._with_definition(counted)
    inputs = np.array([[1.0, 0, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1]])
    expected = evertally.KeyedCounter(plan, key).run(inputs).values
    lines = [line.split(",") for line in (tmp_path / "releases.csv").read_text().splitlines() if not line.startswith("#")]
    estimate = lines[0].index("estimate")
    assert [float(line[estimate]) for line in lines[1:]] == expected.ravel().tolist()
