"""A service of the program for a moment, to ask it for the exact errors of sums between steps."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tempfile
import urllib.request
from typing import Any


class Service:
    """A running service in a directory of its own, on a free port."""

    def __init__(self, program: pathlib.Path) -> None:
        self.program = program

    def __enter__(self) -> Service:
        self.directory = tempfile.TemporaryDirectory()
        counts = str(pathlib.Path(self.directory.name, "counts"))
        command = [str(self.program), "serve", counts, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        printed = ""
        for line in self.process.stdout:
            printed += line
            token, address = re.search(r"evt_\w+", printed), re.search(r"listening on (http://\S+)", line)
            if token and address:
                self.token, self.address = token[0], address[1]
                return self
        raise RuntimeError("the service did not start")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate()
        self.directory.cleanup()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/v1/{path}", content, headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def sum_errors(self, steps: int, lengths: list[int]) -> dict[int, float]:
        """The root mean square of the standard errors of all consecutive sums of each length."""
        budget = {"epsilon": 1, "delta": 1e-6}
        self.ask("populations", {"name": "everyone"} | budget)
        self.ask("counters", {"name": "days", "population": "everyone", "steps": steps} | budget)
        self.ask("counters/days/advance", {"steps": steps})
        errors = {}
        for length in lengths:
            squares = []
            for first in range(0, steps - length + 1, length):
                found = self.ask(f"counters/days/sum?first={first}&last={first + length - 1}")
                squares.append(found["standard_error"] ** 2)
            errors[length] = (sum(squares) / len(squares)) ** 0.5
        return errors
