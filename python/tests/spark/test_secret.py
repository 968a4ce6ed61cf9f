"""Two workers with processes of their own: the same releases, and the noise key nowhere but where it is needed."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from cluster import as_releases, count_by_program, make_events, write_files
from pyspark.sql import SparkSession

import evertally


def forms(key: bytes) -> list[bytes]:
    """What a key looks like when it is printed, logged or pickled."""
    digits = key.hex()
    return [key, digits.encode(), digits.upper().encode(), base64.b64encode(key)[:-2], repr(key)[2:-1].encode()]


def holding(folder: Path, wanted: list[bytes]) -> list[str]:
    """The files below a folder in which any of these stands."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(form in path.read_bytes() for form in wanted)]


def test_a_cluster_releases_the_same_and_keeps_the_key(spark: SparkSession, binary: str, tmp_path: Path) -> None:
    events = make_events(2000, 3, 6, seed=5)
    write_files(events, tmp_path / "events", 3)
    (tmp_path / "event-log").mkdir()
    secret = tmp_path / "secret"
    secret.mkdir()
    key = evertally.NoiseKey.generate()
    key.to_file(secret / "noise.key")
    command = [sys.executable, str(Path(__file__).with_name("secret_worker.py")), str(tmp_path), str(secret / "noise.key")]
    run = subprocess.run(command, capture_output=True, cwd=Path(__file__).parent)
    (tmp_path / "output.txt").write_bytes(run.stdout + run.stderr)
    assert run.returncode == 0, run.stderr.decode()[-3000:]

    options = ["--steps", "6", "--epsilon", "1", "--delta", "1e-6", "--key", "region", "--keys", "k0,k1,k2"]
    persons = ["--person", "person", "--max-steps", "2", "--key-file", str(secret / "noise.key")]
    expected = count_by_program(binary, events, tmp_path, [*options, *persons])
    assert as_releases(spark.read.parquet(str(tmp_path / "releases"))) == expected

    wanted = forms(key.to_bytes())
    assert holding(secret, wanted), "the search finds what is there"
    assert (tmp_path / "shown.txt").stat().st_size > 10_000
    assert any((tmp_path / "event-log").rglob("*")) and any((tmp_path / "checkpoint" / "state").rglob("*"))
    for path in secret.iterdir():
        path.unlink()
    assert holding(tmp_path, wanted) == []
    # What the executors of this run wrote; Spark keeps it at home.
    work = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "work"
    assert any(work.rglob("stderr"))
    assert holding(work, wanted) == []


@pytest.mark.parametrize("form", forms(bytes(range(200, 232))))
def test_the_search_finds_a_key_in_any_form(tmp_path: Path, form: bytes) -> None:
    (tmp_path / "log").write_bytes(b"before " + form + b" after")
    assert len(holding(tmp_path, forms(bytes(range(200, 232))))) == 1
