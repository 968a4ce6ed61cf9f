"""Every example in a docstring runs, and everything that is public has one."""

import doctest
import inspect
import types

import pytest

import evertally
import evertally.plots


def documented() -> dict[str, str]:
    """All docstrings by the names of what they describe."""
    found = {"evertally": evertally.__doc__ or "", "evertally.plots": evertally.plots.__doc__ or ""}
    for module in (evertally, evertally.plots):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, str):
                continue
            found[name] = thing.__doc__ or ""
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                for attribute, value in vars(thing).items():
                    if not attribute.startswith("_"):
                        found[f"{name}.{attribute}"] = value.__doc__ or ""
    return found


@pytest.mark.parametrize("name", documented())
def test_every_docstring_is_there_and_its_examples_run(name: str) -> None:
    text = documented()[name]
    assert len(text.split()) >= 3, f"{name} is not documented"
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert results.failed == 0


def test_the_public_names_are_those_that_are_listed() -> None:
    public = {name for name, value in vars(evertally).items() if not name.startswith("_") and not isinstance(value, types.ModuleType)}
    assert public | {"__version__"} == set(evertally.__all__)
