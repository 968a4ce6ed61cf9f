"""When a streaming query closes steps, and its state.

**Definition.** There are two stateful operators. ``KeyShards`` holds a shard of declared keys under each of
its grouping keys and closes the steps that the watermark has passed. ``FoundShards`` does so for keys
that nobody declared: a shard exists from its first event on. If persons are bounded,
``PersonShards`` decides before it which of their events count.

**Guarantee.** Spark hands over the total of a (step, key) once, in the batch in which the watermark
passes the end of the step. A step is therefore closed with everything that was counted in it; Spark
drops later events. A shard without rows closes its steps by a timer. The releases of a batch are a
function of the state before it and of the rows at its logged offsets, so a batch that is run again
releases the same. State of another plan, noise key, range of time or number of shards is refused
before anything is released.

**Cost.** A batch in which a step is closed reads and writes the state of each shard once; other
batches touch none of it.
"""

import json
import zlib
from collections.abc import Iterator
from typing import Any, Optional, Union

import pandas as pd
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from evertally import BadState
from evertally.spark.found import FoundShard, steps_of
from evertally.spark.persons import admitted, participants
from evertally.spark.shards import ANOTHER, OPEN_OR_CLOSED, Job, Shard, columns, horizon_spent

# Types, because every task would ask Spark to parse a text.
DECLARED = T.StructType().add("identity", "binary").add("names", "binary")
NEXT_STEP = T.StructType().add("step", "long").add("watermark", "long")
COUNTER = T.StructType().add("state", "binary")
PERSONS = T.StructType().add("identity", "binary").add("state", "binary")


class KeyShards(StatefulProcessor):
    """Shards of keys: totals of closed steps in, releases out."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        # Constant values are stored separately from changing ones, and the step from the state,
        # which is read only if a step is due.
        self._declared = handle.getValueState("declared", DECLARED)
        self._next_step = handle.getValueState("next_step", NEXT_STEP)
        self._counter = handle.getValueState("counter", COUNTER)

    def handleInitialState(self, key: Any, initialState: pd.DataFrame, timerValues: Any) -> None:
        names = None
        if self._job.is_keyed:
            # Spark hands over the keys of a large shard in several parts. Every shard has one row
            # without a key, so every shard exists.
            before = self._declared.get()
            names = sorted(
                [*(_unpacked(before[1]) if before is not None else []), *initialState["key"].dropna()]
            )
        self._declared.update((self._job.identity, _packed(names)))
        if names is None or names:
            self._store(Shard(self._job, names), _watermark(timerValues))
            self._wake_at(0, timerValues)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        yield from self._advance(pd.concat(list(rows), ignore_index=True), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        yield from self._advance(None, timerValues)
        self._wake_at(self._job.steps_ended_by(_watermark(timerValues)), timerValues)

    def close(self) -> None:
        pass

    def _advance(self, rows: Optional[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        job, horizon = self._job, self._job.plan.horizon
        watermark = _watermark(timerValues)
        ended = job.steps_ended_by(watermark)
        stored = self._next_step.get()
        if stored is None:
            self._check_identity()
            # The shard has no declared keys, so none of its rows counts.
            return
        next_step, released_at = stored
        if next_step >= horizon:
            # Otherwise a query with a shorter plan would silently release nothing.
            self._check_identity()
        # The batch of the last release must succeed, or that release would be lost. A later batch
        # stops the query.
        if next_step == horizon and ended > horizon and watermark > released_at:
            raise horizon_spent(job)
        if rows is None and next_step >= min(ended, horizon):
            return
        names, counter = self._check_identity(), self._counter.get()
        if counter is None:
            raise BadState(ANOTHER)
        try:
            shard = Shard(job, names, bytes(counter[0]))
        except BadState as error:
            raise BadState(ANOTHER) from error
        yield from shard.close(min(ended, horizon), *columns(rows, job.is_keyed))
        self._store(shard, watermark)

    def _check_identity(self) -> Optional[list[str]]:
        """The keys of the shard, after a check that its state belongs to this query."""
        declared = self._declared.get()
        if declared is None or bytes(declared[0]) != self._job.identity:
            raise BadState(ANOTHER) if declared is None else self._job.refusal(bytes(declared[0]))
        names: Optional[list[str]] = _unpacked(declared[1])
        return names

    def _store(self, shard: Union[Shard, FoundShard], watermark: int) -> None:
        self._next_step.update((shard.next_step, watermark))
        self._counter.update((shard.save(),))

    def _wake_at(self, step: int, timerValues: Any) -> None:
        """Sets a timer for the end of a step, and in any case for a later batch than this one."""
        self._handle.registerTimer(
            max(self._job.end_of(step) // 1000, timerValues.getCurrentWatermarkInMs() + 1)
        )


class FoundShards(KeyShards):
    """Shards of keys that are found: what was added in closed steps in, releases out."""

    def _advance(self, rows: Optional[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        job = self._job
        watermark = _watermark(timerValues)
        ended = job.steps_ended_by(watermark)
        until = min(ended, job.horizon)
        stored, counter = self._next_step.get(), self._counter.get()
        if stored is None:
            self._declared.update((job.identity, _packed(None)))
            self._wake_at(ended, timerValues)
        self._check_identity()
        next_step, released_at = (0, watermark) if stored is None else stored
        if next_step == job.horizon and ended > job.horizon and watermark > released_at:
            raise horizon_spent(job)
        if rows is None and next_step >= until:
            return
        try:
            shard = FoundShard(job, None if counter is None else bytes(counter[0]))
        except BadState as error:
            raise BadState(ANOTHER) from error
        for added in steps_of(iter(() if rows is None else (rows.sort_values("step"),)), job.horizon):
            if not next_step <= added.step < until:
                # Spark hands over each closed step once and completely.
                raise BadState(OPEN_OR_CLOSED)
            yield from shard.close(added.step)
            shard.add(added)
        yield from shard.close(until)
        self._store(shard, watermark)


class PersonShards(StatefulProcessor):
    """Shards of persons: the first event of each (person, step) in, totals of the events that count out."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("persons", PERSONS)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        stored = self._state.get()
        if stored is not None and bytes(stored[0]) != self._job.identity:
            raise self._job.refusal(bytes(stored[0]))
        persons = participants(self._job, None if stored is None else bytes(stored[1]))
        counted = admitted(self._job, persons, pd.concat(list(rows), ignore_index=True))
        self._state.update((self._job.identity, persons.save()))
        # The time of a total is the last instant of its step, which Spark lets pass in the batch
        # that closes the step.
        ends = (counted["step"] + 1) * self._job.every_micros + self._job.start_micros - 1
        yield counted.assign(closed=pd.to_datetime(ends, unit="us", utc=True))

    def close(self) -> None:
        pass


def _packed(names: Optional[list[str]]) -> bytes:
    return zlib.compress(json.dumps(names).encode())


def _unpacked(packed: bytes) -> Any:
    return json.loads(zlib.decompress(bytes(packed)))


def _watermark(timerValues: Any) -> int:
    return int(timerValues.getCurrentWatermarkInMs()) * 1000
