"""Plans: what they are made of, what follows, and what is refused."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import evertally

MECHANISMS = ["binary", "honaker-streaming", "square-root", "graded-square-root", "banded-square-root:4", "blt:3", "optimal"]


def test_the_budget_is_stated_in_three_ways() -> None:
    exact = evertally.plan(10, 0.5, 1e-5)
    assert (exact.epsilon, exact.delta, exact.rho) == (0.5, 1e-5, None)
    concentrated = evertally.plan(10, rho=0.5)
    assert (concentrated.epsilon, concentrated.delta, concentrated.rho) == (None, None, 0.5)
    assert concentrated.noise_multiplier == pytest.approx(1.0, rel=1e-6)
    pure = evertally.plan(10, 1.0, 0.0)
    assert (pure.epsilon, pure.delta, pure.mechanism) == (1.0, 0.0, "laplace-tree")
    assert evertally.plan(10).epsilon == 1.0 and evertally.plan(10).delta == 1e-6


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 1 / 3, 1.0, 1.1, math.pi, 4.2246788893273175, 1e4])
def test_a_noise_multiplier_is_never_lowered(sigma: float) -> None:
    plan = evertally.plan(4, sigma=sigma, dimension=2)
    assert sigma <= plan.noise_multiplier <= sigma * (1 + 1e-12)
    assert plan.spend().mu * sigma <= 1 + 1e-12


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_profiles_are_the_rows_of_the_dense_matrix(mechanism: str) -> None:
    plan = evertally.plan(40, mechanism=mechanism, arithmetic="float")
    decoder, encoder = plan.dense()
    assert np.allclose(decoder @ encoder, np.tril(np.ones((40, 40))), atol=1e-9)
    rows = plan.noise_scale * np.linalg.norm(decoder, axis=1)
    profile = plan.error_profile()
    assert np.allclose(profile, rows, rtol=1e-9)
    assert profile.tolist() == [plan.standard_error(step) for step in range(40)]
    assert np.max(profile) == pytest.approx(plan.worst_rmse, rel=1e-9)
    assert math.sqrt(np.mean(profile**2)) == pytest.approx(plan.rmse, rel=1e-9)
    chosen = np.array([39, 0, 7])
    assert plan.error_profile(chosen).tolist() == profile[chosen].tolist()


def test_workloads_are_windows_and_decays_too() -> None:
    window = evertally.plan(6, workload=("window", 2), mechanism="square-root", arithmetic="float")
    decoder, encoder = window.dense()
    assert np.allclose(decoder @ encoder, np.tril(np.ones((6, 6))) - np.tril(np.ones((6, 6)), -2), atol=1e-9)
    decay = evertally.plan(6, workload=("decay", 0.5), mechanism="square-root", arithmetic="float")
    decoder, encoder = decay.dense()
    powers = np.subtract.outer(np.arange(6), np.arange(6))
    assert np.allclose(decoder @ encoder, np.where(powers >= 0, 0.5 ** np.maximum(powers, 0), 0.0), atol=1e-9)
    assert (window.workload, decay.workload) == ("window:2", "decay:0.5")


def test_streams_without_an_end() -> None:
    plan = evertally.plan(None)
    assert plan.is_unbounded and plan.horizon == 2**40 and not evertally.plan(5).is_unbounded
    with pytest.raises(evertally.BadParameter, match="steps"):
        plan.error_profile()
    anytime = evertally.plan(None, objective="anytime")
    assert (plan.mechanism, anytime.mechanism, anytime.objective) == (*["endless-square-root"] * 2, "anytime")
    with pytest.raises(evertally.BadParameter, match="unless the end is unknown"):
        evertally.plan(5, objective="anytime")


def test_what_a_plan_says_of_itself() -> None:
    plan = evertally.plan(
        100, neighbours="replace", max_steps=3, min_gap=5, objective="worst", keys=["a", "b"], contribution=(-2, 1)
    )
    assert (plan.neighbours, plan.max_steps, plan.min_gap, plan.objective) == ("replace", 3, 5, "worst")
    assert (plan.keys, plan.dimension, plan.largest_contribution) == (["a", "b"], None, 2.0)
    vectors = evertally.plan(100, dimension=7, norm=0.5)
    assert (vectors.dimension, vectors.keys, vectors.largest_contribution) == (7, None, 0.5)
    assert (vectors.arithmetic, vectors.grid) == ("float", None)
    # The noise of a person in three steps is large enough for whole numbers, and that of one event is not.
    assert (plan.arithmetic, plan.grid) == ("exact", 1.0)
    assert evertally.plan(100).grid == 0.25 and evertally.plan(100, epsilon=20.0).grid == 1 / 64
    assert evertally.plan(100, whole=True) == evertally.plan(100, grid=1) != evertally.plan(100)
    assert evertally.plan(100, whole=False).grid == 0.25 and evertally.plan(100, grid=0.5).grid == 0.5
    ratio = evertally.plan(100).ratio_to_lower_bound
    assert ratio is not None and 1 <= ratio < 1.3


def test_plans_are_equal_when_they_plan_the_same() -> None:
    plan = evertally.plan(100, 1, 1e-6)
    assert plan == evertally.plan(100, epsilon=1.0, delta=1e-6, max_steps=1) and hash(plan) == hash(evertally.plan(100))
    assert plan != evertally.plan(101) and plan != evertally.plan(100, stream="b") and plan != "plan"
    assert len(plan.fingerprint) == 32


@pytest.mark.parametrize(
    "choices",
    [
        {"horizon": 30, "epsilon": 0.3, "delta": 1e-9, "calibration": "zcdp", "mechanism": "square-root"},
        {"horizon": None, "sigma": 2.0, "dimension": 3, "norm": 2.0, "stream": "s", "memory_limit": 10**9},
        {"horizon": 30, "workload": ("window", 3), "keys": ["a", "b"], "neighbours": "replace", "grid": 0.5},
        {"horizon": 30, "workload": ("decay", 0.9), "open_keys": True, "objective": "worst"},
        {"horizon": 30, "max_steps": 2, "min_gap": 3, "contribution": (-1.0, 1.0), "arithmetic": "float"},
    ],
)
def test_plans_are_pickled_by_their_choices(choices: dict[str, Any]) -> None:
    plan = evertally.plan(**choices)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert copy.deepcopy(plan) == plan


@pytest.mark.parametrize("horizon", [30, None])
@pytest.mark.parametrize("workload", ["prefix-sum", ("window", 3), ("decay", 0.9)])
@pytest.mark.parametrize("arithmetic", [None, "float"])
def test_plans_for_another_stream_or_other_keys_are_pickled_too(horizon: int | None, workload: Any, arithmetic: str | None) -> None:
    choices: dict[str, Any] = {"workload": workload, "arithmetic": arithmetic}
    plan = evertally.plan(horizon, keys=["a", "b", "c"], **choices)
    assert plan.stream == "" and evertally.plan(horizon, stream="s", **choices).stream == "s"
    named, part = plan.with_stream("s"), plan._part(["c", "a"])
    both = named._part(("c", "a"))
    assert named == evertally.plan(horizon, keys=["a", "b", "c"], stream="s", **choices)
    # A part has the noise of the whole plan, and a plan of those keys has noise of its own.
    declared = plan.with_keys(["c", "a"])
    assert declared == evertally.plan(horizon, keys=["c", "a"], **choices)
    assert both == part.with_stream("s")
    defined = part._with_definition(b"daily")
    assert defined == plan._with_definition(b"daily")._part(["c", "a"])
    assert len({plan, named, part, both, declared, defined}) == 6
    assert (named.stream, part.keys, plan.keys) == ("s", ["c", "a"], ["a", "b", "c"])
    for made in (named, part, both, declared, defined):
        again = pickle.loads(pickle.dumps(made))
        assert again == made and (again.stream, again.keys, again.mechanism) == (made.stream, made.keys, made.mechanism)
        assert copy.deepcopy(made) == made


@pytest.mark.parametrize("mechanism", [*MECHANISMS, "normalized-square-root", "smooth-binary", "group-algebra", "banded-inverse-square-root"])
def test_the_parts_of_every_mechanism_are_pickled(mechanism: str) -> None:
    part = evertally.plan(30, keys=["a", "b"], mechanism=mechanism)._part(["b"])
    assert pickle.loads(pickle.dumps(part)) == part


def test_a_part_keeps_the_mechanism_that_memory_left_to_the_whole() -> None:
    """A better mechanism would fit a few keys, and would be other noise."""
    names = [f"key {number}" for number in range(10_000)]
    roomy = evertally.plan(40, keys=names)
    tight = evertally.plan(40, keys=names, memory_limit=10_000 * roomy.bytes_per_coordinate - 1)
    part = tight._part(names[:1])
    assert part.mechanism == tight.mechanism != roomy.mechanism
    assert evertally.plan(40, keys=names[:1], memory_limit=10_000 * roomy.bytes_per_coordinate - 1).mechanism != tight.mechanism
    assert pickle.loads(pickle.dumps(part)) == part


def test_open_keys_can_be_declared() -> None:
    opened = evertally.plan(30, open_keys=True)
    assert opened.has_open_keys and opened.keys is None
    part = opened._part(["a", "b"])
    assert not part.has_open_keys and part.keys == ["a", "b"]
    assert pickle.loads(pickle.dumps(part)) == part
    key = evertally.NoiseKey.generate()
    sparse = evertally.SparseCounter(opened, key)
    sparse.add("b", 3.0)
    sparse.close_step()
    assert evertally.KeyedCounter(part, key).step({"b": 3.0})[1] == sparse.release("b")


def test_keys_that_cannot_be_are_refused_of_a_part_too() -> None:
    plan = evertally.plan(30, keys=["a", "b"], memory_limit=10_000)
    bad: list[Any] = [[], ["a", "a"]]
    for keys in bad:
        with pytest.raises(evertally.BadParameter, match="keys"):
            plan._part(keys)
    with pytest.raises(evertally.Unsupported, match="limit"):
        plan._part([str(number) for number in range(1000)])
    for other in (evertally.plan(30), evertally.plan(30, dimension=2)):
        with pytest.raises(evertally.BadParameter, match="plan must be one for keys"):
            other._part(["a"])
    with pytest.raises(TypeError):
        plan._part("ab")
    with pytest.raises(TypeError):
        plan._part([b"a"])  # type: ignore[list-item]


def test_a_pickled_plan_that_comes_out_otherwise_is_refused() -> None:
    make, (choices, fingerprint) = evertally.plan(30).__reduce__()
    with pytest.raises(evertally.BadState, match="another plan"):
        make({**choices, "horizon": 31}, fingerprint)


@pytest.mark.parametrize(
    ("choices", "error", "words"),
    [
        ({"horizon": 0}, evertally.BadParameter, "horizon"),
        ({"horizon": -1}, evertally.BadParameter, "horizon"),
        ({"horizon": 2**61}, evertally.BadParameter, "horizon"),
        ({"horizon": 10.5}, evertally.BadParameter, "horizon"),
        ({"horizon": 10, "epsilon": math.nan}, evertally.BadParameter, "epsilon"),
        ({"horizon": 10, "epsilon": "one"}, evertally.BadParameter, "epsilon"),
        ({"horizon": 10, "delta": 1.0}, evertally.BadParameter, "delta"),
        ({"horizon": 10, "rho": 0.1, "epsilon": 1.0}, evertally.BadParameter, "only one"),
        ({"horizon": 10, "rho": 0.1, "sigma": 1.0}, evertally.BadParameter, "only one"),
        ({"horizon": 10, "sigma": 0.0}, evertally.BadParameter, "sigma"),
        ({"horizon": 10, "sigma": math.nan}, evertally.BadParameter, "sigma"),
        ({"horizon": 10, "rho": 0.1, "calibration": "exact"}, evertally.BadParameter, "calibration"),
        ({"horizon": 10, "mechanism": "magic"}, evertally.BadParameter, "mechanism"),
        ({"horizon": 10, "mechanism": "laplace-tree"}, evertally.Unsupported, "laplace-tree"),
        ({"horizon": 10, "workload": "median"}, evertally.BadParameter, "workload"),
        ({"horizon": 10, "workload": ("window", 0)}, evertally.BadParameter, "window"),
        ({"horizon": 10, "workload": ("decay", 1.5)}, evertally.BadParameter, "decay"),
        ({"horizon": 10, "workload": ("window", 2, 3)}, evertally.BadParameter, "workload"),
        ({"horizon": 10, "neighbours": "swap"}, evertally.BadParameter, "neighbours"),
        ({"horizon": 10, "max_steps": 0}, evertally.BadParameter, "steps"),
        ({"horizon": 10, "objective": "median"}, evertally.BadParameter, "objective"),
        ({"horizon": 10, "contribution": (1, 0)}, evertally.BadParameter, "range"),
        ({"horizon": 10, "contribution": 3}, evertally.BadParameter, "contribution"),
        ({"horizon": 10, "contribution": (0, 1), "norm": 1.0}, evertally.BadParameter, "only one"),
        ({"horizon": 10, "norm": 1.0}, evertally.BadParameter, "contribution"),
        ({"horizon": 10, "dimension": 0}, evertally.BadParameter, "dimension"),
        ({"horizon": 10, "dimension": 2, "keys": ["a"]}, evertally.BadParameter, "only one"),
        ({"horizon": 10, "keys": ["a", "a"]}, evertally.BadParameter, "key"),
        ({"horizon": 10, "keys": []}, evertally.BadParameter, "key"),
        ({"horizon": 10, "arithmetic": "fuzzy"}, evertally.BadParameter, "arithmetic"),
        ({"horizon": 10, "grid": -1.0}, evertally.BadParameter, "grid"),
        ({"horizon": 10, "grid": 2.0, "whole": True}, evertally.BadParameter, "only one of grid and whole"),
        ({"horizon": 10, "whole": "yes"}, evertally.BadParameter, "whole"),
        ({"horizon": 10, "whole": True, "arithmetic": "float"}, evertally.BadParameter, "grid"),
        ({"horizon": 4096, "mechanism": "optimal"}, evertally.Unsupported, "optimal"),
        ({"horizon": 10, "unknown": 1}, TypeError, "unknown"),
    ],
)
def test_every_bad_choice_is_refused_by_name(choices: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        evertally.plan(**choices)


def test_bad_steps_are_refused() -> None:
    plan = evertally.plan(10)
    with pytest.raises(evertally.HorizonSpent):
        plan.standard_error(10)
    with pytest.raises(evertally.HorizonSpent):
        plan.error_profile(np.array([3, 10]))
    for steps in (np.array([-1]), np.array([0.5]), np.arange(10)[::2], [1, 2], np.zeros((2, 2), dtype=np.int64)):
        with pytest.raises(evertally.BadParameter, match="steps"):
            plan.error_profile(steps)  # type: ignore[arg-type]
    with pytest.raises(evertally.Unsupported):
        evertally.plan(5000).dense()


def test_comparisons_hold_every_mechanism() -> None:
    comparison = evertally.compare(64, rho=0.5)
    assert len(comparison.plans) + len(comparison.refused) == 17
    best = comparison.best
    assert best is not None and best.rmse == min(plan.rmse for plan in comparison.plans.values())
    assert comparison.plans["binary"] == evertally.plan(64, rho=0.5, mechanism="binary")
    assert pickle.loads(pickle.dumps(comparison.plans["square-root"])).mechanism == "square-root"
    assert comparison.optimal is not None and comparison.optimal_worst is not None
    assert comparison.optimal[1] <= comparison.optimal_worst[1]
    # Rounding counts: at a large ε, whole numbers are far from the optimum.
    for whole in (False, True):
        comparison = evertally.compare(64, epsilon=20.0, whole=whole)
        assert comparison.optimal is not None and comparison.ratios.keys() == comparison.plans.keys()
        plan = comparison.plans["graded-square-root"]
        sigma = evertally.plan(64, epsilon=20.0, arithmetic="float").noise_multiplier
        ratio = (plan.rmse / sigma) ** 2 / comparison.optimal[0]
        assert comparison.ratios["graded-square-root"] == pytest.approx(ratio, rel=1e-9)
        assert (ratio > 1.19) == whole and comparison.worst_ratios["graded-square-root"] > 1
    assert evertally.compare(64, max_steps=2).ratios == {}
    assert "laplace-tree" in repr(comparison) and "rmse" in repr(comparison)
    with pytest.raises(evertally.BadParameter):
        evertally.compare(0)
