"""Learning on numpy gradients."""

from typing import Any

import numpy as np
import pytest

import evertally

KEY = evertally.NoiseKey.insecure_from_seed(13)


def plan(**choices: Any) -> evertally.LearningPlan:
    return evertally.LearningPlan(**{"dimension": 3, "steps": 20, "epsilon": 2.0, "delta": 1e-6, "radius": 1.0, "batch_size": 4, **choices})


def test_parameters_follow_the_private_sums() -> None:
    chosen = plan(regularization=5.0, radius=None)
    learner = evertally.Learner(chosen, KEY)
    assert np.array_equal(learner.theta, np.zeros(3)) and np.array_equal(learner.average, np.zeros(3))
    seen = [learner.theta]
    for _ in range(20):
        theta = learner.step(np.array([[0.1, 0.2, -0.2], [30.0, 0.0, 40.0]]))
        assert np.allclose(theta, -learner.released / 4 / 5.0) and np.array_equal(theta, learner.theta)
        seen.append(theta)
    assert np.allclose(learner.average, np.mean(seen[:-1], axis=0))
    # The second gradient is clipped to (0.6, 0, 0.8); what is left of the difference is noise,
    # within 8 of its standard deviations.
    truth = 20 * np.array([0.7, 0.2, 0.6])
    assert np.all(np.abs(learner.released - truth) < 8 * 4 * chosen.standard_error(19))
    with pytest.raises(evertally.HorizonSpent):
        learner.step(np.zeros((1, 3)))


def test_noise_does_not_depend_on_gradients() -> None:
    one, other = evertally.Learner(plan(), KEY), evertally.Learner(plan(), KEY)
    one.step(np.zeros((0, 3)))
    other.step(np.array([[0.5, 0.0, 0.0]]))
    assert np.allclose(other.released - one.released, [0.5, 0.0, 0.0], atol=1e-6)


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"radius": None, "rate": 0.1, "momentum": 0.9},
        {"radius": None, "rate": "cosine:0.5", "domain": ("box", -1.0, 1.0)},
        {"domain": ("ball", 1.0), "start": np.array([0.5, 0.0, 0.0]), "mechanism": "binary"},
        {"restart_every": 5},
        {"max_steps": 4, "min_gap": 5, "mechanism": "banded-square-root:5"},
    ],
)
def test_states_resume_bit_for_bit(choices: dict[str, Any]) -> None:
    gradients = np.random.default_rng(1).normal(size=(20, 4, 3))
    learner = evertally.Learner(plan(**choices), KEY)
    for step in range(20):
        learner = evertally.Learner.resume(plan(**choices), KEY, learner.save())
        assert learner.steps_taken == step
        learner.step(gradients[step])
    whole = evertally.Learner(plan(**choices), KEY)
    for row in gradients:
        whole.step(row)
    assert np.array_equal(whole.theta, learner.theta) and np.array_equal(whole.average, learner.average)
    state = learner.save()
    others = [
        (plan(**choices, stream="other"), KEY, state),
        (plan(**choices), evertally.NoiseKey.insecure_from_seed(14), state),
        (plan(**choices), KEY, state[:-1]),
        (plan(**choices), KEY, b""),
    ]
    for other in others:
        with pytest.raises(evertally.BadState):
            evertally.Learner.resume(*other)


@pytest.mark.parametrize(
    "gradients",
    [
        np.zeros((1, 2)),
        np.zeros(3),
        np.zeros((1, 3), dtype=np.float32),
        np.full((1, 3), np.nan),
        np.array([[0.0, 0.0, 0.0], [0.0, np.inf, 0.0]]),
        np.zeros((5, 3)),
        np.zeros((3, 2)).T,
        [[0.0, 0.0, 0.0]],
    ],
)
def test_gradients_that_cannot_be_used_take_no_step(gradients: Any) -> None:
    learner, untouched = evertally.Learner(plan(), KEY), evertally.Learner(plan(), KEY)
    with pytest.raises(evertally.BadParameter):
        learner.step(gradients)
    assert learner.steps_taken == 0
    assert np.array_equal(learner.step(np.ones((1, 3))), untouched.step(np.ones((1, 3))))


def test_what_was_spent() -> None:
    passes = plan(max_steps=4, min_gap=5)
    costs = [passes.spend(steps).mu_squared for steps in (0, 1, 6, 20)]
    assert costs[0] == 0 and costs == sorted(costs) and passes.spend().epsilon(1e-6) <= 2.0 * (1 + 1e-9)
    learner = evertally.Learner(passes, KEY)
    learner.step(np.zeros((1, 3)))
    assert learner.spend() == passes.spend(1)
    assert plan().regularization is not None and plan(radius=None, rate=0.1).regularization is None
    bound = plan().regret_bound(1.0)
    assert bound is not None and bound > 0 and plan(momentum=0.5).regret_bound(1.0) is None


@pytest.mark.parametrize(
    "choices",
    [
        {"radius": None},
        {"rate": 0.1},
        {"radius": -1.0},
        {"radius": None, "rate": "square:0.1"},
        {"radius": None, "rate": []},
        {"domain": ("ball", -1.0)},
        {"domain": ("disc", 1.0)},
        {"clip": 0.0},
        {"batch_size": 0},
        {"momentum": 1.5},
        {"dimension": 0},
        {"steps": 0},
        {"start": np.zeros(2)},
        {"restart_every": 0},
        {"mechanism": "magic"},
        {"sigma": 1.0},
    ],
)
def test_plans_that_cannot_be_made_are_refused(choices: dict[str, Any]) -> None:
    with pytest.raises(evertally.BadParameter):
        plan(**choices)
