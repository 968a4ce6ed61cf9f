"""A noise key serves one input for each name; another input is refused before anything is released.

**Definition.** The name of the noise encodes everything that decides what is counted (``Plan`` and
the definition of the count). Under one key and one name, a finished table has digests of the totals
of its steps, and a streaming query has the id that Spark gives to its checkpoint. Both are recorded
with the other uses of the key: next to its file, or in the driver's memory.

**Guarantee.** The driver compares a finished table with the record before a row is released. Every
task compares the totals of a step with the recorded digests before it releases the step, so a
source that has changed in between is refused too. :class:`~evertally.spark.ReleaseFiles` compares a
streaming query before its first batch is written; a restart has the same checkpoint and is
accepted.

**Cost.** A finished table is passed to Python twice, and Spark caches its totals in between.
Digests take 16 bytes for each step in which a shard has totals.
"""

import hashlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame

from evertally import BadState, KeyReused, NoiseKey, Plan
from evertally._native import _CellDigests
from evertally.spark.shards import Job, Integers

# The metadata field of released columns that names their record.
METADATA = "evertally"
QUERY_ID = "sql.streaming.queryId"

CHANGED = (
    "the table has changed since its totals were recorded: the same noise on other totals would reveal "
    "their difference. Nothing of this step is released. "
    "Call private_counts again, with a new noise key if releases of the first call were seen"
)
ANOTHER_QUERY = (
    "the noise key serves the same count under another checkpoint: which events are late would differ, "
    "and the same noise on both would reveal the difference. Resume that "
    "checkpoint, or use a new noise key, a new directory of releases and a separate budget"
)

Words = npt.NDArray[np.uint64]


class Digester:
    """Digests of the totals of a shard, per step."""

    def __init__(self, job: Job, names: Optional[Sequence[str]]) -> None:
        self._cells = _CellDigests(job.secret.key(), [""] if names is None else list(names))

    def digest(self, first: int, cells: Integers) -> tuple[Integers, Words]:
        """The steps that have totals, and a pair of words for each of them."""
        words = self._cells.digest(cells).reshape(-1, 2)
        places = np.flatnonzero(words.any(axis=1))
        return first + places, words[places]


@dataclass(frozen=True)
class RecordedDigests:
    """The digests that were recorded, by shard."""

    shards: dict[int, tuple[Integers, Words]]

    @classmethod
    def collected(cls, digests: DataFrame) -> "RecordedDigests":
        """Gathers rows of (shard, steps, words), in the order of steps within a shard."""
        parts: dict[int, list[tuple[Integers, Words]]] = {}
        for shard, steps, words in digests.collect():
            if steps:
                part = np.frombuffer(steps, np.int64), np.frombuffer(words, np.uint64).reshape(-1, 2)
                parts.setdefault(shard, []).append(part)
        shards = {}
        for shard, found in parts.items():
            steps, words = zip(*sorted(found, key=lambda part: int(part[0][0])))
            shards[shard] = np.concatenate(steps), np.concatenate(words)
        return cls(shards)

    def admit(self, key: NoiseKey, plan: Plan, until: int) -> None:
        """Records the digests of the steps before `until` over all shards, or refuses different ones."""
        words = np.zeros((until, 2), dtype=np.uint64)
        for steps, found in self.shards.values():
            words[steps] += found
        key._admit_steps(plan, words.tobytes())

    def check(self, shard: int, first: int, last: int, found: tuple[Integers, Words]) -> None:
        """Refuses totals of the steps from `first` to before `last` that differ from the recorded ones."""
        nothing = (np.zeros(0, np.int64), np.zeros((0, 2), np.uint64))
        steps, words = self.shards.get(shard, nothing)
        start, end = np.searchsorted(steps, [first, last])
        if not (np.array_equal(steps[start:end], found[0]) and np.array_equal(words[start:end], found[1])):
            raise BadState(CHANGED)


@dataclass(frozen=True)
class QueryRecord:
    """The place on the driver where a streaming query is recorded."""

    key: NoiseKey
    plan: Plan

    @property
    def token(self) -> str:
        """The value in the metadata of released columns. It is public, and equal for the same count
        under the same key.
        """
        return hashlib.blake2b(self.plan.fingerprint + self.key.tag, digest_size=16).hexdigest()


_records: dict[str, QueryRecord] = {}


def metadata_of(key: Optional[NoiseKey], plan: Plan) -> dict[str, Any]:
    """The metadata of released columns, through which the sink finds the record of their key."""
    if key is None:
        return {}
    record = QueryRecord(key, plan)
    _records[record.token] = record
    return {METADATA: record.token}


def admit_query(batch: DataFrame) -> None:
    """Records the query of a batch of releases. Raises `KeyReused` if the noise key has served the
    same count under another checkpoint.

    :class:`~evertally.spark.ReleaseFiles` calls this for every batch. Your own function for
    ``foreachBatch`` must call it before it shows anything.
    """
    query = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
    fields = batch.schema.fields
    for token in sorted({field.metadata[METADATA] for field in fields if METADATA in field.metadata}):
        if query is None or token not in _records:
            raise BadState(
                "releases of a stream must be shown by the query that makes them: hand ReleaseFiles, "
                "or a function that calls admit_query, to foreachBatch"
            )
        record = _records[token]
        try:
            record.key._admit_job(record.plan, query.encode())
        except KeyReused:
            raise KeyReused(ANOTHER_QUERY) from None


def forget_with(released: DataFrame, kept: DataFrame) -> None:
    """Lets Spark drop the cached totals when their releases are no longer reachable."""

    def forget() -> None:
        try:
            kept.unpersist()
        except Exception:
            # The session has ended, and its cache with it.
            pass

    weakref.finalize(released, forget).atexit = False
