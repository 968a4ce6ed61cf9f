"""Models that keep state between calls are refused, honest ones are not, and the check leaves no trace."""

import collections
import functools
import itertools
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from evertally import BadParameter, Unsupported  # noqa: E402
from evertally.torch import PerExampleClipper, clipping, hidden_state  # noqa: E402
from evertally.torch.batch import Batch  # noqa: E402

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

# Vectorised over examples, an LSTM of the processor is slow, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")

WIDTH, CLASSES = 5, 3


def batch(examples, seed=0):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(examples, WIDTH, generator=generator)
    return inputs, torch.randint(CLASSES, (examples,), generator=generator)


class Layer(nn.Module):
    """A linear layer of its inputs plus the state of ``shift(layer, inputs)``."""

    def __init__(self, shift=None, **attributes):
        super().__init__()
        torch.manual_seed(1)
        self.linear = nn.Linear(WIDTH, CLASSES)
        self.shift = shift
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, inputs):
        return self.linear(inputs if self.shift is None else inputs + self.shift(self, inputs))


def previous_mean(layer, inputs):
    before, layer.previous = layer.previous, inputs.mean().detach()
    return before


def clipper_of(model, loss_fn=functional.cross_entropy, **options):
    return PerExampleClipper(model, loss_fn, 1.0, **options)


def test_an_attribute_with_the_previous_batch_is_found(monkeypatch):
    """A layer kept the mean of its previous batch in an ordinary attribute, and added it to the next one.

    Buffers that a forward pass writes to were refused, but an attribute is no buffer. Another
    previous batch moved the next sum by 0.52 at clip 1, although the next batch was the same:
    examples moved sums that they had no part in, and the noise was not made for that.
    """
    with monkeypatch.context() as unchecked:
        unchecked.setattr(clipping, "refuse_hidden_state", lambda *_, **__: None)
        sums = []
        for scale in (-3, 3):
            clipper = clipper_of(Layer(previous_mean, previous=0.0))
            inputs, targets = batch(4, seed=1)
            clipper(inputs * scale, targets)
            sums.append(clipper(*batch(4)).tensors()[0])
        assert (sums[0] - sums[1]).norm() > 0.5
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), Layer(previous_mean, previous=0.0))
    with pytest.raises(Unsupported, match=r"keeps state between calls.*'1' \(Layer\)\.previous.*\.eval\(\)"):
        clipper_of(model)(*batch(4))
    assert model[1].previous == 0.0


def remembers_in_a_list(layer, inputs):
    layer.seen.append(inputs.mean().detach())
    return layer.seen[-2]


def remembers_in_a_set(layer, inputs):
    layer.numbers.add(len(layer.numbers))
    return 0.01 * len(layer.numbers)


def remembers_in_a_dictionary(layer, inputs):
    layer.cache["calls"] += 1
    return 0.01 * layer.cache["calls"]


def running_mean(layer, inputs):
    layer.mean = 0.99 * layer.mean + 0.01 * inputs.mean(dim=0).detach()
    return -layer.mean


def largest_so_far(layer, inputs):
    largest = inputs.abs().max().detach()
    layer.largest = largest if layer.largest is None else torch.maximum(layer.largest, largest)
    return layer.largest


def remembers_every_fifth(layer, inputs):
    layer.calls += 1
    if layer.calls % 5 == 0:
        layer.previous = 0.001 * inputs.mean().detach()
    return layer.previous


def remembers_the_number(layer, inputs):
    layer.calls += 1
    return 1e-6 * layer.calls


@pytest.mark.parametrize(
    ("shift", "attributes", "name"),
    [
        (previous_mean, {"previous": 0.0}, "previous"),
        (remembers_in_a_list, {"seen": [0.5]}, "seen"),
        (remembers_in_a_list, {"seen": collections.deque([0.5], maxlen=2)}, "seen"),
        (remembers_in_a_set, {"numbers": {0}}, "numbers"),
        (remembers_in_a_dictionary, {"cache": {"calls": 2}}, "cache"),
        (remembers_in_a_dictionary, {"cache": collections.Counter(calls=2)}, "cache"),
        (running_mean, {"mean": torch.zeros(WIDTH)}, "mean"),
        (largest_so_far, {"largest": None}, "largest"),
        (remembers_every_fifth, {"calls": 0, "previous": 0.0}, "calls, Layer.previous"),
        (remembers_the_number, {"calls": 0}, "calls"),
    ],
)
@pytest.mark.parametrize("examples", [1, 2, 7])
@pytest.mark.parametrize("chunk_size", [None, 1])
def test_state_in_attributes_is_found_and_put_back(shift, attributes, name, examples, chunk_size):
    before = {key: value.copy() if hasattr(value, "copy") else value for key, value in attributes.items()}
    model = Layer(shift, **attributes)
    clipper = clipper_of(model, chunk_size=chunk_size)
    for _ in range(2):  # the second call is refused as well
        with pytest.raises(Unsupported, match=rf"keeps state between calls.*calls change Layer\.{name}"):
            clipper(*batch(examples))
    for key, value in attributes.items():
        assert getattr(model, key) is value
        assert value is before[key] or value == before[key]


def test_other_orders_show_state_where_inputs_cannot_be_scaled():
    """Integers are not scaled: here only the order of examples can show that the largest
    number is kept.
    """
    inputs = torch.arange(4.0)[:, None].expand(4, WIDTH)
    with pytest.raises(Unsupported, match=r"Layer\.largest"):
        clipper_of(Layer(largest_so_far, largest=torch.tensor(2.0)))(inputs, torch.arange(4) % CLASSES)


class Recurrent(nn.Module):
    """An LSTM that continues from the state of the previous call."""

    def __init__(self, *, keeps):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, 4, batch_first=True)
        self.head = nn.Linear(4, CLASSES)
        self.hidden = None
        self.keeps = keeps

    def forward(self, inputs):
        outputs, hidden = self.lstm(inputs, self.hidden)
        if self.keeps:
            self.hidden = tuple(part.detach() for part in hidden)
        return self.head(outputs[:, -1])


def test_a_recurrent_layer_that_goes_on_is_found():
    inputs, targets = torch.randn(5, 6, WIDTH), torch.randint(CLASSES, (5,))
    with pytest.raises(Unsupported, match=r"Recurrent\.hidden"):
        clipper_of(Recurrent(keeps=True))(inputs, targets)
    clipper_of(Recurrent(keeps=False))(inputs, targets)


CALLS = 0


def test_indices_and_masks_stay_valid_during_the_check():
    """Columns of floating point often hold categories; one out of range makes an accelerator unusable."""
    inputs = torch.stack([torch.arange(7.0), torch.rand(7) + 0.1], dim=1)
    others = hidden_state._other_batches(Batch.of(inputs, torch.arange(7)), 4, largest_scale=4.0)
    seen = list(itertools.islice(others, 40))
    assert {len(some.targets) for some in seen} == {1, 2, 3, 4}
    for some in seen:
        assert torch.equal(some.arguments[0][:, 0], some.targets.float())
    scales = torch.cat([some.arguments[0][:, 1] / inputs[some.targets, 1] for some in seen])
    assert 0.25 <= scales.min() < 0.5 and 2 < scales.max() <= 4


def test_state_outside_of_modules_is_found():
    def counts_globally(layer, inputs):
        global CALLS
        CALLS += 1
        return 0.1 * CALLS

    seen = []

    def closes_over(layer, inputs):
        seen.append(inputs.mean().detach())
        return seen[-2] if len(seen) > 1 else 0.0

    class Memory:
        last = 0.0

    def keeps_in_an_object(layer, inputs):
        before, layer.memory.last = layer.memory.last, inputs.mean().detach()
        return before

    for shift in (counts_globally, closes_over, keeps_in_an_object):
        with pytest.raises(Unsupported, match=r"no attribute of a module changes, so look for a closure"):
            clipper_of(Layer(shift, memory=Memory()))(*batch(4))


class RunningLoss(nn.Module):
    """A loss that is divided by what losses usually are."""

    def __init__(self):
        super().__init__()
        self.usual = 1.0

    def forward(self, prediction, target):
        loss = functional.cross_entropy(prediction, target) / self.usual
        self.usual = 0.9 * self.usual + 0.1 * loss.detach()
        return loss


def test_state_in_the_loss_is_found():
    with pytest.raises(Unsupported, match=r"'loss_fn' \(RunningLoss\)\.usual"):
        clipper_of(Layer(), RunningLoss())(*batch(4))
    clipper = clipper_of(Layer())
    clipper(*batch(4))
    clipper.loss_fn = RunningLoss()
    with pytest.raises(Unsupported, match="keeps state"):
        clipper(*batch(4))


def test_writing_to_a_tensor_of_ones_own_is_refused():
    def writes(layer, inputs):
        return layer.mean.mul_(0.9)

    with pytest.raises(Unsupported, match="writes to a tensor that outlives the call"):
        clipper_of(Layer(writes, mean=torch.ones(WIDTH)))(*batch(4))


def test_later_calls_that_fail_because_of_earlier_ones_are_named_as_such():
    def wants_the_same_number(layer, inputs):
        layer.calls += 1
        if layer.calls > 3:
            raise ValueError("too many")
        return 0.0

    with pytest.raises(Unsupported, match=r"the same examples fails after other calls.*Layer\.calls"):
        clipper_of(Layer(wants_the_same_number, calls=0))(*batch(4))


def test_gradients_that_belong_to_no_example_are_refused(monkeypatch):
    """A tensor of the previous call brings that call's examples with it: one example then had four
    gradients in its sum.
    """
    monkeypatch.setattr(clipping, "refuse_hidden_state", lambda *_, **__: None)
    clipper = clipper_of(Layer(previous_mean, previous=0.0))
    clipper(*batch(4))
    with pytest.raises(Unsupported, match="other gradients than those of the examples"):
        clipper(*batch(1))


def test_the_check_comes_again_in_another_mode():
    def in_training(layer, inputs):
        return previous_mean(layer, inputs) if layer.training else 0.0

    model = Layer(in_training, previous=0.0).eval()
    clipper = clipper_of(model)
    clipper(*batch(4))
    model.train()
    with pytest.raises(Unsupported, match="keeps state"):
        clipper(*batch(4))


def test_the_check_is_made_once_for_each_mode(monkeypatch):
    checks, check = [], clipping.refuse_hidden_state
    monkeypatch.setattr(clipping, "refuse_hidden_state", lambda *given, **named: checks.append(1) or check(*given, **named))
    model = Layer()
    clipper = clipper_of(model)
    clipper(*batch(0))  # nothing to check with
    assert not checks
    for mode in (True, False, True, False):
        model.train(mode)
        clipper(*batch(4))
        clipper(*batch(6))
    assert len(checks) == 2


def test_the_check_can_be_made_when_the_clipper_is():
    with pytest.raises(Unsupported, match="keeps state"):
        clipper_of(Layer(previous_mean, previous=0.0), check_with=batch(4))
    clipper_of(Layer(), check_with=batch(4))(*batch(3))
    with pytest.raises(BadParameter, match="check_with must have at least one example"):
        clipper_of(Layer(), check_with=batch(0))
    with pytest.raises(BadParameter, match="same number of examples"):
        clipper_of(Layer(), check_with=(batch(4)[0], batch(3)[1]))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.attention = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.words_again = nn.Linear(8, 11, bias=False)
        self.words_again.weight = self.words.weight

    def forward(self, inputs):
        return self.words_again(self.attention(self.words(inputs)).mean(dim=1))


class Convolutions(nn.Module):
    """Also keeps its activations, as many do for those who look at them, and reads them in the same
    call alone.
    """

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Dropout2d(0.3), nn.Flatten())
        self.head = nn.Linear(4 * 36, CLASSES)
        self.seen = []

    def forward(self, inputs):
        self.activations = self.layers(inputs)
        self.seen.append(self.activations.detach())
        return self.head(self.activations)


class Table(nn.Module):
    """Many indices into one parameter: their gradients are added in any order, on several threads."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(20, 300))

    def forward(self, inputs):
        return self.table[inputs % 20].sum(dim=(1, 2)).tanh()[:, None]


class Noisy(nn.Module):
    """Draws from every generator there is."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, CLASSES)
        self.generator = torch.Generator().manual_seed(4)

    def forward(self, inputs):
        own = torch.rand((), generator=self.generator)
        return self.linear(inputs * own + random.random() + np.random.random()) + torch.rand(())


class Caches(nn.Module):
    """Makes positions when it first needs them: state that depends on no data."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, CLASSES)
        self.positions = {}

    def forward(self, inputs):
        width = inputs.shape[1]
        if width not in self.positions:
            self.positions[width] = torch.arange(width).cos()
        return self.linear(inputs + self.positions[width])


def normalised():
    model = nn.Sequential(nn.Linear(WIDTH, 4), nn.BatchNorm1d(4), nn.Linear(4, CLASSES))
    model(torch.randn(9, WIDTH))
    return model.eval()


def honest():
    def classes(examples):
        return torch.randint(CLASSES, (examples,))

    flat = (lambda n: torch.randn(n, WIDTH), classes)
    yield "linear", lambda: nn.Linear(WIDTH, CLASSES), *flat
    yield "doubles", lambda: nn.Linear(WIDTH, CLASSES).double(), lambda n: torch.randn(n, WIDTH).double(), classes
    yield "dropout", lambda: nn.Sequential(nn.Dropout(), nn.Linear(WIDTH, CLASSES)), *flat
    yield "batch normalisation", normalised, *flat
    yield "generators", Noisy, *flat
    yield "caches", Caches, *flat
    yield "convolutions", Convolutions, lambda n: torch.randn(n, 1, 8, 8), classes
    yield "attention", Attention, lambda n: torch.randint(11, (n, 7)), lambda n: torch.randint(11, (n,))
    yield "recurrent", functools.partial(Recurrent, keeps=False), lambda n: torch.randn(n, 6, WIDTH), classes
    yield "table", Table, lambda n: torch.randint(1000, (n, 400)), lambda n: torch.zeros(n, dtype=torch.long)


@pytest.mark.parametrize(("make", "inputs", "targets"), [case[1:] for case in honest()], ids=[case[0] for case in honest()])
@pytest.mark.parametrize("examples", [1, 9])
def test_honest_models_pass(make, inputs, targets, examples):
    model = make()
    clipped = clipper_of(model)(inputs(examples), targets(examples))
    assert clipped.examples == examples


@pytest.mark.parametrize(("size", "is_rounding"), [(1e-7, True), (1e-2, False)])
def test_what_differs_even_from_the_same_state_may_differ_by_roundings(size, is_rounding):
    """Some operations add in any order. A number that no state explains stands for them."""
    drawn = random.Random(3)
    model = Layer(lambda layer, inputs: size * drawn.random())
    if is_rounding:
        clipper_of(model)(*batch(4))
    else:
        with pytest.raises(Unsupported, match="keeps state"):
            clipper_of(model)(*batch(4))


def everything_about(model):
    return {
        "attributes": [dict(vars(module)) for module in model.modules()],
        "contents": [
            list(value.items()) if isinstance(value, dict) else list(value)
            for module in model.modules()
            for value in vars(module).values()
            if isinstance(value, (dict, list))
        ],
        "tensors": [tensor.clone() for tensor in (*model.parameters(), *model.buffers())],
        "gradients": [parameter.grad.clone() for parameter in model.parameters()],
    }


def is_same(now, then):
    if isinstance(now, torch.Tensor) and isinstance(then, torch.Tensor):
        return torch.equal(now, then)
    if isinstance(now, dict):
        return now.keys() == then.keys() and all(is_same(now[key], then[key]) for key in now)
    if isinstance(now, (list, tuple)):
        return len(now) == len(then) and all(is_same(a, b) for a, b in zip(now, then, strict=True))
    return now is then or now == then


@pytest.mark.parametrize("make", [Convolutions, Noisy, normalised, Caches])
def test_the_check_leaves_no_trace(make):
    model = make()
    model.register_forward_hook(lambda *_: None)
    model.eval() if make is normalised else model.train()
    shape = (4, 1, 8, 8) if make is Convolutions else (4, WIDTH)
    inputs, targets = torch.randn(shape), torch.randint(CLASSES, (4,))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    own = model.generator.get_state() if make is Noisy else None
    before = everything_about(model)
    clipper_of(model, check_with=(inputs, targets))
    assert is_same(everything_about(model), before)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1] and (np.random.get_state()[1] == states[2]).all()
    assert own is None or torch.equal(model.generator.get_state(), own)


def test_a_sum_is_the_same_with_and_without_the_check(monkeypatch):
    """The first call draws the dropout that it would have drawn."""
    model, (inputs, targets) = nn.Sequential(nn.Dropout(), nn.Linear(WIDTH, CLASSES)), batch(6)
    torch.manual_seed(8)
    checked = clipper_of(model)(inputs, targets).tensors()
    monkeypatch.setattr(clipping, "refuse_hidden_state", lambda *_, **__: None)
    torch.manual_seed(8)
    unchecked = clipper_of(model)(inputs, targets).tensors()
    assert all(torch.equal(a, b) for a, b in zip(checked, unchecked, strict=True))


def test_nothing_of_the_data_is_in_the_refusal():
    inputs, targets = torch.full((4, WIDTH), 7654321.0), torch.zeros(4, dtype=torch.long)
    with pytest.raises(Unsupported) as refused:
        clipper_of(Layer(previous_mean, previous=0.0))(inputs, targets)
    assert "7654" not in str(refused.value) and "7.65" not in str(refused.value)
