"""Plots of error profiles and releases, with matplotlib.

>>> import evertally, evertally.plots
>>> plans = {name: evertally.plan(256, mechanism=name) for name in ("binary", "square-root")}
>>> axes = evertally.plots.error_profiles(plans)
>>> [line.get_label() for line in axes.get_lines()]
['binary', 'square-root']

Every function draws on the given axes, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from evertally._native import Certificate, Plan, Releases

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["certificate", "error_profiles", "releases"]

# A longer profile is drawn at this number of steps, spaced evenly on a logarithmic scale: no screen
# shows more.
_MAX_POINTS = 4096


def error_profiles(
    plans: Mapping[str, Plan] | Sequence[Plan], *, axes: Axes | None = None, relative: bool = False
) -> Axes:
    """Draws the standard error of every step of one or more plans, by their names or their mechanisms.

    relative: whether to divide by the error of the first plan, step by step. All horizons must then
        be the same.
    """
    named = plans if isinstance(plans, Mapping) else {plan.mechanism: plan for plan in plans}
    if not named:
        raise ValueError("there is no plan to draw")
    if relative and len({plan.horizon for plan in named.values()}) > 1:
        raise ValueError("errors are compared step by step, so all plans need the same horizon")
    axes = _axes(axes)
    first: npt.NDArray[np.float64] | None = None
    for name, plan in named.items():
        steps = _steps(plan.horizon)
        errors = plan.error_profile(steps)
        if relative:
            first = errors if first is None else first
            errors = errors / first
        axes.plot(steps + 1, errors, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("step")
    axes.set_ylabel("standard error, relative to the first" if relative else "standard error")
    axes.legend()
    return axes


def releases(
    made: Releases,
    *,
    truth: npt.ArrayLike | None = None,
    level: float = 0.95,
    column: int = 0,
    label: str = "released",
    axes: Axes | None = None,
) -> Axes:
    """Draws a run of releases with the band that holds the truth at each step with probability `level`.

    truth: the true totals, for tests and teaching; they are as sensitive as the data.
    column: the coordinate or key to draw, if there are several.

    >>> import evertally, evertally.plots, numpy
    >>> run = evertally.Counter(evertally.plan(100)).run(numpy.ones(100))
    >>> axes = evertally.plots.releases(run, truth=numpy.arange(1, 101))
    >>> len(axes.get_lines()), len(axes.collections)
    (2, 1)
    """
    steps = made.steps
    if steps is None:
        raise ValueError("the answers of a batch have no steps")
    low, high = made.interval(level)
    values = made.values
    if values.ndim == 2:
        values, low, high = values[:, column], low[:, column], high[:, column]
    axes = _axes(axes)
    axes.fill_between(steps, low, high, alpha=0.25, linewidth=0, label=f"{100 * level:g} % interval")
    axes.plot(steps, values, label=label)
    if truth is not None:
        axes.plot(steps, np.asarray(truth), color="black", linewidth=0.8, label="truth")
    axes.set_xlabel("step")
    axes.legend()
    return axes


def certificate(found: Certificate, *, axes: Axes | None = None) -> Axes:
    """Draws the weights that prove the bounds of a certificate, with the bounds as the title.

    >>> import evertally, evertally.plots
    >>> axes = evertally.plots.certificate(evertally.gamma("prefix-sum", 64))
    >>> len(axes.get_lines())
    1
    """
    axes = _axes(axes)
    axes.plot(found.column_weights, label="weights of columns")
    if found.row_weights is not None:
        axes.plot(found.row_weights, label="weights of rows")
    axes.set_title(f"{found.lower:.9g} ≤ {'γ_F' if found.objective == 'mean' else 'γ_2'} ≤ {found.upper:.9g}")
    axes.set_xlabel("column or row")
    axes.legend()
    return axes


def _axes(given: Axes | None) -> Axes:
    """The given axes, or new ones."""
    if given is not None:
        return given
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("evertally.plots needs matplotlib: pip install matplotlib") from error
    return pyplot.subplots()[1]


def _steps(horizon: int) -> npt.NDArray[np.int64]:
    """All steps of a short horizon, and some of a long one."""
    if horizon <= _MAX_POINTS:
        return np.arange(horizon, dtype=np.int64)
    spread = np.geomspace(1, horizon, _MAX_POINTS)
    return np.unique(np.minimum(spread.astype(np.int64), horizon)) - 1
