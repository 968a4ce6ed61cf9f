"""Counts graphs with evertally, DuckDB and networkx, for `cargo xtask bench graph`.

    graph.py PROGRAM DIRECTORY EDGES ROUNDS   makes the files, measures all sides, and prints JSON
    graph.py make DIRECTORY EDGES             makes the large graph
    graph.py peer FILE                        counts it once with DuckDB, and prints the seconds of the query

The large graph has a node for every ten edges, some of which have very many edges. DuckDB finds the distinct edges, their
running number by day and the degrees after the last day, with two threads, and adds no noise. It counts no triangles. The
public graphs are those that networkx ships; their edges come in the order of the package, an eighth of them in each step.
"""

import csv
import json
import math
import os
import subprocess
import sys
import time

from child import measured

STEPS = 100
FIRST = 1767571200  # 2026-01-05
DAY = 86400
BOUND = 100
PUBLIC_STEPS = 8
PUBLIC_BOUND = 10
EPSILONS = (1, 10)


def make(directory: str, edges: int) -> None:
    """Writes the large graph as Parquet. One end is any node, and the other is more often one of the first."""
    import duckdb

    path = os.path.join(directory, "edges.parquet")
    nodes = edges // 10
    uniform = "(hash(i, {}) % 1000000007) / 1000000007.0"
    rows = f"""
        SELECT make_timestamp(({FIRST} + hash(i, 'time') % {STEPS * DAY})::BIGINT * 1000000) AS time,
            ({nodes} * {uniform.format("'one'")})::BIGINT AS one, ({nodes} * pow({uniform.format("'other'")}, 2))::BIGINT AS other
        FROM range({edges}) AS t(i)"""
    rows = f"SELECT * FROM ({rows}) WHERE one != other"
    duckdb.connect().execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet, COMPRESSION snappy)")


QUERY = """
    WITH edges AS (SELECT least(one, other) AS one, greatest(one, other) AS other, min(time) AS time FROM '{path}' GROUP BY 1, 2),
    days AS (SELECT date_trunc('day', time) AS day, count(*) AS edges FROM edges GROUP BY 1),
    degrees AS (SELECT count(*) AS degree FROM (SELECT one AS node FROM edges UNION ALL SELECT other FROM edges) GROUP BY node)
    SELECT (SELECT list(total ORDER BY day) FROM (SELECT day, sum(edges) OVER (ORDER BY day) AS total FROM days)),
        (SELECT list([least(degree, {bound}), nodes] ORDER BY degree) FROM (SELECT degree, count(*) AS nodes FROM degrees GROUP BY degree))"""


def peer(path: str) -> None:
    """Counts once."""
    import duckdb

    database = duckdb.connect()
    database.execute("SET enable_progress_bar = false")
    database.execute("SET threads = 2")
    start = time.process_time()
    totals, degrees = database.execute(QUERY.format(path=path, bound=BOUND)).fetchone()
    seconds = time.process_time() - start
    histogram = [0] * BOUND
    for degree, nodes in degrees:
        histogram[degree - 1] += nodes
    print(json.dumps({"seconds": seconds, "edges": [int(total) for total in totals], "degrees": histogram}))


def read(table: str) -> tuple[dict, dict]:
    """The header of a table, and its estimates and errors by step and name."""
    with open(table, newline="") as lines:
        rows = list(lines)
    header = dict(line[2:].strip().split(": ", 1) for line in rows if line.startswith("# "))
    numbers = {}
    for row in csv.DictReader(line for line in rows if not line.startswith("#")):
        numbers[int(row["step"]), row["key"]] = (float(row["estimate"]), float(row["standard_error"]))
    return header, numbers


def truths(edges: list, bound: int) -> dict:
    """The statistics of distinct edges in their order, of which the first `bound` of each node count."""
    degree: dict = {}
    kept: dict = {}
    triangles = 0
    for one, other in edges:
        ranks = [degree.get(one, 0) + 1, degree.get(other, 0) + 1]
        degree[one], degree[other] = ranks
        if max(ranks) <= bound:
            ours, theirs = kept.setdefault(one, set()), kept.setdefault(other, set())
            triangles += len(ours & theirs)
            ours.add(other)
            theirs.add(one)
    stars = sum(math.comb(min(degree, bound), 2) for degree in degree.values())
    large = sum(number >= bound for number in degree.values())
    return {"edges": len(edges), f"degree {bound} or more": large, "stars:2": stars, "triangles": triangles}


def public(program: str, directory: str) -> list:
    """Every public graph: true numbers with and without the bound, and one release of each, with its error."""
    import networkx

    graphs = {
        "Zachary's karate club": networkx.karate_club_graph(),
        "Les Misérables": networkx.les_miserables_graph(),
        "Davis southern women": networkx.davis_southern_women_graph(),
        "Florentine families": networkx.florentine_families_graph(),
    }
    results = []
    for name, graph in graphs.items():
        path, table = os.path.join(directory, "public.csv"), os.path.join(directory, "public-private.csv")
        edges = [(str(one), str(other)) for one, other in graph.edges()]
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["time", "one", "other"])
            for place, ends in enumerate(edges):
                # A second apart, so that the order of the file is that of the edges.
                writer.writerow([FIRST + place * PUBLIC_STEPS // len(edges) * DAY + place, *ends])
        full = truths(edges, len(edges) + 1)
        large_degree = f"degree {PUBLIC_BOUND} or more"
        if full["triangles"] != sum(networkx.triangles(graph).values()) // 3:
            raise SystemExit(f"{name}: the triangles are not those of networkx")
        bounded = truths(edges, PUBLIC_BOUND)
        # A bound leaves out no node.
        full[large_degree] = bounded[large_degree]
        entry = {"name": name, "nodes": len(graph), "edges": len(edges), "rows": []}
        for epsilon in EPSILONS:
            options = f"--time time --nodes one,other --every 1d --from {FIRST} --horizon {PUBLIC_STEPS} --delta 1e-6".split()
            options += f"--epsilon {epsilon} --count edges,degrees,stars:2,triangles --max-degree {PUBLIC_BOUND}".split()
            subprocess.run([program, "graph", path, *options, "--quiet", "--force", "--output", table], check=True)
            _, numbers = read(table)
            for key, truth in bounded.items():
                estimate, error = numbers[PUBLIC_STEPS - 1, key]
                if abs(estimate - truth) > 6 * error:
                    raise SystemExit(f"{name}, {key}: {estimate} is not within {error} of {truth}")
                row = {"epsilon": epsilon, "key": key, "truth": full.get(key), "bounded": truth, "estimate": estimate, "error": error}
                entry["rows"].append(row)
        results.append(entry)
    return results


def large(program: str, directory: str, edges: int, rounds: int) -> dict:
    """Time and memory on the large graph, and its estimates beside the counts of DuckDB."""
    print("making the file", file=sys.stderr)
    subprocess.run([sys.executable, __file__, "make", directory, str(edges)], check=True)
    path, table = os.path.join(directory, "edges.parquet"), os.path.join(directory, "private.csv")
    options = f"--time time --nodes one,other --every 1d --from {FIRST} --horizon {STEPS} --epsilon 1 --delta 1e-6".split()
    options += ["--quiet", "--force", "--output", table, "--count"]
    kinds = {
        "all": ["edges,degrees,stars:2,triangles", "--max-degree", str(BOUND)],
        "alike": ["edges,degrees", "--max-degree", str(BOUND)],
    }
    figures: dict[str, list] = {"all": [], "alike": [], "duckdb": []}
    for number in range(rounds):
        for kind, counted in kinds.items():
            print(f"round {number + 1}: evertally, {counted[0]}", file=sys.stderr)
            _, cpu, memory, took = measured([program, "graph", path, *options, *counted])
            figures[kind].append((cpu, memory, took))
        print(f"round {number + 1}: duckdb", file=sys.stderr)
        output, _, memory, took = measured([sys.executable, __file__, "peer", path])
        truth = json.loads(output)
        figures["duckdb"].append((truth["seconds"], memory, took))
    subprocess.run([program, "graph", path, *options, *kinds["all"]], check=True)
    header, numbers = read(table)
    worst = max(abs(numbers[step, "edges"][0] - total) / numbers[step, "edges"][1] for step, total in enumerate(truth["edges"]))
    names = [f"degree {k}" for k in range(1, BOUND)] + [f"degree {BOUND} or more"]
    degrees = [(numbers[STEPS - 1, name], count) for name, count in zip(names, truth["degrees"])]
    if max([worst, *(abs(estimate - count) / error for (estimate, error), count in degrees)]) > 6:
        raise SystemExit("an estimate is more than six standard errors from the count of DuckDB")
    last = {key: numbers[STEPS - 1, key] for key in ["edges", names[9], names[-1], "stars:2", "triangles"]}
    true = {"edges": truth["edges"][-1], names[9]: truth["degrees"][9], names[-1]: truth["degrees"][-1]}
    results = {
        side: {"cpu_s": best[0], "peak_bytes": best[1], "wall_s": best[2]}
        for side, all_rounds in figures.items()
        for best in [min(all_rounds)]
    }
    return {
        "rows": edges, "edges": truth["edges"][-1], "steps": STEPS, "bound": BOUND, "rounds": rounds, "bytes": os.path.getsize(path),
        "results": results, "rmse": header["rmse"],
        "last": [{"key": key, "estimate": value[0], "error": value[1], "truth": true.get(key)} for key, value in last.items()],
    }


def main() -> None:
    program, directory, edges, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    # networkx takes memory, which hides the peak of what is measured.
    figures = {"large": large(program, directory, edges, rounds), "public_bound": PUBLIC_BOUND, "public": public(program, directory)}
    print(json.dumps(figures))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "peer":
        peer(sys.argv[2])
    else:
        main()
