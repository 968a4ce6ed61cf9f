"""Counts a public data set in every form, for `cargo xtask crosscheck datasets`.

The package vega_datasets ships seattle-weather.csv and cars.json, an array of objects with missing values. Each is
written in the other forms as well, and all forms must have the same releases under one noise key.
"""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile

from vega_datasets import local_data


def forms(rows: list[dict], directory: str, name: str) -> list[str]:
    """Writes the rows as CSV, TSV, JSON lines and an array, plain and compressed."""
    columns = list(rows[0])
    texts = {}
    for ending, delimiter in (("csv", ","), ("tsv", "\t")):
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
        texts[ending] = text.getvalue()
    texts["jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
    texts["json"] = json.dumps(rows, indent=1)
    paths = []
    for ending, text in texts.items():
        for packed in ("", ".gz"):
            path = os.path.join(directory, f"{name}.{ending}{packed}")
            data = text.encode()
            with open(path, "wb") as file:
                file.write(gzip.compress(data) if packed else data)
            paths.append(path)
    try:
        import polars as pl
    except ImportError:
        return paths
    path = os.path.join(directory, f"{name}.parquet")
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    return [*paths, path]


def releases(program: str, key: str, path: str, options: list[str]) -> str:
    command = [program, "count", path, *options, "--noise-key", key, "--quiet", "--epsilon", "1", "--delta", "1e-6"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{path}: {done.stderr}")
    return done.stdout


def main() -> None:
    program = sys.argv[1]
    with open(local_data.seattle_weather.filepath, newline="") as file:
        weather = list(csv.DictReader(file))
    with open(local_data.cars.filepath) as file:
        cars = json.load(file)
    assert any(car["Horsepower"] is None for car in cars)
    data = {
        "weather": (
            local_data.seattle_weather.filepath,
            weather,
            "--time date --every 1mo --from 2012-01-01 --to 2016-01-01 --group-by weather "
            "--groups sun,rain,snow,fog,drizzle",
        ),
        # Some cars have no horsepower, and are left out as rows that cannot be read.
        "cars": (
            local_data.cars.filepath,
            cars,
            "--time Year --every 1y --from 1970-01-01 --to 1983-01-01 --group-by Origin --groups USA,Europe,Japan "
            "--value Horsepower --clamp 0,200 --where Cylinders>=4 --skip-bad-rows",
        ),
    }
    with tempfile.TemporaryDirectory() as directory:
        key = os.path.join(directory, "noise.key")
        with open(key, "w") as file:
            file.write("5a" * 32)
        os.chmod(key, 0o600)
        for name, (shipped, rows, options) in data.items():
            # The file as it is shipped comes first.
            paths = [str(shipped), *forms(rows, directory, name)]
            first = releases(program, key, paths[0], options.split())
            for path in paths[1:]:
                if releases(program, key, path, options.split()) != first:
                    raise SystemExit(f"{path} has other releases than {paths[0]}")
            print(f"{name}: {len(rows)} rows, {len(paths)} forms, the same releases")


if __name__ == "__main__":
    main()
