"""Runs the console blocks of Markdown files as printed, in order, each file in an empty folder.

    python book/check_blocks.py PROGRAM FILE.md …

A block starts with ```console. In it, a line that starts with `$ ` is a command, which continues
below while its lines end with a backslash. All other lines are output of the command before them.
A block without `$ ` has one command per line and shows no output. All commands of a file run in one
shell, so variables and background processes last. `evertally` is PROGRAM, and so is `cargo run
--release … --`; `examples` is the repository's folder of that name.

- Every command must succeed.
- Every line of shown output must be printed, in the order shown. `…` stands for any text, and on a
  line of its own for any lines. Further lines may be printed that are not shown.
- After `<!-- random -->` on a line before the block, a number matches any number: the noise is fresh
  in every run.
- After `<!-- not run: REASON -->` the block is skipped. REASON says who runs it, or why nobody can.

The address 127.0.0.1:8740, where the service listens by default, becomes a free port, so that
several checks can run on one machine.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIMEOUT_SECONDS = 300
FENCE = re.compile(r"^ *(```+)(\w*)")
COMMENT = re.compile(r"^<!-- (random|not run: \S.*) -->$")
CARGO_RUN = re.compile(r"cargo run --release (?:--no-default-features )?-- ")
# Commas between groups of three digits belong to a number, and others part the cells of a row.
NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e-?\d+)?")


@dataclasses.dataclass
class Command:
    """A command, where it stands, and the output that the page shows below it."""

    line: int
    text: str
    shown: list[str]
    random: bool


def commands(markdown: str) -> list[Command]:
    """The commands of all console blocks that are to be run."""
    found: list[Command] = []
    comment, fence = "", None
    block: list[tuple[int, str]] = []
    for number, line in enumerate(markdown.splitlines(), start=1):
        mark = FENCE.match(line)
        if fence is None and mark is not None:
            fence, language, block = mark[1], mark[2], []
        elif fence is not None and line.strip() == fence:
            if language == "console" and not comment.startswith("not run"):
                found += commands_of_block(block, comment == "random")
            fence, comment = None, ""
        elif fence is not None:
            block.append((number, line))
        elif line.strip():
            comment = found_comment[1] if (found_comment := COMMENT.match(line.strip())) else ""
    return found


def commands_of_block(block: list[tuple[int, str]], random: bool) -> list[Command]:
    found: list[Command] = []
    prompts = any(line.startswith("$ ") for _, line in block)
    continues = False
    for number, line in block:
        if continues:
            found[-1].text += f"\n{line}"
        elif line.startswith("$ ") or (not prompts and line.strip()):
            found.append(Command(number, line.removeprefix("$ "), [], random))
        elif found and line.strip():
            found[-1].shown.append(line.rstrip())
            continue
        continues = bool(found) and line.endswith("\\")
    return found


def run(program: pathlib.Path, todo: list[Command]) -> list[tuple[int | None, str]]:
    """The exit code and the output of each command. None for those after the shell has ended."""
    with tempfile.TemporaryDirectory(prefix="evertally-blocks-") as name:
        home = pathlib.Path(name)
        work, results, programs = home / "work", home / "results", home / "programs"
        for directory in (work, results, programs):
            directory.mkdir()
        (programs / "evertally").symlink_to(program)
        shutil.copytree(ROOT / "examples", work / "examples")
        address = f"127.0.0.1:{free_port()}"
        script = []
        for position, command in enumerate(todo):
            text = command.text.replace("127.0.0.1:8740", address)
            text = CARGO_RUN.sub("evertally ", text)
            script.append(
                f"{{ {text}\n}} > '{results}/{position}' 2>&1 < /dev/null\necho $? > '{results}/{position}.code'"
            )
        environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "NO_COLOR": "1"}
        shell = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=work, env=environment, start_new_session=True)
        try:
            shell.wait(timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # The shell leads a group of its own, which holds everything that it left running.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
        return [
            (exit_code(results / f"{each}.code"), content(results / str(each)).replace(address, "127.0.0.1:8740"))
            for each in range(len(todo))
        ]


def exit_code(path: pathlib.Path) -> int | None:
    written = content(path).strip()
    return int(written) if written else None


def content(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def missing(command: Command, output: str) -> str | None:
    """The first shown line that was not printed after the lines before it."""
    printed = iter(output.splitlines())
    for shown in command.shown:
        if shown.strip() == "…":
            continue
        pattern = like(shown, command.random)
        if not any(pattern.fullmatch(line.rstrip()) for line in printed):
            return shown
    return None


def like(shown: str, random: bool) -> re.Pattern[str]:
    """A pattern for one line. Fresh numbers have other widths, so the spaces around them may differ."""
    if not random:
        return re.compile(".*".join(map(re.escape, shown.split("…"))))
    parts = NUMBER.split(shown)
    words = [r"\s*".join(".*".join(map(re.escape, word.split("…"))) for word in part.split(" ")) for part in parts]
    return re.compile(NUMBER.pattern.join(words))


def check(program: pathlib.Path, page: pathlib.Path) -> list[str]:
    todo = commands(page.read_text(encoding="utf-8"))
    faults = []
    for command, (code, output) in zip(todo, run(program, todo), strict=True):
        place = f"{page}:{command.line}"
        shown = "".join(f"\n    {line}" for line in output.splitlines()[-20:])
        if code != 0:
            state = "did not end" if code is None else f"ended with {code}"
            faults.append(f"{place}: `{command.text}` {state}{shown}")
        elif (line := missing(command, output)) is not None:
            faults.append(f"{place}: `{command.text}` did not print the line {line!r}{shown}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("pages", type=pathlib.Path, nargs="+", metavar="FILE.md")
    arguments = parser.parse_args()
    program = arguments.program.resolve(strict=True)
    found = 0
    for page in arguments.pages:
        faults = check(program, page)
        print(
            f"{page}: {len(commands(page.read_text(encoding='utf-8')))} commands, {len(faults)} faults", file=sys.stderr
        )
        for fault in faults:
            print(fault, file=sys.stderr)
        found += len(faults)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
