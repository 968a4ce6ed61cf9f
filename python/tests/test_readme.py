"""The code of the package's README runs as it stands."""

import pathlib
import re
from typing import Any

import pytest

PAGE = pathlib.Path(__file__).parents[1] / "README.md"


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    scope: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    printed = capsys.readouterr().out
    assert "with 95 % between" in printed and "(they differ at step 1)" in printed
    assert scope["learner"].steps_taken == 500
