"""One streaming query in a process of its own, which kills itself or one of its executors at a
point that it is told.

    python kill_worker.py FOLDER

The folder holds `settings.json`, `noise.key` and `events`; checkpoint, releases and a line for each
point that was struck are written there.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster import build_session, count_folder, writer_into
from pyspark.sql import DataFrame, SparkSession

import evertally
from evertally.spark import ReleaseFiles, sink

# How often files are looked for: short beside what happens between two of them.
LOOK_SECONDS = 0.002
# How long what an executor has said may be under way to the driver.
ARRIVAL_SECONDS = 0.5
# A query in which no task begins or ends for so long waits for a stopped executor.
HANG_SECONDS = 5.0


class Killer:
    """Strikes at the points it is given, one after the other."""

    def __init__(self, folder: Path, points: list[dict[str, Any]], seed: int) -> None:
        self._folder, self._points = folder, points
        self._checkpoint = folder / "checkpoint"
        self._random = random.Random(seed)
        self._machine = 0
        self._tracker: Any = None

    def watch(self, session: SparkSession) -> None:
        """Waits, beside the query, for points that show in files."""
        gateway: Any = session.sparkContext._gateway
        self._machine = gateway.proc.pid
        self._tracker = session.sparkContext.statusTracker()
        threading.Thread(target=self._wait, daemon=True).start()

    def reached(self, kind: str, batch: int) -> None:
        """The query has come to a point in the sink."""
        for point in self._points:
            if point["kind"] == kind and point["batch"] == batch:
                self._kill_driver(point)

    def _wait(self) -> None:
        for point in self._points:
            if point["kind"] not in ("sink", "written", "shown"):
                self._wait_for(point)

    def _wait_for(self, point: dict[str, Any]) -> None:
        kind, batch = point["kind"], point["batch"]
        before = self._state_files(batch)
        moments: dict[str, Callable[[], bool]] = {
            "offsets": lambda: (self._checkpoint / "offsets" / str(batch)).exists(),
            "state": lambda: bool(self._state_files(batch) - before),
            "committed": lambda: (self._checkpoint / "commits" / str(batch)).exists(),
        }
        moments["random"] = moments["offsets"]
        # Both executors are at work then. The one that dies may have finished its task meanwhile;
        # `_kill_at_work` sees to that.
        moments["executor"] = lambda: moments["offsets"]() and self._running_tasks() >= 2
        moments["executor state"] = moments["state"]
        while not moments[kind]():
            time.sleep(LOOK_SECONDS)
        if kind == "random":
            time.sleep(self._random.uniform(0.0, point["within"]))
        if kind.startswith("executor"):
            self._kill_executor(point)
        else:
            self._kill_driver(point)

    def _tasks(self) -> tuple[int, int]:
        """How many tasks run in the busiest stage, and how many have finished in all that run."""
        stages = [self._tracker.getStageInfo(stage) for stage in self._tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        running = max((stage.numActiveTasks for stage in known), default=0)
        return running, sum(stage.numCompletedTasks for stage in known)

    def _running_tasks(self) -> int:
        return self._tasks()[0]

    def _state_files(self, batch: int) -> set[tuple[str, int]]:
        """The files of the state after a batch, with the times of their last changes: those of an
        earlier try may be there.
        """
        found = set()
        for path in (self._checkpoint / "state").rglob(f"*{batch + 1}*"):
            if path.name.lstrip(".").startswith((f"{batch + 1}.", f"{batch + 1}_")):
                try:
                    found.add((str(path), path.stat().st_mtime_ns))
                except FileNotFoundError:
                    # A temporary file that has taken its name meanwhile.
                    continue
        return found

    def _kill_executor(self, point: dict[str, Any]) -> None:
        while not (executors := find_executors(self._machine)):
            time.sleep(LOOK_SECONDS)
        executor = self._random.choice(executors)
        if point["kind"] == "executor":
            self._kill_at_work(executor)
        else:
            os.kill(executor, signal.SIGKILL)
        self._note(point)

    def _kill_at_work(self, executor: int) -> None:
        """Kills an executor that has a task, which is lost with it.

        A stopped executor finishes nothing. Once what it said before has arrived, it has a task if
        two are running, because each executor has room for one, or if the query hangs.
        """
        os.kill(executor, signal.SIGSTOP)
        time.sleep(ARRIVAL_SECONDS)
        tasks, since = self._tasks(), time.monotonic()
        while tasks[0] < 2 and not (tasks[0] == 1 and time.monotonic() - since > HANG_SECONDS):
            time.sleep(LOOK_SECONDS)
            if (now := self._tasks()) != tasks:
                tasks, since = now, time.monotonic()
        os.kill(executor, signal.SIGKILL)

    def _kill_driver(self, point: dict[str, Any]) -> None:
        self._note(point)
        if point["leaves_executors"]:
            os.kill(self._machine, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        os.killpg(os.getpgid(0), signal.SIGKILL)

    def _note(self, point: dict[str, Any]) -> None:
        with open(self._folder / "struck.jsonl", "a") as file:
            file.write(json.dumps(point) + "\n")


class WatchedSink:
    """`ReleaseFiles`, which may die before, within and after its work."""

    def __init__(self, path: str, killer: Killer) -> None:
        self._inner, self._killer = ReleaseFiles(path), killer

    def __call__(self, batch: DataFrame, number: int) -> None:
        find = sink._hadoop

        def found(session: Any, path: str) -> tuple[Any, Any]:
            files, place = find(session, path)
            return WatchedFiles(files, lambda: self._killer.reached("written", number)), place

        self._killer.reached("sink", number)
        sink._hadoop = found
        try:
            self._inner(batch, number)
        finally:
            sink._hadoop = find
        self._killer.reached("shown", number)


class WatchedFiles:
    """A file system that says when something is about to be renamed."""

    def __init__(self, files: Any, before_rename: Callable[[], None]) -> None:
        self._files, self._before_rename = files, before_rename

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def rename(self, source: Any, target: Any) -> bool:
        self._before_rename()
        return bool(self._files.rename(source, target))


def find_executors(machine: int) -> list[int]:
    """The executors among the processes that the driver's virtual machine has started."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            # The name of a program, in parentheses, may hold spaces; its parent comes after it and
            # the state.
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    children = [process for process, parent in parents.items() if parent == machine]
    return [process for process in children if "CoarseGrainedExecutorBackend" in _command_line(process)]


def _command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def main(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    killer = Killer(folder, settings["points"], settings["seed"])
    session = build_session(settings["master"], **settings["spark"])
    # What Spark says of itself is searched for the key, so it says all that it does in production
    # and more.
    session.sparkContext.setLogLevel("INFO")
    key: Any = str(folder / "noise.key")
    if settings["hand_over_key"]:
        key = evertally.NoiseKey.from_file(key)
    persons: dict[str, Any] = {"max_steps": 3, "min_gap": 2} if settings["has_persons"] else {}
    plan = evertally.plan(settings["steps"], epsilon=1.0, delta=1e-6, keys=settings["keys"], **persons)
    person = "person" if persons else None
    writer = writer_into(folder, count_folder(session, folder, person=person, plan=plan, noise_key=key))
    killer.watch(session)
    writer.foreachBatch(WatchedSink(str(folder / "releases"), killer)).start().awaitTermination()
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
