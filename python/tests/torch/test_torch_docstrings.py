"""Every example in a docstring of the package runs, and everything that is public is documented."""

import doctest
import importlib
import inspect

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

import evertally.torch  # noqa: E402

MODULES = ["accounting", "batch", "clipping", "hidden_state", "noise", "optimizers", "private", "sampling", "state"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(f"evertally.torch.{name}")
    assert doctest.testmod(module).failed == 0


def test_there_are_examples_and_words_for_everything_public():
    finder = doctest.DocTestFinder()
    for name in evertally.torch.__all__:
        thing = getattr(evertally.torch, name)
        assert len(inspect.getdoc(thing).split()) > 3, name
        members = vars(thing).items() if inspect.isclass(thing) else ()
        for member, value in members:
            if callable(value) and not member.startswith("_"):
                assert value.__doc__, f"{name}.{member}"
    for name in ("DPFTRL", "DPSGD", "CorrelatedNoise", "PerExampleClipper", "FixedOrderBatches", "training_plan"):
        assert any(test.examples for test in finder.find(getattr(evertally.torch, name))), name
