"""What the program releases of the same rows."""

import csv
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import evertally

NEEDED = pytest.mark.skipif("EVERTALLY_BINARY" not in os.environ, reason="EVERTALLY_BINARY does not name the command line program")
KEY = evertally.NoiseKey.insecure_from_seed(7)
START = "2026-01-05T00:00:00Z"
DAY_MICROS = 86_400_000_000
START_MICROS = 1_767_571_200_000_000
BUCKETS = (START_MICROS, DAY_MICROS)
BUDGET = ["--epsilon", "2", "--delta", "1e-5"]


def times_of(days: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Different times, in microseconds since 1970, in ascending order."""
    return np.sort(np.unique((days * DAY_MICROS).astype(np.int64))) + START_MICROS


def count(folder: Path, columns: dict[str, Sequence[object]], options: list[str]) -> list[dict[str, str]]:
    """The rows that `evertally count` releases of these columns, of which `time` is in microseconds."""
    KEY.to_file(folder / "noise.key")
    texts = {**columns, "time": [f"{np.datetime64(int(str(time)), 'us')}Z" for time in columns["time"]]}
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(texts)
        writer.writerows(zip(*texts.values()))
    command = [os.environ["EVERTALLY_BINARY"], "count", str(folder / "rows.csv"), "--time", "time", "--every", "1d", "--from", START]
    command += ["--noise-key", str(folder / "noise.key"), "--output", str(folder / "out.csv"), *BUDGET, *options]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    with (folder / "out.csv").open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))
