"""``python -m evertally``: runs the program ``evertally`` that was installed with this package."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NoReturn


def program() -> Path:
    """The program of this installation.

    Installers put it where they put scripts: of this environment, of this user
    (``pip install --user``), or below the directory of ``pip install --target``.
    """
    name = "evertally" + (sysconfig.get_config_var("EXE") or "")
    user = sysconfig.get_preferred_scheme("user")
    directories = [
        Path(sysconfig.get_path("scripts")),
        Path(sysconfig.get_path("scripts", user)),
        Path(__file__).resolve().parent.parent / "bin",
    ]
    for directory in directories:
        if (directory / name).is_file():
            return directory / name
    places = ", ".join(map(str, directories))
    sys.exit(f"evertally: the program is not in {places}: install the package again")


def run() -> NoReturn:
    """Runs the program in place of this process, with the same arguments."""
    found = program()
    if sys.platform == "win32":
        # Replacing a process returns to the shell at once there. Ctrl-C reaches both processes, and
        # the program decides what it means.
        process = subprocess.Popen([found, *sys.argv[1:]])
        while True:
            try:
                sys.exit(process.wait())
            except KeyboardInterrupt:
                pass
    os.execv(found, ["evertally", *sys.argv[1:]])


if __name__ == "__main__":
    run()
