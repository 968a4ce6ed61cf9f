"""Clipping against a loop over examples, and against gradients that were made to exceed the norm."""

import functools
import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from evertally import BadParameter, Unsupported  # noqa: E402
from evertally.torch import ClippedSum, PerExampleClipper  # noqa: E402

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402


def network(dtype=torch.float32):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).to(dtype)


def batch(examples, dtype=torch.float32):
    generator = torch.Generator().manual_seed(examples)
    inputs = torch.randn(examples, 5, generator=generator, dtype=dtype) * 3
    return inputs, torch.randint(3, (examples,), generator=generator)


def one_by_one(model, inputs, targets, max_norm, per_parameter=False):
    """The definition: backward for one example, divide by the norm, add."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    total = [torch.zeros_like(parameter, dtype=torch.float64) for parameter in parameters]
    for example in range(len(inputs)):
        loss = functional.cross_entropy(model(inputs[example : example + 1]), targets[example : example + 1])
        gradients = [gradient.double() for gradient in torch.autograd.grad(loss, parameters)]
        norms = [float(gradient.norm()) for gradient in gradients]
        if not per_parameter:
            norms = [math.sqrt(sum(norm**2 for norm in norms))] * len(norms)
        bound = max_norm / math.sqrt(len(norms)) if per_parameter else max_norm
        for sum_, gradient, norm in zip(total, gradients, norms, strict=True):
            sum_ += gradient * min(1.0, bound / norm)
    return total


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("per_parameter", [False, True])
@pytest.mark.parametrize("chunk_size", [None, 1, 4, 100])
@pytest.mark.parametrize("max_norm", [0.1, 2.0, 1e6])
def test_the_sum_is_that_of_a_loop_over_examples(dtype, per_parameter, chunk_size, max_norm):
    model, (inputs, targets) = network(dtype), batch(11, dtype)
    clipper = PerExampleClipper(
        model, functional.cross_entropy, max_norm, chunk_size=chunk_size, per_parameter=per_parameter
    )
    clipped = clipper(inputs, targets)
    expected = one_by_one(model, inputs, targets, max_norm, per_parameter)
    for ours, theirs in zip(clipped.tensors(), expected, strict=True):
        # Singles differ in their last digits; the grid is a millionth of a thousandth of the norm.
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5 + 11 * max_norm * 2.0**-29)
    assert (clipped.examples, clipped.max_norm) == (11, max_norm)


def test_parts_of_a_batch_add_up():
    model, (inputs, targets) = network(), batch(12)
    clipper = PerExampleClipper(model, functional.cross_entropy, 0.5)
    whole = clipper(inputs, targets)
    parts = clipper(inputs[:5], targets[:5])
    parts += clipper(inputs[5:], targets[5:])
    assert parts.examples == 12
    for ours, theirs in zip(parts.tensors(), whole.tensors(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


def test_weights_of_classes_count_in_sums_and_cancel_in_means():
    model, (inputs, targets) = network(), batch(6)
    gradients = {}
    for weight in (1.0, 3.0):
        for reduction in ("mean", "sum"):
            loss = functools.partial(functional.cross_entropy, weight=torch.full((3,), weight), reduction=reduction)
            gradients[reduction, weight] = PerExampleClipper(model, loss, 1e6)(inputs, targets).tensors()[0]
    torch.testing.assert_close(gradients["sum", 3.0], 3 * gradients["sum", 1.0], rtol=1e-5, atol=1e-2)
    torch.testing.assert_close(gradients["mean", 3.0], gradients["mean", 1.0], rtol=1e-5, atol=1e-2)
    assert not torch.allclose(gradients["sum", 3.0], gradients["mean", 3.0], atol=0.1)


def test_an_empty_batch_is_a_sum_of_nothing():
    clipped = PerExampleClipper(network(), functional.cross_entropy, 1.0)(*batch(0))
    assert clipped.examples == 0
    assert all(not tensor.any() for tensor in clipped.tensors())


def test_frozen_parameters_are_left_out():
    model = network()
    model[0].requires_grad_(False)
    clipped = PerExampleClipper(model, functional.cross_entropy, 1.0)(*batch(6))
    assert clipped.dimension == 7 * 3 + 3
    for ours, theirs in zip(clipped.tensors(), one_by_one(model, *batch(6), 1.0), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_inputs_may_be_several_or_named():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 3)
            self.register_buffer("shift", torch.ones(5))

        def forward(self, left, right):
            return self.layer(left + right + self.shift)

    model, (inputs, targets) = Pair(), batch(4)
    clipper = PerExampleClipper(model, lambda prediction, pair: functional.cross_entropy(prediction, pair["label"]), 1.0)
    several = clipper((inputs, inputs), {"label": targets})
    named = clipper({"left": inputs, "right": inputs}, {"label": targets})
    assert all(torch.equal(a, b) for a, b in zip(several.tensors(), named.tensors(), strict=True))
    assert any(tensor.any() for tensor in several.tensors())


class Constant(nn.Module):
    """A model whose gradient is its input, so gradients can be chosen."""

    def __init__(self, width, dtype):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, dtype=dtype))

    def forward(self, inputs):
        return inputs @ self.weight


def exact_square(vector):
    return sum(Fraction(value) ** 2 for value in vector.tolist())


def chosen_gradients(width, dtype):
    """Gradients at the edges: just above and below the norm, of all magnitudes, of one large and
    many tiny entries.
    """
    generator = torch.Generator().manual_seed(width)
    largest = torch.finfo(dtype).max
    for exponent in (-140, -126, -40, -3, 0, 1, 7, 60, 120, 126):
        direction = torch.randn(width, generator=generator, dtype=torch.float64)
        yield (direction / direction.norm() * 2.0**exponent).to(dtype)
    for step in range(-20, 21):
        direction = torch.randn(width, generator=generator, dtype=torch.float64)
        nudge = 1 + step * torch.finfo(dtype).eps / 4
        yield (direction / direction.norm() * nudge).to(dtype)
    for part in range(20):
        yield torch.full((width,), largest / (1 + part / 7), dtype=dtype)
    yield torch.full((width,), torch.finfo(dtype).tiny, dtype=dtype)
    spike = torch.full((width,), 2.0**-14, dtype=dtype)
    spike[0] = 1.0
    yield spike


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [1, 3, 300])
@pytest.mark.parametrize("max_norm", [1.0, 1 / 3, 2.0**-64, 2.0**64, 2.0**-40])
def test_no_rounding_takes_a_gradient_past_the_norm(dtype, width, max_norm):
    """Compared as fractions, without any rounding. A rule without slack fails this; see the next test."""
    clipper = PerExampleClipper(Constant(width, dtype), lambda prediction, _: prediction.sum(), max_norm)
    scaled = [gradient * max_norm for gradient in chosen_gradients(width, dtype)]
    chosen = torch.stack([*(gradient for gradient in scaled if gradient.isfinite().all()), *chosen_gradients(width, dtype)])
    bound = Fraction(max_norm) ** 2
    at_least = 0
    for gradient in chosen:
        (clipped,) = clipper(gradient[None], torch.zeros(1)).tensors()
        square = exact_square(clipped)
        assert square <= bound
        at_least = max(at_least, square)
    assert at_least >= bound * Fraction(999, 1000)


def test_clipping_without_slack_is_caught_by_the_check_above():
    exceeded = 0
    for gradient in chosen_gradients(1000, torch.float32):
        if gradient.isfinite().all() and gradient.norm() > 1:
            exceeded += exact_square(gradient * (1 / gradient.norm())) > 1
    assert exceeded > 10


def test_an_example_adds_the_same_whatever_the_others_are():
    """Sums of floats would round differently; these do not round."""
    clipper = PerExampleClipper(Constant(50, torch.float32), lambda prediction, _: prediction.sum(), 1.0)
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(300, 50, generator=generator) * torch.logspace(-6, 3, 300)[:, None]
    (whole,) = clipper(inputs, torch.zeros(300)).tensors()
    (without,) = clipper(inputs[1:], torch.zeros(299)).tensors()
    (alone,) = clipper(inputs[:1], torch.zeros(1)).tensors()
    assert torch.equal(whole - without, alone)
    shuffled = torch.randperm(300, generator=generator)
    clipper.chunk_size = 7
    assert torch.equal(clipper(inputs[shuffled], torch.zeros(300)).tensors()[0], whole)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_is_named_and_not_shown(value):
    model, (inputs, targets) = network(), batch(4)
    inputs[2, 1] = value
    with pytest.raises(BadParameter, match=r"the gradient of '0\.weight' is not finite") as error:
        PerExampleClipper(model, functional.cross_entropy, 1.0, chunk_size=3)(inputs, targets)
    assert "nan" not in str(error.value) and "inf" not in str(error.value).replace("finite", "")


def test_layers_that_mix_examples_are_refused():
    with pytest.raises(Unsupported, match=r"'1' is batch normalisation.*GroupNorm"):
        PerExampleClipper(nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4)), functional.cross_entropy, 1.0)


def test_batch_normalisation_with_constants_is_a_layer_like_others():
    model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    with torch.no_grad():
        model(torch.randn(30, 5))  # public data make the statistics
    model.eval()
    inputs, targets = batch(6)
    clipper = PerExampleClipper(model, functional.cross_entropy, 0.7)
    found = clipper(inputs, targets).tensors()
    expected = one_by_one(model, inputs, targets, 0.7)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.to(b.dtype), b, rtol=1e-5, atol=1e-5)
    model.train()
    with pytest.raises(Unsupported, match="batch normalisation"):
        clipper(inputs, targets)
    with pytest.raises(Unsupported, match="batch normalisation"):
        PerExampleClipper(nn.BatchNorm1d(4, track_running_stats=False).eval(), functional.mse_loss, 1.0)


def test_buffers_that_are_written_to_are_refused():
    class Remembers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 3)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, inputs):
            self.calls.add_(1)
            return self.layer(inputs)

    model = Remembers()
    with pytest.raises(Unsupported, match="writes to a buffer, of 'calls'"):
        PerExampleClipper(model, functional.cross_entropy, 1.0)(*batch(3))
    assert not model.calls.any()
    remembers = nn.InstanceNorm1d(2, affine=True, track_running_stats=True)
    with pytest.raises(Unsupported, match="writes to a buffer"):
        PerExampleClipper(remembers, functional.mse_loss, 1.0)(torch.randn(3, 2, 4), torch.zeros(3, 2, 4))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64])
def test_precisions_without_noise_are_refused(dtype):
    with pytest.raises(Unsupported, match="must be float32 or float64"):
        PerExampleClipper(nn.Linear(2, 2, dtype=dtype), functional.cross_entropy, 1.0)


def test_bad_parameters_are_refused():
    model = network()
    for norm in (0.0, -1.0, float("nan"), float("inf"), 1e-30):
        with pytest.raises(BadParameter, match="max_norm"):
            PerExampleClipper(model, functional.cross_entropy, norm)
    with pytest.raises(BadParameter, match="chunk_size"):
        PerExampleClipper(model, functional.cross_entropy, 1.0, chunk_size=0)
    with pytest.raises(BadParameter, match="no trainable parameter"):
        PerExampleClipper(nn.ReLU(), functional.cross_entropy, 1.0)
    with pytest.raises(BadParameter, match="no trainable parameter"):
        PerExampleClipper(nn.ParameterList([torch.zeros(0)]), functional.cross_entropy, 1.0)
    with pytest.raises(BadParameter, match="one number for one example"):
        PerExampleClipper(model, lambda prediction, target: prediction, 1.0)(*batch(2))
    clipper = PerExampleClipper(model, functional.cross_entropy, 1.0)
    inputs, targets = batch(4)
    with pytest.raises(BadParameter, match="same number of examples"):
        clipper(inputs, targets[:3])
    for no_examples in (torch.tensor(1), None, 1, [1, 0, 2, 1]):
        with pytest.raises(BadParameter, match="along their first dimension"):
            clipper(inputs, no_examples)
    model[0].requires_grad_(False)
    with pytest.raises(BadParameter, match="no longer those"):
        clipper(inputs, targets)


def test_declared_sums_are_checked_for_what_can_be_checked():
    parameters = list(network().parameters())
    gradients = [torch.zeros_like(parameter) for parameter in parameters]
    with pytest.raises(BadParameter, match="shapes"):
        ClippedSum.declared(parameters, gradients[:-1], examples=1, max_norm=1.0)
    with pytest.raises(BadParameter, match="examples"):
        ClippedSum.declared(parameters, gradients, examples=-1, max_norm=1.0)
    with pytest.raises(BadParameter, match="no trainable parameter"):
        ClippedSum.declared([], [], examples=1, max_norm=1.0)
    for strange in (gradients[0].long(), gradients[0].to(torch.complex64), gradients[0].to("meta")):
        with pytest.raises(BadParameter, match="gradient 0 must be of real numbers, on the device"):
            ClippedSum.declared(parameters, [strange, *gradients[1:]], examples=1, max_norm=1.0)
    gradients[1] = gradients[1] + float("nan")
    with pytest.raises(BadParameter, match="gradient 1 is not finite"):
        ClippedSum.declared(parameters, gradients, examples=1, max_norm=1.0)


def test_a_sum_of_sums_has_the_largest_of_their_norms():
    model = network()
    small, large = (PerExampleClipper(model, functional.cross_entropy, norm) for norm in (0.5, 2.0))
    for first, second in ((small, large), (large, small)):
        total = first(*batch(3))
        total += second(*batch(3))
        assert total.max_norm == 2.0


def test_dropout_is_drawn_for_each_example():
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(64, 1, bias=False))
    clipper = PerExampleClipper(model, lambda prediction, target: prediction.sum(), 1e3)
    (gradient,) = clipper(torch.ones(8, 64), torch.zeros(8)).tensors()
    # Each of 64 coordinates is twice the number of examples that keep it. All of them are 0 or 16
    # if the draw is one for all, and else with probability 2⁻⁴⁴⁸.
    assert set(gradient.flatten().tolist()) - {0.0, 16.0}


def test_sums_are_not_added_twice():
    clipper = PerExampleClipper(network(), functional.cross_entropy, 1.0)
    first, second = clipper(*batch(3)), clipper(*batch(4))
    first += second
    with pytest.raises(BadParameter, match="has served"):
        first += second
    with pytest.raises(BadParameter, match="to itself"):
        first += first
    with pytest.raises(BadParameter, match="same parameters"):
        first += PerExampleClipper(network(), functional.cross_entropy, 1.0)(*batch(3))
    assert first.examples == 7
