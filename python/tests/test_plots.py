"""Plots with matplotlib, and a clear error without it."""

import subprocess
import sys

import numpy as np
import pytest

import evertally
import evertally.plots

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture(autouse=True)
def closed() -> object:
    """Figures are closed after every test."""
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_profiles_are_those_of_the_plans() -> None:
    plans = [evertally.plan(100, mechanism=name) for name in ("binary", "square-root")]
    lines = evertally.plots.error_profiles(plans).get_lines()
    assert [line.get_label() for line in lines] == ["binary", "square-root"]
    for line, plan in zip(lines, plans, strict=True):
        assert np.array_equal(line.get_ydata(), plan.error_profile())
    relative = evertally.plots.error_profiles(plans, relative=True).get_lines()
    assert np.array_equal(relative[0].get_ydata(), np.ones(100))
    long = evertally.plots.error_profiles({"long": evertally.plan(2**40)}).get_lines()[0].get_xdata()
    assert np.asarray(long)[0] == 1 and np.asarray(long)[-1] == 2**40 and len(np.asarray(long)) <= 4096
    with pytest.raises(ValueError, match="horizon"):
        evertally.plots.error_profiles([plans[0], evertally.plan(101)], relative=True)
    with pytest.raises(ValueError, match="no plan"):
        evertally.plots.error_profiles([])


def test_releases_are_drawn_with_their_bands() -> None:
    from matplotlib import pyplot

    own = pyplot.subplots()[1]
    rows = evertally.KeyedCounter(evertally.plan(5, keys=["a", "b"])).run(np.ones((5, 2)))
    assert evertally.plots.releases(rows, column=1, axes=own) is own
    assert np.array_equal(own.get_lines()[0].get_ydata(), rows.values[:, 1])
    with pytest.raises(ValueError, match="batch"):
        evertally.plots.releases(evertally.BatchPlan(np.eye(2)).answer(np.zeros(2)))
    worst = evertally.plots.certificate(evertally.gamma("prefix-sum", 8, objective="worst"))
    assert len(worst.get_lines()) == 2 and "γ_2" in worst.get_title()


def test_without_matplotlib_everything_else_works() -> None:
    script = """
import sys
sys.modules["matplotlib"] = None
import evertally.plots
try:
    evertally.plots.error_profiles([evertally.plan(4)])
except ImportError as error:
    assert "pip install matplotlib" in str(error)
else:
    raise AssertionError("matplotlib was found")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
