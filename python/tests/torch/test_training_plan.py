"""Accounting against brute force, and the order of batches against what is accounted."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from evertally import BadParameter, BadState, HorizonSpent  # noqa: E402
from evertally.torch import DPSGD, ClippedSum, FixedOrderBatches, check_loader, training_plan  # noqa: E402
from evertally.torch.accounting import beginnings  # noqa: E402
from torch.utils.data import DataLoader, IterableDataset, TensorDataset  # noqa: E402

BUDGET = {"epsilon": 2.0, "delta": 1e-5}
MECHANISMS = ["binary", "honaker-full", "honaker-streaming", "square-root", "graded-square-root", "blt", None]


def plan(examples=21, batch_size=4, epochs=3, **choices):
    return training_plan(
        examples=examples, batch_size=batch_size, epochs=epochs, parameters=5, **{**BUDGET, **choices}
    )


def test_a_plan_has_the_participation_of_a_fixed_order():
    training = plan()
    assert (training.steps_per_epoch, training.steps) == (6, 18)
    inner = training.plan
    assert (inner.horizon, inner.max_steps, inner.min_gap, inner.dimension) == (18, 3, 6, 5)
    assert inner.largest_contribution == training.clip == 1.0
    clipped, replaced = plan(clip=0.25), plan(neighbours="replace")
    assert clipped.plan.largest_contribution == clipped.clip == 0.25
    assert replaced.plan.noise_scale == pytest.approx(2 * inner.noise_scale, rel=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_a_beginning_spends_is_its_own_sensitivity(mechanism):
    """The sensitivity of the first t releases, from the pseudo-inverse of the first t rows of L,
    over all signs.
    """
    training = plan(examples=8, batch_size=2, epochs=3, mechanism=mechanism)
    decoder, encoder = training.plan.dense()
    found = training._sensitivities
    for steps in range(1, training.steps + 1):
        seen = np.linalg.pinv(decoder[:steps]) @ decoder[:steps] @ encoder
        largest = 0.0
        for first in range(training.steps_per_epoch):
            columns = seen[:, first :: training.steps_per_epoch]
            for signs in itertools.product([-1, 1], repeat=columns.shape[1]):
                largest = max(largest, float(np.linalg.norm(columns @ signs)))
        # Vectors may be orthogonal or opposed as they like; the bound by absolute values is reached
        # where signs agree.
        assert found[steps - 1] >= largest * (1 - 1e-9)
        gram = np.abs(seen.T @ seen)
        bound = max(
            gram[np.ix_(range(first, training.steps, 4), range(first, training.steps, 4))].sum() for first in range(4)
        )
        assert found[steps - 1] <= math.sqrt(bound) * (1 + 1e-9)


def test_beginnings_of_any_matrix_are_those_of_the_worse_sign():
    """With two steps an example the bound is reached by equal or by opposite gradients, and
    matrices at random call for both.
    """
    rng = np.random.default_rng(11)
    workload = np.tril(np.ones((6, 6)))
    opposed = 0
    for _ in range(20):
        decoder = rng.standard_normal((6, 8))
        found = beginnings(decoder, workload, gap=3)
        for steps in range(1, 7):
            seen = np.linalg.pinv(decoder[:steps]) @ workload[:steps]
            equal, opposite = (np.linalg.norm(seen[:, :3] + sign * seen[:, 3:], axis=0).max() for sign in (1, -1))
            assert found[steps - 1] == pytest.approx(max(equal, opposite), rel=1e-6)
            opposed += opposite > equal * (1 + 1e-6)
    assert opposed > 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_account_grows_to_no_more_than_the_budget(mechanism):
    training = plan(mechanism=mechanism)
    spent = [training.spent(steps, delta=1e-5)[0] for steps in range(training.steps + 1)]
    assert spent[0] == 0 and spent[1] > 0
    assert all(earlier <= later for earlier, later in itertools.pairwise(spent))
    assert spent[-1] <= 2.0 * (1 + 1e-12)
    if training.plan.mechanism.startswith(("square-root", "banded", "blt")):
        assert spent[-1] > 1.999


def test_a_run_whose_every_step_sees_all_examples_is_accounted():
    training = plan(examples=3, batch_size=3, epochs=300, mechanism="square-root")
    assert training.spent(300, 1e-5)[0] <= 2.0 * (1 + 1e-12)
    assert training.spent(1, 1e-5)[0] < 0.1


def test_long_runs_account_their_whole_budget():
    training = plan(examples=3000, batch_size=1, epochs=1)
    assert training.spent(0, 1e-5) == (0.0, 1e-5)
    assert training.spent(1, 1e-5)[0] == training.plan.spend().epsilon(1e-5)


def test_an_optimiser_says_what_it_spent():
    parameter = torch.nn.Parameter(torch.zeros(5))
    training = plan()
    optimizer = DPSGD([parameter], training, lr=0.1)
    spent = [optimizer.spent(1e-5)]
    for _ in range(3):
        optimizer.step(ClippedSum.declared([parameter], [torch.zeros(5)], examples=0, max_norm=1.0))
        spent.append(optimizer.spent(1e-5))
    assert spent == [training.spent(steps, 1e-5) for steps in range(4)]


@pytest.mark.parametrize(
    "choices",
    [
        {"examples": 0},
        {"batch_size": 0},
        {"batch_size": 22},
        {"epochs": 0},
        {"epochs": 1.5},
        {"clip": 0.0},
        {"clip": -1.0},
        {"clip": float("nan")},
        {"epsilon": -1.0},
        {"mechanism": "no such thing"},
    ],
)
def test_bad_choices_are_refused(choices):
    with pytest.raises(BadParameter):
        plan(**choices)


def test_bad_questions_are_refused():
    for steps, delta in [(-1, 1e-5), (19, 1e-5), (1, 0.0), (1, 1.0), (1, float("nan"))]:
        with pytest.raises(BadParameter):
            plan().spent(steps, delta)


def test_every_example_comes_once_an_epoch_at_the_accounted_distance():
    training = plan()
    taken = defaultdict(list)
    for step, batch in enumerate(FixedOrderBatches(training)):
        assert len(batch) <= training.batch_size
        for example in batch:
            taken[example].append(step)
    assert sorted(taken) == list(range(21))
    for steps in taken.values():
        assert len(steps) == training.plan.max_steps
        assert {later - earlier for earlier, later in itertools.pairwise(steps)} == {training.plan.min_gap}


def test_orders_differ_unless_their_seed_is_the_same():
    training = plan(examples=100, batch_size=10)
    first = FixedOrderBatches(training)
    batches = list(first)
    assert batches != list(FixedOrderBatches(training))
    resumed = FixedOrderBatches(training)
    resumed.load_state_dict(first.state_dict(), start=7)
    assert len(resumed) == len(first) - 7
    assert list(resumed) == batches[7:]
    with pytest.raises(BadState, match="another number of examples"):
        FixedOrderBatches(plan()).load_state_dict(first.state_dict(), start=0)
    with pytest.raises(HorizonSpent):
        FixedOrderBatches(training, start=31)
    with pytest.raises(BadParameter):
        FixedOrderBatches(training, start=-1)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loop_that_was_left_goes_on_and_does_not_begin_again(workers):
    training = plan()
    batches = FixedOrderBatches(training)
    loader = DataLoader(TensorDataset(torch.arange(21)), batch_sampler=batches, num_workers=workers)
    for steps_taken, _ in enumerate(loader, start=1):
        if steps_taken == 3:
            break
    with pytest.raises(BadState, match="gone through once"):
        next(iter(loader))
    batches.load_state_dict(batches.state_dict(), start=3)
    assert [batch.tolist() for (batch,) in loader] == [batches.batch(step) for step in range(3, training.steps)]


def test_a_loader_is_refused_unless_its_order_is_fixed():
    training = plan()
    data = TensorDataset(torch.arange(21.0))
    batches = FixedOrderBatches(training)
    check_loader(DataLoader(data, batch_sampler=batches), training)
    check_loader(DataLoader(data, batch_size=4), training)
    seen = [len(batch) for (batch,) in DataLoader(data, batch_sampler=batches)]
    assert seen == [4, 4, 4, 4, 4, 1] * 3

    class Endless(IterableDataset):
        def __iter__(self):
            return iter(())

    refused = [
        (DataLoader(data, batch_size=4, shuffle=True), "shuffles"),
        (DataLoader(data, batch_size=5), "batches of 4"),
        (DataLoader(data, batch_size=4, drop_last=True), "drops the last"),
        (DataLoader(TensorDataset(torch.arange(20.0)), batch_size=4), "21 examples"),
        (DataLoader(data, batch_sampler=FixedOrderBatches(plan(epochs=4))), "another plan"),
        (DataLoader(Endless(), batch_size=4), "iterable"),
    ]
    for loader, match in refused:
        with pytest.raises(BadParameter, match=match):
            check_loader(loader, training)
