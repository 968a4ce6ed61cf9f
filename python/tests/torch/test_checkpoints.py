"""Checkpoints: a killed run resumes bit for bit, and a checkpoint that would spend the budget twice
is refused.
"""

import io
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import evertally  # noqa: E402
from evertally import BadState  # noqa: E402
from evertally.torch import DPFTRL, DPSGD, ClippedSum, CorrelatedNoise, training_plan  # noqa: E402
from evertally.torch.state import RELEASES  # noqa: E402

STEPS, WIDTH = 6, 40

KINDS = {
    "DPFTRL": lambda owners, training, **choices: DPFTRL(owners, training, lr=0.1, momentum=0.9, **choices),
    "DPSGD": lambda owners, training, **choices: DPSGD(owners, training, lr=0.1, momentum=0.9, **choices),
    "Adam": lambda owners, training, **choices: CorrelatedNoise(torch.optim.Adam(owners, lr=0.1), training, **choices),
}


def plan(**choices):
    choices = {"epsilon": 1.0, "delta": 1e-6, "parameters": WIDTH, **choices}
    return training_plan(examples=2 * STEPS, batch_size=4, epochs=2, **choices)


def parameters(dtype=torch.float32, width=WIDTH):
    return [torch.nn.Parameter(torch.zeros(width - 10, dtype=dtype)), torch.nn.Parameter(torch.ones(10, dtype=dtype))]


def step(optimizer, owners, number):
    generator = torch.Generator().manual_seed(number)
    gradients = [torch.rand(owner.shape, generator=generator, dtype=owner.dtype) / 10 for owner in owners]
    optimizer.step(ClippedSum.declared(owners, gradients, examples=4, max_norm=1.0))


def through_a_file(state):
    """As torch writes and reads it, with only tensors and plain values allowed."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mechanism", ["binary", "banded-square-root", "blt"])
def test_a_resumed_run_is_the_same_bit_for_bit(kind, dtype, mechanism):
    training, owners = plan(mechanism=mechanism), parameters(dtype)
    optimizer = KINDS[kind](owners, training)
    for number in range(STEPS):
        saved, at = through_a_file(optimizer.state_dict()), [owner.detach().clone() for owner in owners]
        step(optimizer, owners, number)
        resumed_owners = [torch.nn.Parameter(tensor) for tensor in at]
        resumed = KINDS[kind](resumed_owners, training)
        resumed.load_state_dict(saved, replay=True)
        assert resumed.steps_taken == number
        step(resumed, resumed_owners, number)
        assert all(torch.equal(a, b) for a, b in zip(owners, resumed_owners, strict=True))
        assert torch.equal(optimizer.state_dict()["private"]["seal"], resumed.state_dict()["private"]["seal"])


def test_a_restart_survives():
    owners, training = parameters(), plan()
    optimizer = DPFTRL(owners, training, lr=0.1)
    step(optimizer, owners, 0)
    saved, at = optimizer.state_dict(), [owner.detach().clone() for owner in owners]
    optimizer.restart()
    step(optimizer, owners, 1)
    again = [torch.nn.Parameter(tensor) for tensor in at]
    resumed = DPFTRL(again, training, lr=0.1)
    resumed.load_state_dict(saved, replay=True)
    resumed.restart()
    step(resumed, again, 1)
    assert all(torch.equal(a, b) for a, b in zip(owners, again, strict=True))


RUN = """
import os, sys, torch
from torch.utils.data import DataLoader, TensorDataset
import evertally
from evertally.torch import DPSGD, FixedOrderBatches, PerExampleClipper, training_plan
path, key, stop = sys.argv[1], bytes.fromhex(sys.argv[2]), int(sys.argv[3])
torch.manual_seed(1)
data = TensorDataset(torch.randn(60, 8), torch.randint(3, (60,)))
model = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
training = training_plan(examples=60, batch_size=8, epochs=2, parameters=model, epsilon=4.0, delta=1e-5)
clipper = PerExampleClipper(model, torch.nn.functional.cross_entropy, training.clip, chunk_size=4)
optimizer = DPSGD(model.parameters(), training, lr=0.3, momentum=0.9, key=evertally.NoiseKey.from_bytes(key))
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, training.steps)
if os.path.exists(path):
    saved = torch.load(path, weights_only=True)
    model.load_state_dict(saved["model"]); optimizer.load_state_dict(saved["optimizer"]); scheduler.load_state_dict(saved["scheduler"])
for inputs, targets in DataLoader(data, batch_sampler=FixedOrderBatches(training, seed=5, start=optimizer.steps_taken)):
    optimizer.step(clipper(inputs, targets)); scheduler.step()
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    torch.save(saved, path + ".part"); os.replace(path + ".part", path)
    if optimizer.steps_taken == stop:
        print("ready", flush=True); sys.stdin.read()
"""


def test_a_killed_process_is_gone_on_from_bit_for_bit(tmp_path):
    key = evertally.NoiseKey.generate().to_bytes().hex()
    command = lambda name, stop: [sys.executable, "-c", RUN, str(tmp_path / name), key, str(stop)]  # noqa: E731
    whole = subprocess.Popen(command("whole", -1))
    killed = subprocess.Popen(command("killed", 7), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert killed.stdout.readline() == b"ready\n"
    killed.kill()
    killed.communicate()
    part = torch.load(tmp_path / "killed", weights_only=True)
    assert part["optimizer"]["private"]["steps"] == 7
    subprocess.run(command("killed", -1), check=True, timeout=120)
    assert whole.wait(timeout=120) == 0
    first, second = (torch.load(tmp_path / name, weights_only=True) for name in ("whole", "killed"))
    assert first["optimizer"]["private"]["steps"] == second["optimizer"]["private"]["steps"] == 16
    for name, tensor in first["model"].items():
        assert torch.equal(tensor, second["model"][name])
    assert torch.equal(first["optimizer"]["private"]["seal"], second["optimizer"]["private"]["seal"])


def refused(optimizer, match, state, **choices):
    """A refusal of the right class that changes nothing."""
    before = optimizer.state_dict()["private"]["seal"]
    with pytest.raises(BadState, match=match):
        optimizer.load_state_dict(state, **choices)
    assert torch.equal(optimizer.state_dict()["private"]["seal"], before)


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_belong_is_refused(kind):
    owners = parameters()
    optimizer = KINDS[kind](owners, plan())
    step(optimizer, owners, 0)
    state = optimizer.state_dict()
    fresh = lambda training, **choices: KINDS[kind](parameters(), training, **choices)  # noqa: E731
    refused(fresh(plan(epsilon=2.0)), "another plan", state)
    refused(fresh(plan(mechanism="binary")), "another plan", state)
    refused(KINDS[kind](parameters(torch.float64), plan()), "precision", state)
    other = next(name for name in KINDS if name != kind)
    refused(KINDS[other](parameters(), plan()), "not of", state)
    refused(fresh(plan(), key=evertally.NoiseKey.generate()), "another key", state)
    refused(fresh(plan()), "not a checkpoint", torch.optim.SGD(parameters(), lr=0.1).state_dict())
    # Other examples in other batches would be in the steps that are left, and the noise would be
    # the same.
    smaller = training_plan(examples=9, batch_size=3, epochs=2, epsilon=1.0, delta=1e-6, parameters=WIDTH)
    assert smaller.plan.fingerprint == plan().plan.fingerprint
    refused(fresh(smaller), "another plan", state)
    refused(fresh(plan()), "not a checkpoint", {})
    refused(fresh(plan()), "another version", {**state, "private": {**state["private"], "format": 99}})
    refused(fresh(plan()), "damaged or was altered", {**state, "param_groups": []})
    bigger = KINDS[kind](parameters(width=WIDTH + 1), plan(parameters=WIDTH + 1))
    refused(bigger, "another plan", state)


def test_a_wrapped_optimiser_takes_the_state_of_its_own_kind():
    state = KINDS["Adam"](parameters(), plan()).state_dict()
    other = CorrelatedNoise(torch.optim.SGD(parameters(), lr=0.1, momentum=0.9), plan())
    refused(other, r"of CorrelatedNoise\(Adam\), not of CorrelatedNoise\(SGD\)", state)


def altered(content):
    """Every way to change one leaf of a checkpoint."""
    if isinstance(content, dict):
        for name, value in content.items():
            for changed in altered(value):
                yield {**content, name: changed}
            yield {other: value for other, value in content.items() if other != name}
    elif isinstance(content, (list, tuple)):
        for place, value in enumerate(content):
            for changed in altered(value):
                yield [*content[:place], changed, *content[place + 1 :]]
    elif isinstance(content, torch.Tensor):
        changed = content.clone()
        changed.view(-1)[-1] = changed.view(-1)[-1] + 1
        yield changed
        if content.ndim:
            yield content[:-1]
    elif isinstance(content, bool) or content is None:
        yield not content
    elif isinstance(content, (int, float)):
        yield content + 1
    else:
        yield content + "x"


@pytest.mark.parametrize("kind", KINDS)
def test_any_change_to_a_checkpoint_is_noticed(kind):
    owners = parameters()
    optimizer = KINDS[kind](owners, plan())
    step(optimizer, owners, 0)
    state, target = optimizer.state_dict(), KINDS[kind](parameters(), plan())
    count = 0
    for changed in altered(state):
        with pytest.raises(BadState):
            target.load_state_dict(changed)
        assert target.steps_taken == 0
        count += 1
    assert count > 30
    target.load_state_dict(state)
    assert target.steps_taken == 1


def test_a_cut_off_file_is_refused_by_torch_or_by_the_seal(tmp_path):
    optimizer = DPSGD(parameters(), plan(), lr=0.1)
    buffer = io.BytesIO()
    torch.save(optimizer.state_dict(), buffer)
    whole = buffer.getvalue()
    for length in [0, 1, len(whole) // 2, len(whole) - 1]:
        with pytest.raises(Exception):  # noqa: B017
            optimizer.load_state_dict(torch.load(io.BytesIO(whole[:length]), weights_only=True))
    assert optimizer.steps_taken == 0


def test_a_state_before_released_steps_is_refused_unless_it_is_a_replay():
    owners, training = parameters(), plan()
    optimizer = DPSGD(owners, training, lr=0.1)
    step(optimizer, owners, 0)
    early, at = optimizer.state_dict(), [owner.detach().clone() for owner in owners]
    step(optimizer, owners, 1)
    late = [owner.detach().clone() for owner in owners]
    refused(optimizer, "already released", early)
    refused(DPSGD(parameters(), training, lr=0.1), "already released", early)
    with torch.no_grad():
        for owner, tensor in zip(owners, at, strict=True):
            owner.copy_(tensor)
    optimizer.load_state_dict(early, replay=True)
    with pytest.raises(BadState, match="released for other gradients"):
        step(optimizer, owners, 5)
    assert optimizer.steps_taken == 1
    step(optimizer, owners, 1)
    assert all(torch.equal(a, b) for a, b in zip(owners, late, strict=True))


def test_steps_of_an_earlier_process_are_known_by_their_number():
    """As if this process had started with the later checkpoint: the earlier one is refused, unless
    the caller says that it is a replay.
    """
    owners, training = parameters(), plan()
    optimizer = DPSGD(owners, training, lr=0.1)
    early = optimizer.state_dict()
    step(optimizer, owners, 0)
    late = optimizer.state_dict()
    RELEASES._steps.clear()
    resumed = DPSGD(owners, training, lr=0.1)
    resumed.load_state_dict(late)
    step(resumed, owners, 1)
    refused(resumed, "already released", early)
    resumed.load_state_dict(early, replay=True)
    step(resumed, owners, 0)
    with pytest.raises(BadState, match="released for other gradients"):
        step(resumed, owners, 7)


def test_an_optimiser_that_has_stepped_takes_no_other_run():
    """Its own steps are released: those of another key on the same data would come on top."""
    owners = parameters()
    other = DPSGD(parameters(), plan(), lr=0.1).state_dict()
    optimizer = DPSGD(owners, plan(), lr=0.1)
    step(optimizer, owners, 0)
    refused(optimizer, "another key", other)


def test_a_checkpoint_does_not_grow_with_the_horizon():
    sizes = []
    for epochs in (1, 400):
        training = training_plan(examples=400, batch_size=4, epochs=epochs, parameters=WIDTH, epsilon=1.0, delta=1e-6, mechanism="blt")
        sizes.append(DPSGD(parameters(), training, lr=0.1).state_dict()["private"]["noise"].numel())
    assert sizes[1] < 4 * sizes[0]
