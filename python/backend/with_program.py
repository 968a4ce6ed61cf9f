"""The build backend of the package: maturin, with the program `evertally` beside the extension.

A wheel contains the Python package with its extension, which maturin builds, and two things that
this backend adds as data of the wheel:

- the program, which installers put on the PATH. It is the same program that `cargo install` builds,
  so it starts without Python, and signals and exit codes are its own;
- its completions and manual pages, below `share` of the environment.

By default, cargo builds the program with the profile and target of `MATURIN_PEP517_ARGS`. If
`EVERTALLY_PROGRAM` is set, it names a program that is built already. The program must run on this
machine, because it writes its own completions and manual pages.
"""

import argparse
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # noqa: F401: the hooks that stay as they are
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

HERE = Path(__file__).resolve().parent.parent
# maturin adds this directory to the wheel if it exists.
DATA = HERE / "evertally._native.data"

Settings = Mapping[str, Any] | None


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Builds a wheel with the program in it."""
    with data(config_settings):
        return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Builds a wheel that refers to the sources, with the program in it."""
    with data(config_settings):
        return str(maturin.build_editable(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Refuses: an archive of this directory alone could not build the program."""
    raise RuntimeError("Evertally is published as wheels. To build it from source, use a clone.")


@contextmanager
def data(config_settings: Settings) -> Iterator[None]:
    """The program, its completions and its manual pages are where maturin looks, for one build."""
    program = built_program(config_settings)
    shutil.rmtree(DATA, ignore_errors=True)
    try:
        scripts = DATA / "scripts"
        scripts.mkdir(parents=True)
        shutil.copy(program, scripts)
        subprocess.run([program, "completions", "--into", DATA / "data" / "share"], check=True)
        yield
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


def built_program(config_settings: Settings) -> Path:
    """The program that `EVERTALLY_PROGRAM` names, or a new one."""
    if named := os.environ.get("EVERTALLY_PROGRAM"):
        return Path(named).resolve(strict=True)
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--profile", default="release")
    options.add_argument("--target")
    chosen, _ = options.parse_known_args(maturin.get_maturin_pep517_args(config_settings))
    command = ["cargo", "build", "--locked", "--profile", chosen.profile, "--package", "evertally-cli"]
    command += ["--target", chosen.target] if chosen.target else []
    command += ["--bin", "evertally", "--message-format", "json-render-diagnostics"]
    run = subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.PIPE, text=True)
    executables = (json.loads(line).get("executable") for line in run.stdout.splitlines())
    return Path(next(executable for executable in executables if executable))
