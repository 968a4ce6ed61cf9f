"""``python -m evertally``: runs the program ``evertally`` that was installed with this package."""

import os
import sys
import sysconfig
from os.path import abspath, dirname, isfile, join
from typing import NoReturn


def program() -> str:
    """The program of this installation.

    Installers put it where they put scripts: of this environment, of this user
    (``pip install --user``), or below the directory of ``pip install --target``.
    """
    name = "evertally.exe" if sys.platform == "win32" else "evertally"
    directories = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")),
        join(dirname(dirname(abspath(__file__))), "bin"),
    ]
    for directory in directories:
        if isfile(join(directory, name)):
            return join(directory, name)
    places = ", ".join(directories)
    sys.exit(f"evertally: the program is not in {places}: install the package again")


def run() -> NoReturn:
    """Runs the program in place of this process, with the same arguments."""
    found = program()
    if sys.platform == "win32":
        import subprocess

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
