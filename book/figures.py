"""Makes the tables and pictures of the book from what the program computes.

    python book/figures.py PROGRAM            # write them again
    python book/figures.py PROGRAM --check    # fail if one of them is out of date

A table stands in its page between `<!-- table NAME -->` and `<!-- end of table -->`. Every figure
comes from a command of the program, with fixed options and, for pictures of noise, a fixed key that
protects nothing. So the same program gives the same files on every machine.
"""

from __future__ import annotations

import argparse
import array
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import svg  # noqa: E402  (it lies beside this file)
from service import Service  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# 95 % of a normal distribution lie within this many standard deviations.
MARGIN = 1.959964
PUBLIC_KEY = "ab" * 32


class Figures:
    """The figures of one program."""

    def __init__(self, program: pathlib.Path) -> None:
        self.program = program

    def ask(self, *words: object) -> str:
        command = [str(self.program), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def written(self, name: str, option: str, *words: object, key: bool = False) -> bytes:
        """The file that a command writes if this option names it."""
        with tempfile.TemporaryDirectory() as directory:
            path, secret = pathlib.Path(directory, name), pathlib.Path(directory, "key")
            secret.write_text(f"{PUBLIC_KEY}\n", encoding="ascii")
            secret.chmod(0o600)
            self.ask(*words, *(["--noise-key", secret] if key else []), option, path)
            return path.read_bytes()

    def margin(self, *options: object, epsilon: float = 1.0, worst: bool = False) -> float:
        """The 95 % margin of a typical step, or of the worst step, under the mechanism that `plan`
        chooses, or under the only one that the options allow."""
        plan = self.ask("plan", "--epsilon", epsilon, "--delta", "1e-6", *options).splitlines()
        head = next(position for position, line in enumerate(plan) if line.lstrip().startswith("mechanism"))
        rows = [re.split(r"\s{2,}", line.strip("→ ")) for line in plan[head + 1 :] if line.startswith("→")]
        row = rows[0] if rows else re.split(r"\s{2,}", plan[head + 1].strip())
        return MARGIN * float(row[re.split(r"\s{2,}", plan[head].strip()).index("worst step" if worst else "rmse")])

    def compare(self, horizon: int) -> dict[str, float]:
        """The typical error of every mechanism, and the least possible one, at ε = 1 and δ = 10⁻⁶."""
        plan = json.loads(self.ask("plan", "--horizon", horizon, "--epsilon", 1, "--delta", "1e-6", "--json"))
        errors = {each["name"]: each["rmse"] for each in plan["mechanisms"] if "rmse" in each}
        return errors | {"least": plan["noise_multiplier"] * plan["optimal"]["lower"] ** 0.5}

    # Tables

    def horizons(self) -> list[list[str]]:
        names = {
            12: "a year of months",
            52: "a year of weeks",
            365: "a year of days",
            8760: "a year of hours",
            105120: "a year of five minutes",
        }
        head = ["steps", "", "ε = 0.1", "ε = 1", "ε = 4"]
        return [
            head,
            *(
                [f"{n:,}", name, *(f"± {self.margin('--horizon', n, epsilon=e):,.0f}" for e in (0.1, 1, 4))]
                for n, name in names.items()
            ),
        ]

    def epsilons(self) -> list[list[str]]:
        rows = []
        for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
            plan = json.loads(self.ask("plan", "--horizon", 1, "--epsilon", epsilon, "--delta", "1e-6", "--json"))
            # The best test between N(0, 1) and N(1/σ, 1) is right with probability Φ(1/2σ).
            right = statistics.NormalDist().cdf(0.5 / plan["noise_multiplier"])
            bound = 1 / (1 + math.exp(-epsilon))
            rows.append(
                [
                    f"{epsilon:g}",
                    f"{math.exp(epsilon):,.4g}",
                    f"{100 * bound:.{1 if bound < 0.999 else 2}f} %",
                    f"{100 * right:.1f} %",
                ]
            )
        return [
            [
                "ε",
                "odds change at most by the factor",
                "a guess of 50 % becomes at most",
                "best guess against this noise is right in",
            ],
            *rows,
        ]

    def persons(self) -> list[list[str]]:
        bounds = [
            (1, 1, "one day"),
            (4, 1, "any 4 days"),
            (4, 90, "4 days, at least 90 days apart"),
            (12, 1, "any 12 days"),
            (12, 30, "12 days, at least 30 days apart"),
            (52, 7, "52 days, at least 7 days apart"),
            (365, 1, "every day"),
        ]
        rows = []
        for steps, gap, name in bounds:
            options = ["--max-steps", steps, *(["--min-gap", gap] if gap > 1 else [])]
            rows.append([name, f"`{' '.join(map(str, options))}`", f"± {self.margin('--horizon', 365, *options):,.0f}"])
        return [["one person counts on at most", "options", "typical ± (95 %)"], *rows]

    def sums(self) -> list[list[str]]:
        with Service(self.program) as service:
            stream = service.sum_errors(steps=364, lengths=[1, 7, 28, 91, 364])
        head = [
            "sum over",
            "from one stream of running totals",
            "with `--window`, for this length only",
            "with fresh noise for each day, added up",
        ]
        rows = []
        for length, name in {1: "a day", 7: "a week", 28: "four weeks", 91: "a quarter", 364: "the year"}.items():
            window = ["--horizon", 364, "--window", length]
            own = f"± {self.margin(*window, worst=True):,.0f}" if 1 < length < 364 else "–"
            fresh = self.margin(*window, "--mechanism", "input-perturbation", worst=True)
            rows.append([name, f"± {MARGIN * stream[length]:,.0f}", own, f"± {fresh:,.0f}"])
        return [head, *rows]

    def mechanisms(self) -> list[list[str]]:
        columns = {
            "least": "least possible",
            "markov": "default",
            "square-root": "square root",
            "honaker-full": "improved tree",
            "binary": "binary tree",
            "input-perturbation": "fresh noise per step, added up",
            "output-perturbation": "fresh noise per total",
        }
        rows = []
        for horizon in (64, 1024, 16384):
            errors = self.compare(horizon)
            rows.append([f"{horizon:,}", *(f"{errors[name]:,.1f}" for name in columns)])
        return [["steps", *columns.values()], *rows]

    def lengths(self) -> list[list[str]]:
        """Errors of sums over a year of days, where independent noise has the standard deviation 10."""
        names = {1: "a day", 7: "a week", 30: "30 days", 365: "the year"}
        # So much noise that the rounding of releases does not show. Only ratios matter.
        options = ["--horizon", 365, "--epsilon", 0.01, "--delta", "1e-6", "--json"]

        def errors(mechanism: str, *report: object, kinds: str = "1,7,30,365") -> list[float]:
            plan = json.loads(self.ask("plan", *options, "--mechanism", mechanism, "--report", kinds, *report))
            return next(each["errors"] for each in plan["mechanisms"] if each["name"] == mechanism)[: len(names)]

        independent = errors("input-perturbation")
        totals = errors("normalized-square-root")
        # Each has √2 of its error at half the budget, and the best mean of both weighs by precision.
        halves = [(2 / (a**-2 + b**-2)) ** 0.5 for a, b in zip(independent, totals, strict=True)]
        ours = [
            ("a report that favours days: `--weights 20,2,1,1`", errors("optimal", "--weights", "20,2,1,1")),
            ("a report of equal weights", errors("optimal")),
            (
                "a report that favours totals: `--report 1,7,30,365,total --weights 1,1,1,1,9`",
                errors("optimal", "--weights", "1,1,1,1,9", kinds="1,7,30,365,total"),
            ),
        ]
        known = [
            ("independent noise, added up", independent),
            ("a stream of running totals: `markov`", errors("markov")),
            ("a stream of running totals: `normalized-square-root`", totals),
            ("independent noise and the latter, for half the budget each, averaged", halves),
        ]
        rows = [[name, *(f"{10 * error / independent[0]:.1f}" for error in each)] for name, each in [*known, *ours]]
        return [["standard error of", *names.values()], *rows]

    # Pictures

    def noise_paths(self) -> str:
        shown = [
            ("input-perturbation", "Fresh noise per step, added up", svg.RED),
            ("binary", "Binary tree", svg.ORANGE),
            ("markov", "Default", svg.BLUE),
        ]
        ticks = [(value, str(value)) for value in (-240, -160, -80, 0, 80, 160, 240)]
        panels = []
        for mechanism, title, colour in shown:
            values = self.noise(mechanism, 1024)
            line = svg.Line("", list(enumerate(values)), colour, width=1.0)
            panels.append(svg.Panel(title, [line], [(0, "0"), (511, "512"), (1023, "1024")], ticks, x_label="step"))
        return svg.chart(panels, 960, 260)

    def noise(self, mechanism: str, horizon: int) -> list[float]:
        """One path of noise under the public key."""
        options = ["--horizon", horizon, "--epsilon", 1, "--delta", "1e-6", "--mechanism", mechanism]
        content = self.written("noise.npy", "--output", "research", "noise", *options, key=True)
        # The header of an .npy file ends with its first line feed; the rest is little-endian doubles.
        values = array.array("d", content[content.index(b"\n") + 1 :])
        if sys.byteorder == "big":
            values.byteswap()
        return list(values)

    def error_growth(self) -> str:
        shown = [
            ("binary", "binary tree", svg.ORANGE),
            ("honaker-full", "improved tree", svg.GREEN),
            ("square-root", "square root", svg.GREY),
            ("markov", "default", svg.BLUE),
            ("least", "least possible", svg.INK),
        ]
        powers = list(range(3, 15))
        errors = {power: self.compare(2**power) for power in powers}
        lines = [
            svg.Line(name, [(power, errors[power][mechanism]) for power in powers], colour, dashed=mechanism == "least")
            for mechanism, name, colour in shown
        ]
        ticks = [(value, str(value)) for value in range(0, 51, 10)]
        panel = svg.Panel(
            "Typical error of a running total, in events, at ε = 1 and δ = 10⁻⁶",
            lines,
            [(power, f"{2**power:,}") for power in powers if power % 2 == 0],
            ticks,
            x_label="number of steps",
            label_space=110,
        )
        return svg.chart([panel], 760, 360)

    def step_errors(self) -> str:
        options = ["--horizon", 1024, "--epsilon", 1, "--delta", "1e-6"]
        return self.written("errors.svg", "--plot", "plan", *options).decode()

    def days_or_totals(self) -> str:
        options = ["--horizon", 365, "--epsilon", 1, "--delta", "1e-6", "--report", "steps,total", "--curve"]
        return self.written("curve.svg", "--plot", "plan", *options).decode()

    def first_count(self) -> str:
        return self.visits("1d", 56)

    def readme(self) -> str:
        return self.visits("1h", 1344)

    def visits(self, every: str, horizon: int) -> str:
        """The example's totals by region, as the README and the first chapter count them."""
        steps = ["--time", "time", "--every", every, "--from", "2026-01-05", "--horizon", horizon]
        groups = ["--group-by", "region", "--groups", "north,south,east,west,harbour"]
        privacy = ["--epsilon", 0.2, "--delta", "1e-6"]
        events = ROOT / "examples" / "visits.csv"
        return self.written("visits.svg", "--plot", "count", events, *steps, *groups, *privacy, key=True).decode()

    def files(self) -> dict[pathlib.Path, str]:
        """Every file with figures, as it should be."""
        images: dict[str, Callable[[], str]] = {
            "noise-paths": self.noise_paths,
            "error-growth": self.error_growth,
            "step-errors": self.step_errors,
            "days-or-totals": self.days_or_totals,
            "first-count": self.first_count,
            "visits": self.readme,
            "binary-tree": lambda: svg.tree(levels=4, total=13, event=6),
        }
        made = {DOCS / "images" / f"{name}.svg": draw() for name, draw in images.items()}
        for name, page, make in [
            ("epsilons", "first-count", self.epsilons),
            ("horizons", "first-count", self.horizons),
            ("persons", "persons", self.persons),
            ("sums", "periods", self.sums),
            ("mechanisms", "how-good", self.mechanisms),
            ("lengths", "how-good", self.lengths),
        ]:
            path = DOCS / f"{page}.md"
            made[path] = with_table(made.get(path) or path.read_text(encoding="utf-8"), name, table(make()))
        return made


def table(rows: list[list[str]]) -> str:
    """Markdown. Columns of figures are aligned to the right."""
    numeric = [all(re.match(r"[±–\d]", cell) for cell in column) for column in zip(*rows[1:], strict=True)]
    rule = ["--:" if right else ":--" for right in numeric]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]])


def with_table(page: str, name: str, made: str) -> str:
    pattern = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end of table -->)", re.S)
    if not pattern.search(page):
        raise ValueError(f"there is no place for the table {name}")
    return pattern.sub(lambda found: f"{found[1]}\n{made}\n\n{found[2]}", page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for path, wanted in Figures(arguments.program.resolve(strict=True)).files().items():
        if path.exists() and path.read_text(encoding="utf-8") == wanted:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if not arguments.check:
            path.write_text(wanted, encoding="utf-8")
    if stale:
        print(f"{'out of date' if arguments.check else 'written'}: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
