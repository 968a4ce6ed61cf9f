"""An accelerator, if there is one, gives the same results as the CPU."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("there is no accelerator", allow_module_level=True)

import evertally  # noqa: E402
from evertally import BadParameter, Unsupported  # noqa: E402
from evertally.torch import DPFTRL, DPSGD, ClippedSum, PerExampleClipper, training_plan  # noqa: E402

STEPS, WIDTH = 6, 40


def step(optimizer, owners, number):
    generator = torch.Generator().manual_seed(number)
    # Divided on the processor: devices round quotients differently, and a replay has the same
    # gradients to the last bit.
    gradients = [(torch.rand(owner.shape, generator=generator) / 10).to(owner) for owner in owners]
    optimizer.step(ClippedSum.declared(owners, gradients, examples=4, max_norm=1.0))


def plan():
    return training_plan(examples=2 * STEPS, batch_size=4, epochs=2, parameters=WIDTH, epsilon=1.0, delta=1e-6)


def parameters(device, dtype):
    return [torch.nn.Parameter(torch.ones(shape, dtype=dtype, device=device)) for shape in [(3, 10), (10,)]]


@pytest.mark.parametrize("kind", [DPFTRL, DPSGD])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_updates_are_those_of_the_processor(kind, dtype):
    key, training = evertally.NoiseKey.generate(), plan()
    here, there = parameters("cpu", dtype), parameters("cuda", dtype)
    for owners in (here, there):
        optimizer = kind(owners, training, lr=0.1, momentum=0.9, key=key, replay=True)
        for number in range(STEPS):
            step(optimizer, owners, number)
            if number == 2 and kind is DPFTRL:
                optimizer.restart()
    for a, b in zip(here, there, strict=True):
        torch.testing.assert_close(a, b.cpu(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [DPFTRL, DPSGD])
def test_a_resumed_run_is_the_same_bit_for_bit(kind, tmp_path):
    owners, training = parameters("cuda", torch.float32), plan()
    optimizer = kind(owners, training, lr=0.1, momentum=0.9)
    step(optimizer, owners, 0)
    torch.save(optimizer.state_dict(), tmp_path / "state.pt")
    again = [torch.nn.Parameter(owner.detach().clone()) for owner in owners]
    step(optimizer, owners, 1)
    resumed = kind(again, training, lr=0.1, momentum=0.9)
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True), replay=True)
    step(resumed, again, 1)
    assert all(torch.equal(a, b) for a, b in zip(owners, again, strict=True))


def test_clipping_is_that_of_the_processor():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.Linear(30, 3))
    inputs, targets = torch.randn(50, 20) * 3, torch.randint(3, (50,))
    clipper = PerExampleClipper(model, torch.nn.functional.cross_entropy, 1.0, chunk_size=16)
    expected = clipper(inputs, targets).tensors()
    model.cuda()
    with pytest.raises(BadParameter, match="another device"):
        clipper(inputs, targets)
    clipper = PerExampleClipper(model, torch.nn.functional.cross_entropy, 1.0, chunk_size=16)
    for a, b in zip(clipper(inputs.cuda(), targets.cuda()).tensors(), expected, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-3, atol=1e-3)


def test_hidden_state_is_found_where_sums_round_differently():
    class Remembers(torch.nn.Module):
        def __init__(self, *, keeps):
            super().__init__()
            self.words, self.head = torch.nn.Embedding(7, 8), torch.nn.Linear(8, 3)
            self.previous, self.keeps = 0.0, keeps

        def forward(self, inputs):
            found = torch.nn.functional.dropout(self.words(inputs).mean(dim=1)) + self.previous
            if self.keeps:
                self.previous = found.mean().detach()
            return self.head(found)

    inputs, targets = torch.randint(7, (6, 500)).cuda(), torch.randint(3, (6,)).cuda()
    before = torch.cuda.get_rng_state()
    for keeps in (False, True):
        model = Remembers(keeps=keeps).cuda()
        if keeps:
            with pytest.raises(Unsupported, match=r"Remembers\.previous"):
                PerExampleClipper(model, torch.nn.functional.cross_entropy, 1.0, check_with=(inputs, targets))
        else:
            PerExampleClipper(model, torch.nn.functional.cross_entropy, 1.0, check_with=(inputs, targets))
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_several_devices_are_refused():
    owners = [parameters("cpu", torch.float32)[0], parameters("cuda", torch.float32)[1]]
    with pytest.raises(Unsupported, match="one device"):
        DPSGD(owners, plan(), lr=0.1)
