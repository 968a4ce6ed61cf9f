"""A streaming query killed at chosen points, started again from its checkpoint, and looked at after
every death.

    python kills.py FOLDER SEED

runs the whole trial, says on standard error how it goes, and writes what came of it to standard
output as JSON. It fails as soon as anything is wrong.

**Definition.** Points of the driver, where it and its virtual machine die at once: `offsets`: Spark
has logged what the batch consists of; `state`: some of the batch's state is written; `sink`: before
the sink begins; `written`: releases lie beside their place; `shown`: they are in their place, and
Spark does not know; `committed`: Spark has noted that the batch is done; `random`: a moment after
its offsets. Points of an executor, where the query must go on by itself: `executor`: while both
have a task; `executor state`: some of the batch's state is written.

**Guarantee.** Whenever a driver has died, each release that lies anywhere is that of one counter of
the true totals, to the bit, in one batch only, and those that could be seen are still there; at the
end none is missing. What an executor's death has left is looked at then too.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

import pyspark
from cluster import Releases, count_by_hand, make_events, write_files
from kill_checks import Found, Wrong, count_shown, faults, find_key, read_releases

import evertally

KINDS = ["offsets", "sink", "state", "written", "shown", "committed", "random"]
KEYS = [f"k{number}" for number in range(9)]
CLUSTER = "local-cluster[2,1,1024]"
# A run that takes longer than this is stuck.
MAX_RUN_SECONDS = 300
# What Spark says of a task that dies with its executor, by whether the end of the connection or the
# cluster's word of the death arrives first.
LOST_TASK = (b" Lost task ", b" failed because while it was being computed, its executor exited")


@dataclass
class Point:
    """Where to strike: not before this batch, and the first one after it that still comes to such a point."""

    kind: str
    batch: int
    # Whether the executors of a dead driver are left to find out by themselves.
    leaves_executors: bool = False
    # How long after its batch began a random moment may be.
    within: float = 3.0


@dataclass
class Trial:
    """A query with its events, and what was seen of it."""

    folder: Path
    master: str
    seed: int
    files: int
    hand_over_key: bool
    # Whole persons are protected: another stateful operator, in front of the one that releases.
    has_persons: bool = False
    steps: int = 0
    expected: Releases = field(default_factory=dict)
    seen: Found = field(default_factory=dict)
    starts: int = 0
    compared: int = 0
    tasks_lost: int = 0
    struck: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Makes the key, the events and what one machine releases of them."""
        self.steps = 2 * self.files
        self.folder.mkdir(parents=True)
        key_file = self.folder / "noise.key"
        evertally.NoiseKey.generate().to_file(key_file)
        self._key = evertally.NoiseKey.from_file(key_file).to_bytes()
        events = make_events(200 * self.files, len(KEYS), self.steps, self.seed)
        write_files(events, self.folder / "events", self.files)
        bound: dict[str, Any] = {"max_steps": 3, "min_gap": 2} if self.has_persons else {}
        plan = evertally.plan(self.steps, epsilon=1.0, delta=1e-6, keys=[*KEYS, "other"], **bound)
        person = "person" if self.has_persons else None
        self.expected = count_by_hand(events, plan, key_file, key="region", person=person)
        if len(self.expected) != self.steps * (len(KEYS) + 1):
            raise Wrong("one counter does not release every step of every key")
        for name in ("logs", "event-logs", "local"):
            (self.folder / name).mkdir()
        self._make_home()

    def run(self, points: list[Point]) -> bool:
        """Starts the query, which is to die at the last of the points unless that is one of an
        executor, and looks at what it left.

        Says whether the query has ended.
        """
        points = self._aimed(points)
        self.starts += 1
        self._write_settings(points)
        log = self.folder / "logs" / f"{self.starts:03}.txt"
        environment = {**os.environ, "SPARK_HOME": str(self.folder / "home")}
        with open(log, "wb") as output:
            # A session of its own: its process group is the driver, its virtual machine and their
            # executors, and nothing else.
            process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("kill_worker.py")), str(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            try:
                code = process.wait(MAX_RUN_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise Wrong(f"the query does not go on by itself; its log is {log}") from None
        self._note_struck(points, code, log)
        said = log.read_bytes()
        self.tasks_lost += sum(map(said.count, LOST_TASK))
        self._look(is_finished=code == 0)
        return code == 0

    def next_batch(self) -> int:
        """The first batch that Spark has not noted as done."""
        return 1 + _last(self.folder / "checkpoint" / "commits")

    def _aimed(self, points: list[Point]) -> list[Point]:
        """The points at the first batches that can come to them after what was done already, one
        after the other.
        """
        aimed: list[Point] = []
        earliest = self.next_batch()
        for point in points:
            batch = max(point.batch, earliest)
            if point.kind == "offsets":
                batch = max(batch, 1 + _last(self.folder / "checkpoint" / "offsets"))
            while point.kind == "written" and (self.folder / "releases" / f"batch={batch}").exists():
                batch += 1
            aimed.append(replace(point, batch=batch))
            earliest = batch + 1
        return aimed

    def _note_struck(self, points: list[Point], code: int, log: Path) -> None:
        path = self.folder / "struck.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        new = lines[len(self.struck) :]
        self.struck = lines
        if code == 0:
            if any(not point["kind"].startswith("executor") for point in new):
                raise Wrong("the query has survived the death of its driver")
        elif code != -signal.SIGKILL or not new or new[-1]["kind"] != points[-1].kind:
            raise Wrong(f"the query has ended by itself with {code}; its log is {log}")

    def _look(self, is_finished: bool) -> None:
        found = read_releases(self.folder / "releases")
        wrong = faults(found, self.expected, self.seen, is_finished)
        if wrong:
            raise Wrong(f"{len(wrong)} faults in {self.folder}: " + "; ".join(wrong[:5]))
        self.seen = found
        self.compared += sum(len(rows) for rows in found.values())
        searched = [self.folder / name for name in ("checkpoint", "releases", "logs", "event-logs", "home/work")]
        place = find_key(self._key, searched)
        if place is not None:
            raise Wrong(f"the noise key is in {place}")

    def _write_settings(self, points: list[Point]) -> None:
        spark = {
            # Executors are to be found dead soon, and one that dies often is replaced as often.
            "spark.deploy.maxExecutorRetries": -1,
            # What runs is asked for, and must be said at once.
            "spark.ui.liveUpdate.period": 0,
            "spark.local.dir": self.folder / "local",
            # What the pages of Spark show is read from these.
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": (self.folder / "event-logs").as_uri(),
        }
        settings = {
            "master": self.master,
            "seed": self.seed + self.starts,
            "hand_over_key": self.hand_over_key,
            "has_persons": self.has_persons,
            "steps": self.steps,
            "keys": [*KEYS, "other"],
            "points": [vars(point) for point in points],
            "spark": {name: str(value) for name, value in spark.items()},
        }
        (self.folder / "settings.json").write_text(json.dumps(settings))

    def _make_home(self) -> None:
        """Spark as it is installed, with another place for what executors write."""
        home = self.folder / "home"
        (home / "work").mkdir(parents=True)
        for path in Path(pyspark.__file__).parent.iterdir():
            if path.name != "work":
                (home / path.name).symlink_to(path)


def _last(folder: Path) -> int:
    """The number of the last batch of a log of Spark's."""
    return max((int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit()), default=-1)


def say(trial: Trial, started: float, what: str) -> None:
    counted = f"{count_shown(trial.seen)} of {len(trial.expected)} releases shown, all as they must be"
    print(f"{time.monotonic() - started:6.0f} s  {trial.master}: {what}; {counted}", file=sys.stderr, flush=True)


def kill_all(trial: Trial, points: list[list[Point]], started: float) -> None:
    """Strikes at all of the points, each list of them in one run, and lets the query end."""
    for at_once in points:
        before = len(trial.struck)
        ended = trial.run(at_once)
        for point in trial.struck[before:]:
            say(trial, started, f"{point['kind']}, batch {point['batch']}")
        if ended:
            return
    if not trial.run([]):
        raise Wrong("the query has died by itself")
    say(trial, started, "ended")


def spread(kinds: list[str], files: int, leave_every: Optional[int] = None) -> list[list[Point]]:
    """Points of the driver over all batches from the second on; the first and every few of them
    leave the executors alone.
    """
    return [
        [Point(kind, 1 + number * files // len(kinds), leaves_executors=leave_every is not None and number % leave_every == 0)]
        for number, kind in enumerate(kinds)
    ]


def main(folder: Path, seed: int) -> None:
    started = time.monotonic()
    files, choose = 14, random.Random(seed)
    print(f"seed {seed}", file=sys.stderr)
    cluster = Trial(folder / "cluster", CLUSTER, seed, files, hand_over_key=True, has_persons=True)
    points = spread(choose.sample(KINDS, len(KINDS)), files, leave_every=3)
    for at_once in points[2:]:
        # In the two batches before the one in which the driver dies, executors do.
        batch = at_once[0].batch
        at_once[:0] = [Point("executor", batch - 2), Point("executor state", batch - 1)]
    kill_all(cluster, points, started)
    local = Trial(folder / "local", "local[2]", seed, files, hand_over_key=False, has_persons=True)
    kill_all(local, spread([*choose.sample(KINDS, len(KINDS)), *choose.sample(KINDS, 2)], files), started)
    trials = [cluster, local]
    report = {
        "seed": seed,
        "batches": [1 + _last(trial.folder / "checkpoint" / "commits") for trial in trials],
        "points": [{"master": trial.master, **point} for trial in trials for point in trial.struck],
        "starts": sum(trial.starts for trial in trials),
        "tasks_lost": sum(trial.tasks_lost for trial in trials),
        "releases": sum(len(trial.expected) for trial in trials),
        "compared": sum(trial.compared for trial in trials),
        "seconds": time.monotonic() - started,
        "pyspark": pyspark.__version__,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
