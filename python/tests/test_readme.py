"""The code of the READMEs runs as it stands."""

import pathlib
import re
from typing import Any

import pytest

PACKAGE = pathlib.Path(__file__).parents[1] / "README.md"
PROJECT = pathlib.Path(__file__).parents[2] / "README.md"


def blocks(page: pathlib.Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = blocks(PACKAGE)
    assert len(found) == 7
    scope: dict[str, Any] = {}
    for block in found:
        exec(compile(block, str(PACKAGE), "exec"), scope)
    printed = capsys.readouterr().out
    assert "with 95 % between" in printed and "(they differ at step 1)" in printed
    assert scope["learner"].steps_taken == 500


def test_the_first_code_of_the_project_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(blocks(PROJECT)[0], str(PROJECT), "exec"), {})
    assert re.fullmatch(r"-?\d+(\.\d+)? \(.*, .*\)\n", capsys.readouterr().out)
