"""The code of docs/torch.md runs as it stands, and learns."""

import pathlib
import re
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from evertally.torch import DPSGD  # noqa: E402

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "torch.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the package")
def test_the_code_of_the_page_runs_and_learns(tmp_path, capsys):
    found = re.findall(r"^ *```python\n(.*?)^ *```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    example, accumulation, checkpoint = (compile(textwrap.dedent(block), str(PAGE), "exec") for block in found)
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
