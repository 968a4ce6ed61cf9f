"""Finds groups with evertally and counts them with DuckDB, for `cargo xtask bench discover`.

    discover.py PROGRAM DIRECTORY GROUPS ROUNDS   makes the file, measures both sides in turn, and prints JSON
    discover.py make DIRECTORY GROUPS             makes the file
    discover.py peer FILE                         counts once, and prints the seconds of the query
    discover.py judge FILE TABLE THRESHOLD        compares a table with the true counts, and prints JSON
    discover.py opendp FILE                       finds groups once with OpenDP, and prints JSON
    discover.py pipelinedp FILE                   finds groups once with PipelineDP, and prints JSON

Most groups are seen once. The others have persons in numbers from two upwards, spread over all steps. Every event is of
another person. The CPU time of evertally is that of the whole process. That of DuckDB is measured around its query,
which counts the persons of every group and step, hides none and adds no noise. The libraries that find groups once take a
smaller file of the same kind, because they take Python's objects: their CPU time begins when these are in memory.
"""

import csv
import json
import math
import os
import subprocess
import sys
import time

from child import measured

STEPS = 30
FIRST = 1767571200  # 2026-01-05
DAY = 86400
MOST_PERSONS = 400
EPSILON = 1.0
DELTA = 1e-6
GROUPS_OF_ONE_SHOT = 100_000


def make(directory: str, groups: int, path: str | None = None) -> None:
    """Writes the events as Parquet. One group in two hundred has between 2 and MOST_PERSONS persons."""
    import duckdb

    path = path or os.path.join(directory, "events.parquet")
    events = f"""
        WITH pages AS (
            SELECT i AS page, CASE WHEN i % 200 = 0 THEN 2 + (hash(i) % {MOST_PERSONS - 1})::BIGINT * (i % 7) // 6 ELSE 1 END AS persons
            FROM range({groups}) AS t(i)),
        visits AS (SELECT page, unnest(range(persons)) AS number FROM pages)
        SELECT make_timestamp(({FIRST} + hash(page, number) % {STEPS * DAY})::BIGINT * 1000000) AS time,
            '/page/' || page AS page, page * {MOST_PERSONS + 1} + number AS person
        FROM visits"""
    duckdb.connect().execute(f"COPY ({events}) TO '{path}' (FORMAT parquet, COMPRESSION snappy)")


def peer(path: str) -> None:
    """Counts once."""
    import duckdb

    database = duckdb.connect()
    database.execute("SET enable_progress_bar = false")
    start = time.process_time()
    query = f"SELECT count(*), sum(persons) FROM (SELECT count(DISTINCT person) AS persons FROM '{path}' GROUP BY page, date_trunc('day', time))"
    rows, persons = database.execute(query).fetchone()
    print(json.dumps({"seconds": time.process_time() - start, "rows": rows, "events": persons}))


def events_of(path: str) -> list[tuple[str, int]]:
    """The groups and persons of all events, as the peers take them."""
    import duckdb

    return duckdb.connect().execute(f"SELECT page, person FROM '{path}'").fetchall()


def opendp(path: str) -> None:
    """Counts the persons of every group once with OpenDP, and keeps counts above a threshold. A person has one event."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    pages = [page for page, _ in events_of(path)]
    start = time.process_time()
    counts = (dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()) >> dp.t.then_count_by(TV=int)
    scale = 1.0 / EPSILON
    at = lambda threshold: counts >> dp.m.then_laplace_threshold(scale=scale, threshold=threshold)
    fits = lambda threshold: at(threshold).map(1)[0] <= EPSILON and at(threshold).map(1)[1] <= DELTA
    threshold = dp.binary_search(fits, bounds=(1, 10_000))
    found = at(threshold)(pages)
    print(json.dumps({"cpu_s": time.process_time() - start, "threshold": threshold, "found": found}))


def pipelinedp(path: str) -> None:
    """The same with PipelineDP, whose selection of partitions and count share the budget."""
    import pipeline_dp

    rows = events_of(path)
    start = time.process_time()
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT], noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1, max_contributions_per_partition=1,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[1], partition_extractor=lambda row: row[0], value_extractor=lambda row: 0
    )
    released = engine.aggregate(rows, parameters, extractors)
    accountant.compute_budgets()
    found = {page: metrics.privacy_id_count for page, metrics in released}
    print(json.dumps({"cpu_s": time.process_time() - start, "threshold": None, "found": found}))


def read(table: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The facts and the rows of a table of releases."""
    with open(table, newline="") as lines:
        text = lines.read().splitlines()
    facts = dict(line[2:].strip().split(": ", 1) for line in text if line.startswith("# ") and ": " in line)
    return facts, list(csv.DictReader(line for line in text if not line.startswith("#")))


def one_shot(program: str, directory: str, options: list[str]) -> dict[str, object]:
    """Every side on a small file: the groups that it found at the end, and the error of their counts."""
    import duckdb

    path, table = os.path.join(directory, "few.parquet"), os.path.join(directory, "few.csv")
    make(directory, GROUPS_OF_ONE_SHOT, path)
    truth = dict(duckdb.connect().execute(f"SELECT page, count(DISTINCT person) FROM '{path}' GROUP BY page").fetchall())

    def figures(cpu: float, found: dict[str, float]) -> dict[str, float]:
        squares = [(count - truth[page]) ** 2 for page, count in found.items()]
        return {
            "cpu_s": cpu, "found": len(found), "of_one_person": sum(truth[page] == 1 for page in found),
            "rmse": math.sqrt(sum(squares) / max(len(squares), 1)),
        }

    _, cpu, _, _ = measured([program, "count", path, *options, table], False)
    last = {row["key"]: float(row["estimate"]) for row in read(table)[1] if int(row["step"]) == STEPS - 1}
    sides = {"evertally": figures(cpu, last)}
    for side in ["opendp", "pipelinedp"]:
        print(f"once: {side}", file=sys.stderr)
        answer = json.loads(measured([sys.executable, __file__, side, path], False)[0])
        sides[side] = figures(answer["cpu_s"], answer["found"]) | {"threshold": answer["threshold"]}
    return {"groups": GROUPS_OF_ONE_SHOT, "events": sum(truth.values()), "sides": sides}


def judge(path: str, table: str, threshold: float) -> None:
    """How many groups were found in time, and how many appeared below the threshold."""
    import duckdb

    since: dict[str, int] = {}
    with open(table, newline="") as lines:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            since.setdefault(row["key"], int(row["step"]))
    step = f"((epoch(time) - {FIRST}) // {DAY})::BIGINT"
    query = f"""
        WITH counts AS (SELECT page, {step} AS step, count(DISTINCT person) AS persons FROM '{path}' GROUP BY ALL),
        totals AS (SELECT page, step, sum(persons) OVER (PARTITION BY page ORDER BY step) AS persons FROM counts)
        SELECT page, min(step) FILTER (persons >= {2 * threshold}), min(step) FILTER (persons >= {threshold}), max(persons)
        FROM totals GROUP BY page HAVING max(persons) > 1"""
    truth = duckdb.connect().execute(query).fetchall()
    twice = [(page, at) for page, at, _, _ in truth if at is not None]
    once = [page for page, _, at, _ in truth if at is not None]
    alone = len(since) - sum(page in since for page, *_ in truth)
    in_time = sum(since.get(page, STEPS) <= at for page, at in twice)
    print(json.dumps({
        "shown": len(since), "shown_of_one_person": alone, "with_threshold": len(once), "found_of_these": sum(page in since for page in once),
        "with_twice": len(twice), "found_in_time": in_time, "threshold": threshold,
    }))


def main() -> None:
    program, directory, groups, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    print("making the file", file=sys.stderr)
    subprocess.run([sys.executable, __file__, "make", directory, str(groups)], check=True)
    path, table = os.path.join(directory, "events.parquet"), os.path.join(directory, "found.csv")
    options = f"--time time --every 1d --from {FIRST} --horizon {STEPS} --epsilon {EPSILON} --delta {DELTA} --quiet --force".split()
    options += "--group-by page --discover --person person --max-steps 1 --memory-limit 12G --output".split()
    figures: dict[str, list[tuple[float, float, float]]] = {"evertally": [], "duckdb": []}
    events = rows = 0
    for number in range(rounds):
        print(f"round {number + 1}: evertally", file=sys.stderr)
        _, cpu, memory, took = measured([program, "count", path, *options, table])
        figures["evertally"].append((cpu, memory, took))
        print(f"round {number + 1}: duckdb", file=sys.stderr)
        output, _, memory, took = measured([sys.executable, __file__, "peer", path])
        answer = json.loads(output)
        events, rows = int(answer["events"]), answer["rows"]
        figures["duckdb"].append((answer["seconds"], memory, took))
    header, _ = read(table)
    threshold = float(header["threshold"].split(" at the first step and ")[1].split(" ")[0])
    print("comparing with the true counts", file=sys.stderr)
    judged = json.loads(subprocess.run(
        [sys.executable, __file__, "judge", path, table, str(threshold)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout)
    results = {
        side: {"cpu_s": best[0], "peak_bytes": best[1], "wall_s": best[2]}
        for side, all_rounds in figures.items()
        for best in [min(all_rounds)]
    }
    once = one_shot(program, directory, options)
    print(json.dumps({
        "once": once, "groups": groups, "events": events, "rows": rows, "steps": STEPS, "rounds": rounds,
        "bytes": os.path.getsize(path), "rmse": float(header["rmse"]), "results": results, "judged": judged,
    }))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "peer":
        peer(sys.argv[2])
    elif sys.argv[1] == "opendp":
        opendp(sys.argv[2])
    elif sys.argv[1] == "pipelinedp":
        pipelinedp(sys.argv[2])
    elif sys.argv[1] == "judge":
        judge(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        main()
