"""The wheel carries the program: on the PATH, and as `python -m evertally`."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import evertally
from evertally import __main__ as command

SCRIPTS = Path(sysconfig.get_path("scripts"))
COUNT = "count in.csv --value n --epsilon 1000 --delta 0.4".split()


def output(*words: str | Path, cwd: Path | None = None) -> str:
    return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True).stdout


def test_the_program_is_installed_and_has_the_version_of_the_package() -> None:
    assert Path(command.program()).parent == SCRIPTS
    assert output(command.program(), "--version") == f"evertally {evertally.__version__}\n"
    assert output(sys.executable, "-m", "evertally", "--version") == f"evertally {evertally.__version__}\n"


def test_it_counts_a_hundred_rows(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("n\n" + "1\n" * 100)
    for program in ([SCRIPTS / "evertally"], [sys.executable, "-m", "evertally"]):
        rows = output(*program, *COUNT, cwd=tmp_path).splitlines()
        estimates = [row.split(",") for row in rows if row[:1].isdigit()]
        assert len(estimates) == 100
        # The standard error is below 0.3.
        assert abs(float(estimates[-1][1]) - 100) < 5


def test_its_exit_code_and_message_are_its_own() -> None:
    run = subprocess.run([sys.executable, "-m", "evertally", "count"], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith("evertally: ")
    assert len(run.stderr.splitlines()) == 1


def test_completions_and_manual_pages_are_installed() -> None:
    share = Path(sysconfig.get_path("data")) / "share"
    for name in (
        "bash-completion/completions/evertally",
        "zsh/site-functions/_evertally",
        "fish/vendor_completions.d/evertally.fish",
        "man/man1/evertally.1",
        "man/man1/evertally-count.1",
    ):
        assert (share / name).is_file(), name


def test_a_missing_program_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: "/nowhere")
    monkeypatch.setattr(command, "__file__", "/nowhere/evertally/__main__.py")
    with pytest.raises(SystemExit, match="install the package again"):
        command.program()
