"""Definitions of counts and lengths of buckets: the same as on the command line."""

import doctest
import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evertally
from evertally._native import _OTHER, _bucket_micros, _definition

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
        {"by_time": False},
    ],
)
def test_every_choice_is_in_a_definition(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "columns": COLUMNS, "buckets": (0, 1), "closing": (5, 7), "clamp": (0.0, 1.0), "bound": (4, 7), "by_time": True
    }
    assert _definition(**given) == _definition(**given) != _definition(**{**given, **change})


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("1m", 60), ("1h", 3600), ("1d", 86_400), ("2w", 1_209_600)])
def test_lengths_are_read_in_every_unit(text: str, seconds: int) -> None:
    assert _bucket_micros(text) == seconds * 1_000_000


@pytest.mark.parametrize("text", ["", "h", "0h", "-1h", "1.5h", "1y", "99999999999999w"])
def test_lengths_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(evertally.BadParameter, match="the length of a bucket"):
        _bucket_micros(text)


def test_definitions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(evertally.BadParameter, match="positive"):
        _definition(COLUMNS, (0, 0))
    with pytest.raises(evertally.BadParameter):
        _definition(COLUMNS, clamp=(1.0, 0.0))


@pytest.mark.parametrize("function", [_definition, _bucket_micros])
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
