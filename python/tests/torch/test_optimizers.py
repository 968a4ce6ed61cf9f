"""The optimisers against torch's own, against each other, and against what must be refused."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import evertally  # noqa: E402
from evertally import BadParameter, BadState, HorizonSpent, Unsupported  # noqa: E402
from evertally.torch import DPFTRL, DPSGD, ClippedSum, CorrelatedNoise, PerExampleClipper, training_plan  # noqa: E402
from evertally.torch.noise import RELEASES, NoiseRows  # noqa: E402

STEPS, BATCH = 8, 4
# Noise for gradients that are declared to be tiny, and are not: what is left is the optimiser.
TINY = 1e-6
SILENT = {"sigma": 1e-3, "clip": TINY}


def parameters(dtype=torch.float64):
    generator = torch.Generator().manual_seed(2)
    shapes = [(4, 3), (3,), ()]
    return [torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=dtype)) for shape in shapes]


def plan(epochs=2, **budget):
    budget = budget or {"epsilon": 1.0, "delta": 1e-6}
    return training_plan(examples=STEPS // epochs * BATCH, batch_size=BATCH, epochs=epochs, parameters=16, **budget)


def gradients(owners, step):
    generator = torch.Generator().manual_seed(100 + step)
    return [torch.randn(owner.shape, generator=generator, dtype=owner.dtype) / 8 for owner in owners]


def clipped(owners, step):
    return ClippedSum.declared(owners, gradients(owners, step), examples=BATCH, max_norm=TINY)


def run(make, steps=STEPS, dtype=torch.float64):
    """The parameters after every step, under gradients that do not depend on them."""
    owners = parameters(dtype)
    optimizer = make(owners)
    path = []
    for step in range(steps):
        optimizer.step(clipped(owners, step))
        path.append(torch.cat([owner.detach().reshape(-1) for owner in owners]))
    return torch.stack(path)


def torch_path(make):
    """The same with an optimiser of torch on mean gradients."""
    owners = parameters()
    optimizer = make(owners)
    path = []
    for step in range(STEPS):
        for owner, gradient in zip(owners, gradients(owners, step), strict=True):
            owner.grad = gradient / BATCH
        optimizer.step()
        path.append(torch.cat([owner.detach().reshape(-1) for owner in owners]))
    return torch.stack(path)


@pytest.mark.parametrize("momentum, nesterov", [(0.0, False), (0.9, False), (0.9, True)])
def test_without_noise_they_are_torch_sgd(momentum, nesterov):
    choices = {"lr": 0.3, "momentum": momentum, "nesterov": nesterov}
    expected = torch_path(lambda owners: torch.optim.SGD(owners, **choices))
    for kind in (DPFTRL, DPSGD):
        found = run(lambda owners, kind=kind: kind(owners, plan(**SILENT), **choices))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)
        assert (found - expected).abs().max() > 0


def test_any_optimiser_can_be_wrapped():
    make = lambda owners: torch.optim.Adam(owners, lr=0.1)  # noqa: E731
    found = run(lambda owners: CorrelatedNoise(make(owners), plan(**SILENT)))
    torch.testing.assert_close(found, torch_path(make), rtol=0, atol=1e-3)


@pytest.mark.parametrize("mechanism", ["banded-square-root", "square-root", "binary", None])
@pytest.mark.parametrize("momentum, nesterov", [(0.0, False), (0.8, False), (0.8, True)])
def test_at_a_constant_rate_both_forms_are_one_iteration(mechanism, momentum, nesterov):
    key = evertally.NoiseKey.generate()
    training = plan(epsilon=1.0, delta=1e-6, mechanism=mechanism)
    choices = {"lr": 0.1, "momentum": momentum, "nesterov": nesterov, "key": key, "replay": True}
    first = run(lambda owners: DPFTRL(owners, training, **choices))
    second = run(lambda owners: DPSGD(owners, training, **choices))
    torch.testing.assert_close(first, second, rtol=1e-9, atol=1e-9)


def test_singles_follow_doubles_but_for_their_noise():
    found = run(lambda owners: DPFTRL(owners, plan(**SILENT), lr=0.3, momentum=0.9), dtype=torch.float32)
    expected = torch_path(lambda owners: torch.optim.SGD(owners, lr=0.3, momentum=0.9))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected.double(), rtol=0, atol=1e-5)


def test_a_restart_changes_nothing_at_a_constant_rate():
    key, training = evertally.NoiseKey.generate(), plan()
    owners = parameters()
    optimizer = DPFTRL(owners, training, lr=0.2, key=key)
    for step in range(STEPS):
        if step in (0, 3, 5):
            optimizer.restart()
        optimizer.step(clipped(owners, step))
    expected = run(lambda owners: DPFTRL(owners, training, lr=0.2, key=key, replay=True))[-1]
    torch.testing.assert_close(torch.cat([owner.detach().reshape(-1) for owner in owners]), expected, rtol=0, atol=1e-9)


def test_after_a_restart_a_new_rate_applies_to_what_follows():
    owners = parameters()
    optimizer = DPFTRL(owners, plan(**SILENT), lr=0.2)
    optimizer.step(clipped(owners, 0))
    before = [owner.detach().clone() for owner in owners]
    optimizer.restart()
    optimizer.param_groups[0]["lr"] = 0.7
    optimizer.step(clipped(owners, 1))
    for old, new, gradient in zip(before, owners, gradients(owners, 1), strict=True):
        torch.testing.assert_close(new.detach(), old - 0.7 * gradient / BATCH, rtol=0, atol=1e-7)


def test_schedules_of_torch_drive_them():
    schedule = lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)  # noqa: E731

    def drive(optimizer, take):
        scheduler, rates = schedule(optimizer), []
        for step in range(STEPS):
            take(step)
            scheduler.step()
            rates.append(optimizer.param_groups[0]["lr"])
        return rates

    ours, theirs = parameters(), parameters()
    private = DPSGD(ours, plan(**SILENT), lr=0.4, momentum=0.9)
    plain = torch.optim.SGD(theirs, lr=0.4, momentum=0.9)

    def plain_step(step):
        for owner, gradient in zip(theirs, gradients(theirs, step), strict=True):
            owner.grad = gradient / BATCH
        plain.step()

    rates = drive(private, lambda step: private.step(clipped(ours, step)))
    assert rates == drive(plain, plain_step)
    assert rates == [0.4, 0.4, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1]
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.detach(), b.detach(), rtol=0, atol=1e-7)
    leader = DPFTRL(parameters(), plan(**SILENT), lr=0.4)
    assert drive(leader, lambda step: leader.step(clipped(leader._parameters, step))) == rates


def test_groups_have_rates_of_their_own():
    owners = parameters()
    groups = [{"params": owners[:1], "lr": 0.0}, {"params": owners[1:]}]
    before = [owner.detach().clone() for owner in owners]
    for kind in (DPFTRL, DPSGD):
        optimizer = kind(groups, plan(), lr=0.5)
        optimizer.step(clipped(owners, 0))
        assert torch.equal(owners[0].detach(), before[0])
        assert not torch.equal(owners[1].detach(), before[1])


def test_gradients_in_another_order_find_their_parameters():
    owners = parameters()
    optimizer = DPFTRL(owners[::-1], plan(**SILENT), lr=1.0)
    before = [owner.detach().clone() for owner in owners]
    optimizer.step(clipped(owners, 0))
    for old, new, gradient in zip(before, owners, gradients(owners, 0), strict=True):
        torch.testing.assert_close(new.detach(), old - gradient / BATCH, rtol=0, atol=1e-7)


def test_parameters_may_have_names():
    model = torch.nn.Linear(3, 2)
    training = training_plan(examples=8, batch_size=4, parameters=model, epsilon=1.0, delta=1e-6)
    for kind in (DPFTRL, DPSGD):
        before = model.weight.detach().clone()
        optimizer = kind(model.named_parameters(), training, lr=0.1)
        optimizer.step(clipped(list(model.parameters()), 0))
        assert (model.weight != before).all()


def test_frozen_parameters_stay():
    owners = parameters()
    owners[1].requires_grad_(False)
    training = training_plan(examples=8, batch_size=4, parameters=owners, epsilon=1.0, delta=1e-6)
    assert training.parameters == 13
    free = [owners[0], owners[2]]
    for kind in (DPFTRL, DPSGD):
        before = owners[1].detach().clone()
        kind(owners, training, lr=1.0).step(clipped(free, 0))
        assert torch.equal(owners[1], before)


@pytest.mark.parametrize("kind", ["DPFTRL", "DPSGD", "wrapped"])
def test_gradients_that_were_left_behind_move_nothing(kind):
    """A parameter that was frozen after a backward pass still has its gradient, which nobody clipped."""
    owners = parameters()
    owners[1].requires_grad_(False)
    training = training_plan(examples=8, batch_size=4, parameters=owners, epsilon=1.0, delta=1e-6)
    make = {
        "DPFTRL": lambda: DPFTRL(owners, training, lr=1.0),
        "DPSGD": lambda: DPSGD(owners, training, lr=1.0),
        "wrapped": lambda: CorrelatedNoise(torch.optim.Adam(owners, lr=1.0), training),
    }
    before = owners[1].detach().clone()
    optimizer = make[kind]()
    for owner in owners:
        owner.grad = torch.full_like(owner, 1e9)
    optimizer.step(clipped([owners[0], owners[2]], 0))
    assert torch.equal(owners[1], before)
    assert max(owner.abs().max() for owner in owners) < 1e6


@pytest.mark.parametrize("kind", [DPFTRL, DPSGD])
def test_parameters_that_are_frozen_or_added_later_are_noticed(kind):
    owners = parameters()
    optimizer = kind(owners, plan(), lr=0.1)
    owners[0].requires_grad_(False)
    refused(optimizer, BadParameter, "no longer those", clipped(owners, 0))
    owners = parameters()
    inner = torch.optim.SGD(owners, lr=0.1)
    optimizer = CorrelatedNoise(inner, plan())
    inner.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})
    refused(optimizer, BadParameter, "no longer those", clipped(owners, 0))


def test_noise_is_added_to_an_empty_batch():
    model = torch.nn.Linear(5, 3)
    training = training_plan(examples=8, batch_size=4, parameters=model, epsilon=1.0, delta=1e-6)
    clipper = PerExampleClipper(model, torch.nn.functional.cross_entropy, 1.0)
    for kind in (DPFTRL, DPSGD):
        before = model.weight.detach().clone()
        kind(model.parameters(), training, lr=1.0).step(clipper(torch.empty(0, 5), torch.empty(0, dtype=torch.long)))
        assert (model.weight != before).all()


def refused(optimizer, error, match, sum_):
    """The error is of its class, and nothing has changed."""
    before = [owner.detach().clone() for owner in optimizer._parameters]
    steps, state = optimizer.steps_taken, optimizer._noise.stream.save()
    with pytest.raises(error, match=match):
        optimizer.step(sum_)
    assert optimizer.steps_taken == steps and optimizer._noise.stream.save() == state
    assert all(torch.equal(a, b) for a, b in zip(before, optimizer._parameters, strict=True))


@pytest.mark.parametrize("kind", [DPFTRL, DPSGD])
def test_bad_steps_change_nothing(kind):
    owners = parameters()
    optimizer = kind(owners, plan(), lr=0.1)
    good = clipped(owners, 0)
    optimizer.step(good)
    refused(optimizer, BadParameter, "has served", good)
    refused(optimizer, BadParameter, "ClippedSum", None)
    refused(optimizer, BadParameter, "ClippedSum", lambda: 0.0)
    refused(optimizer, BadParameter, "other parameters", clipped(parameters(), 0))
    refused(optimizer, BadParameter, "other parameters", clipped(owners[:2], 0))
    loose = ClippedSum.declared(owners, gradients(owners, 0), examples=BATCH, max_norm=1.5)
    refused(optimizer, BadParameter, "clipped at 1.5, and the plan is for 1.0", loose)
    large = ClippedSum.declared(owners, gradients(owners, 0), examples=BATCH + 1, max_norm=1.0)
    refused(optimizer, BadParameter, "5 examples, and the plan is for 4", large)
    for step in range(1, STEPS):
        optimizer.step(clipped(owners, step))
    refused(optimizer, HorizonSpent, "all 8 steps", clipped(owners, 0))


def test_a_rate_that_cannot_be_used_takes_no_step():
    owners = parameters()
    optimizer = DPFTRL(owners, plan(), lr=0.1)
    optimizer.param_groups[0]["lr"] = float("nan")
    refused(optimizer, BadParameter, "lr", clipped(owners, 0))


@pytest.mark.parametrize("kind", [DPFTRL, DPSGD])
def test_bad_parameters_are_refused(kind):
    with pytest.raises(BadParameter, match="for 16 trainable parameters, and there are 15"):
        kind(parameters()[:2], plan(), lr=0.1)
    for choices in ({"lr": -1.0}, {"lr": float("nan")}, {"lr": 0.1, "momentum": -0.5}, {"lr": 0.1, "nesterov": True}):
        with pytest.raises(BadParameter):
            kind(parameters(), plan(), **choices)
    with pytest.raises(Unsupported, match="float32 or float64"):
        kind(parameters(torch.bfloat16), plan(), lr=0.1)
    mixed = [*parameters()[:2], *parameters(torch.float32)[2:]]
    with pytest.raises(Unsupported, match="one precision"):
        kind(mixed, plan(), lr=0.1)
    with pytest.raises(Unsupported, match="no further parameters"):
        kind(parameters(), plan(), lr=0.1).add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})


def test_an_optimiser_is_wrapped_once():
    with pytest.raises(BadParameter, match="already"):
        CorrelatedNoise(DPFTRL(parameters(), plan(), lr=0.1), plan())


def test_an_optimiser_that_needs_more_than_gradients_is_refused():
    for optimizer in (torch.optim.LBFGS(parameters()), torch.optim.SparseAdam(parameters())):
        with pytest.raises(Unsupported, match="closure or sparse"):
            CorrelatedNoise(optimizer, plan())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_would_share_their_noise_and_are_refused(copied):
    with pytest.raises(TypeError, match="state_dict"):
        copied(DPSGD(parameters(), plan(), lr=0.1))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_gradients_are_not_copied(copied):
    model = torch.nn.Linear(2, 1)
    clipper = PerExampleClipper(model, torch.nn.functional.mse_loss, 1.0)
    for holder in (clipper, clipper(torch.ones(1, 2), torch.ones(1, 1))):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            copied(holder)


def test_one_key_serves_one_run():
    """The same noise under other gradients would cancel in the difference."""
    key, training, owners = evertally.NoiseKey.generate(), plan(), parameters()
    DPSGD(owners, training, lr=0.1, key=key).step(clipped(owners, 0))
    with pytest.raises(BadState, match="already released under the same key"):
        DPSGD(owners, training, lr=0.1, key=key)
    again = DPSGD(owners, training, lr=0.1, key=key, replay=True)
    refused(again, BadState, "released for other gradients", clipped(owners, 1))
    again.step(clipped(owners, 0))
    again.step(clipped(owners, 1))
    assert again.steps_taken == 2


def test_a_step_that_fails_keeps_the_latest_row(monkeypatch):
    """The buffers of two rows were swapped before the new row was drawn. After a failure, the next
    step subtracted the row before the latest one, and its noise did not cancel as planned.
    """
    key, training, silence = evertally.NoiseKey.generate(), plan(), torch.zeros(16, dtype=torch.float64)
    noise = NoiseRows(training.plan, key, 16, torch.float64, torch.device("cpu"))
    increments = [noise.noisy(noise.admit(silence), silence, 1.0).clone() for _ in range(2)]
    latest = noise.latest()

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(RELEASES, "enter", fail)
        with pytest.raises(MemoryError):
            noise.noisy(noise.admit(silence), silence, 1.0)
    assert torch.equal(noise.latest(), latest) and noise.steps_taken == 2
    increments.append(noise.noisy(noise.admit(silence), silence, 1.0).clone())
    torch.testing.assert_close(torch.stack(increments).sum(0), noise.latest())


def test_nothing_secret_is_shown():
    key, owners = evertally.NoiseKey.generate(), parameters()
    optimizer = DPFTRL(owners, plan(), lr=0.1, key=key)
    optimizer.step(clipped(owners, 0))
    shown = repr(optimizer) + repr(clipped(owners, 1)) + repr(optimizer.training)
    assert key.to_bytes().hex()[:8] not in shown
    for value in [*optimizer._noise.latest().tolist(), *optimizer._sum.tolist()]:
        assert f"{value:.3f}" not in shown
