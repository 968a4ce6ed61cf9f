"""Counts made events with evertally, DuckDB and polars, for `cargo xtask bench count`.

    count.py PROGRAM DIRECTORY ROWS ROUNDS   makes the files, measures all sides in turn, and prints JSON
    count.py make DIRECTORY ROWS             makes the files
    count.py peer ENGINE FILE                counts once, and prints the seconds of the query

All sides count events per hour and key. The CPU time of evertally is that of the whole process. That of a peer is
measured around its query, so that the start of Python and its imports are left out. Peak memory is that of the
process. The system counts the memory of the parent into it, from before the child becomes another program, so the
files are made in a process of their own and this one stays small. A peak that is not above its own is refused.
"""

import json
import os
import subprocess
import sys
import time

from child import measured

STEPS = 1344
KEYS = 229
FIRST = 1767571200  # 2026-01-05
PERSONS = 6  # events per person


def make(directory: str, rows: int) -> None:
    """Writes the same events as Parquet and as CSV: spread over 56 days, with keys of unequal frequency."""
    import duckdb

    events = f"""
        SELECT make_timestamp(({FIRST} + hash(i) % {STEPS * 3600})::BIGINT * 1000000 + (hash(i + 1) % 1000000)::BIGINT) AS time,
            'region-' || lpad((least(hash(i + 2) % {KEYS}, hash(i + 3) % {KEYS}))::VARCHAR, 3, '0') AS region,
            (hash(i + 4) % {max(rows // PERSONS, 1)})::BIGINT AS person,
            i AS id
        FROM range({rows}) AS t(i)"""
    database = duckdb.connect()
    database.execute("SET preserve_insertion_order = true")
    parquet = os.path.join(directory, "events.parquet")
    database.execute(f"COPY ({events}) TO '{parquet}' (FORMAT parquet, COMPRESSION snappy)")
    csv = os.path.join(directory, "events.csv")
    columns = "strftime(time, '%Y-%m-%dT%H:%M:%SZ') AS time, region, person, id"
    database.execute(f"COPY (SELECT {columns} FROM '{parquet}') TO '{csv}' (HEADER, DELIMITER ',')")
    with open(os.path.join(directory, "keys.txt"), "w") as keys:
        keys.writelines(f"region-{key:03}\n" for key in range(KEYS))


def peer(engine: str, path: str) -> None:
    """Counts once, and checks that every event was counted."""
    if engine == "duckdb":
        import duckdb

        database = duckdb.connect()
        database.execute("SET enable_progress_bar = false")
        start = time.process_time()
        # The hours stay inside: Python would need another package for their zone.
        query = f"SELECT count(*) FROM '{path}' GROUP BY date_trunc('hour', time), region"
        counts = [row[0] for row in database.execute(query).fetchall()]
    else:
        import polars as pl

        start = time.process_time()
        events = pl.scan_parquet(path) if path.endswith(".parquet") else pl.scan_csv(path, try_parse_dates=True)
        step = pl.col("time").dt.truncate("1h")
        counted = events.group_by(step.alias("step"), "region").agg(pl.len()).collect(engine="streaming")
        counts = counted["len"].to_list()
    print(json.dumps({"seconds": time.process_time() - start, "events": sum(counts)}))


def main() -> None:
    program, directory, rows, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    print("making the files", file=sys.stderr)
    subprocess.run([sys.executable, __file__, "make", directory, str(rows)], check=True)
    options = f"--time time --every 1h --from {FIRST} --horizon {STEPS} --epsilon 1 --delta 1e-6 --quiet".split()
    keyed = ["--group-by", "region", "--groups", os.path.join(directory, "keys.txt")]
    runs = {"": keyed, "ids": [*keyed, "--id", "id"], "persons": [*keyed, "--person", "person", "--max-steps", "4"]}
    figures: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    for number in range(rounds):
        for form in ("parquet", "csv"):
            path = os.path.join(directory, f"events.{form}")
            for kind, extra in runs.items():
                if kind and number:
                    continue
                print(f"round {number + 1}: evertally {kind} on {form}", file=sys.stderr)
                _, cpu, memory, took = measured([program, "count", path, *options, *extra, "--output", os.devnull])
                figures.setdefault((form, "evertally", kind), []).append((cpu, memory, took))
            for engine in ("duckdb", "polars"):
                print(f"round {number + 1}: {engine} on {form}", file=sys.stderr)
                output, _, memory, took = measured([sys.executable, __file__, "peer", engine, path])
                answer = json.loads(output)
                assert answer["events"] == rows, answer
                figures.setdefault((form, engine, ""), []).append((answer["seconds"], memory, took))
    results = [
        {"form": form, "side": side, "with": kind, "cpu_s": best[0], "peak_mib": best[1] / 2**20, "wall_s": best[2]}
        for (form, side, kind), all_rounds in figures.items()
        for best in [min(all_rounds)]
    ]
    sizes = {form: os.path.getsize(os.path.join(directory, f"events.{form}")) for form in ("parquet", "csv")}
    print(json.dumps({"rows": rows, "rounds": rounds, "keys": KEYS, "bytes": sizes, "results": results}))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "peer":
        peer(sys.argv[2], sys.argv[3])
    else:
        main()
