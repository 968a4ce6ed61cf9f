"""The code of docs/torch.md runs as it stands, and learns. That of the README runs too."""

import pathlib
import re
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from evertally.torch import DPSGD  # noqa: E402

ROOT = pathlib.Path(__file__).parents[3]
PAGE, README = ROOT / "docs" / "torch.md", ROOT / "README.md"


def blocks(page: pathlib.Path) -> list[str]:
    found = re.findall(r"^ *```python\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for block in found]


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the package")
def test_the_code_of_the_page_runs_and_learns(tmp_path, capsys):
    example, accumulation, checkpoint = (compile(block, str(PAGE), "exec") for block in blocks(PAGE))
    scope = {"path": tmp_path / "run.pt"}
    exec(example, scope)
    # Guessing is right once in ten, and this network about nine times; runs differ by their noise.
    assert scope["accuracy"] > 0.7
    assert 3.9 < scope["epsilon"] <= 4.0 * (1 + 1e-9)
    assert "accuracy" in capsys.readouterr().out

    exec(checkpoint, scope)
    assert (scope["optimizer"].steps_taken, len(scope["batches"])) == (120, 0)

    scope["optimizer"] = DPSGD(scope["model"].parameters(), scope["training"], lr=1.0)
    exec(accumulation, scope)
    assert scope["optimizer"].steps_taken == 1 and scope["total"].examples == 250

    # The lines of the README, with the model and the data of the page.
    (loop,) = (block for block in blocks(README) if "training_plan(" in block)
    exec(compile(loop, str(README), "exec"), scope)
    assert scope["optimizer"].steps_taken == scope["training"].steps
