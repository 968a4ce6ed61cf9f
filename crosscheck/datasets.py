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
    return [*paths, *typed_forms(rows, directory, name)]


def typed_forms(rows: list[dict], directory: str, name: str) -> list[str]:
    """Writes the rows as Parquet and Arrow, with polars and with pyarrow, in every compression that both formats have."""
    try:
        import polars as pl
        import pyarrow as pa
        from pyarrow import feather, ipc, parquet
    except ImportError:
        return []
    frame = pl.DataFrame(rows, infer_schema_length=None)
    # Keys are categories, and their dictionaries are compressed as well.
    keys = [column for column in ("weather", "Origin") if column in frame.columns]
    frame = frame.with_columns(pl.col(keys).cast(pl.Categorical))
    table = pa.Table.from_pylist(rows)
    paths = []

    def write(ending: str, writer) -> None:
        path = os.path.join(directory, f"{name}-{len(paths)}.{ending}")
        writer(path)
        paths.append(path)

    for codec in ("snappy", "gzip", "zstd", "lz4", "brotli"):
        write("parquet", lambda path: frame.write_parquet(path, compression=codec))
        write("parquet", lambda path: parquet.write_table(table, path, compression=codec))
    for codec in ("uncompressed", "lz4", "zstd"):
        write("arrow", lambda path: frame.write_ipc(path, compression=codec))
        write("arrows", lambda path: frame.write_ipc_stream(path, compression=codec))
        write("feather", lambda path: feather.write_feather(table, path, compression=codec, chunksize=100))
        options = ipc.IpcWriteOptions(compression=None if codec == "uncompressed" else codec, emit_dictionary_deltas=True)

        def stream(path: str) -> None:
            coded = table
            for key in keys:
                at = table.schema.get_field_index(key)
                coded = coded.set_column(at, key, table[key].dictionary_encode())
            with ipc.new_stream(path, coded.schema, options=options) as writer:
                for batch in coded.to_batches(max_chunksize=70):
                    writer.write_batch(batch)

        write("arrows", stream)
    return paths


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
