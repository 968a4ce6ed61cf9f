"""Two workers with processes of their own: the same releases, and the noise key nowhere but where
it is needed.
"""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
from cluster import as_releases, count_by_hand, make_events, write_files
from kill_checks import find_key
from pyspark.sql import SparkSession

import evertally


def test_a_cluster_releases_the_same_and_keeps_the_key(spark: SparkSession, tmp_path: Path) -> None:
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

    plan = evertally.plan(6, epsilon=1.0, delta=1e-6, keys=["k0", "k1", "k2", "other"], max_steps=2)
    expected = count_by_hand(events, plan, key, key="region", person="person")
    assert as_releases(spark.read.parquet(str(tmp_path / "releases"))) == expected

    assert find_key(key.to_bytes(), [secret]) is not None, "the search finds what is there"
    assert (tmp_path / "shown.txt").stat().st_size > 10_000
    assert any((tmp_path / "event-log").rglob("*")) and any((tmp_path / "checkpoint" / "state").rglob("*"))
    (secret / "noise.key").unlink()
    assert find_key(key.to_bytes(), [tmp_path]) is None
    # What the executors of this run wrote; Spark keeps it at home.
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    work = home / "work" / (tmp_path / "application.txt").read_text()
    assert any(work.rglob("stderr"))
    assert find_key(key.to_bytes(), [work]) is None
