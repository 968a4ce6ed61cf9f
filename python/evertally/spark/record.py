"""That a noise key serves one input for each name: what is refused before anything is released.

**Definition.** The name of the noise holds everything that decides what is counted (``Plan`` and the definition of the count). Under one key and one name, a finished table has
digests of the totals of its steps, and a streaming query has the id that Spark gives to its checkpoint. Both are recorded where the key's uses are: beside its file, or in the
driver's memory.

**Guarantee.** A finished table is compared on the driver before a row of it is released, and every task compares the totals of a step with the recorded ones before it releases the step: a
source that has changed in between is refused as well. A streaming query is compared by :class:`~evertally.spark.ReleaseFiles` before its first batch is written; a restart has the same
checkpoint and goes on.

**Cost.** A finished table is passed to Python twice, and its totals are kept by Spark in between. Digests take 16 bytes for each step in which a shard has totals.
"""

import hashlib
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame

from evertally import BadState, KeyReused, NoiseKey, Plan
from evertally._native import _CellDigests
from evertally.spark.shards import Job, Whole

# Released columns carry under this name which record they belong to.
METADATA = "evertally"
QUERY_ID = "sql.streaming.queryId"

CHANGED = (
    "the table has changed since its totals were recorded: the same noise on other totals would give their difference away. Nothing of this step is released. "
    "Call private_counts again, with a new noise key if releases of the first call were seen"
)
ANOTHER_QUERY = (
    "the noise key serves the same count under another checkpoint: which events are late would differ, and the same noise on both would give the difference away. Go on with that "
    "checkpoint, or take a new noise key, a new directory of releases and a budget of its own"
)

Words = npt.NDArray[np.uint64]


class Digester:
    """Digests what a shard counts, step by step."""

    def __init__(self, job: Job, names: Optional[Sequence[str]]) -> None:
        self._cells = _CellDigests(job.secret.key(), [""] if names is None else list(names))

    def digest(self, first: int, cells: Whole) -> tuple[Whole, Words]:
        """The steps that have totals, and a pair of words for each."""
        words = self._cells.digest(cells).reshape(-1, 2)
        places = np.flatnonzero(words.any(axis=1))
        return first + places, words[places]


@dataclass(frozen=True)
class Recorded:
    """The digests that were recorded, by shard."""

    shards: dict[int, tuple[Whole, Words]]

    @classmethod
    def collected(cls, digests: DataFrame) -> "Recorded":
        """Gathers rows of (shard, steps, words), in the order of steps within a shard."""
        parts: dict[int, list[tuple[Whole, Words]]] = {}
        for shard, steps, words in sorted(((row[0], np.frombuffer(row[1], np.int64), np.frombuffer(row[2], np.uint64)) for row in digests.collect()), key=_place):
            parts.setdefault(shard, []).append((steps, words.reshape(-1, 2)))
        return cls({shard: (np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])) for shard, found in parts.items()})

    def admit(self, key: NoiseKey, plan: Plan, until: int) -> None:
        """Records the digests of the steps before `until`, all shards together, or refuses others."""
        words = np.zeros((until, 2), dtype=np.uint64)
        for steps, found in self.shards.values():
            words[steps] += found
        key._admit_steps(plan, words.tobytes())

    def check(self, shard: int, first: int, last: int, found: tuple[Whole, Words]) -> None:
        """Refuses totals of the steps from `first` to before `last` that are not those that were recorded."""
        nothing = (np.zeros(0, np.int64), np.zeros((0, 2), np.uint64))
        steps, words = self.shards.get(shard, nothing)
        begin, end = np.searchsorted(steps, [first, last])
        if not (np.array_equal(steps[begin:end], found[0]) and np.array_equal(words[begin:end], found[1])):
            raise BadState(CHANGED)


def _place(row: tuple[int, Whole, Words]) -> tuple[int, int]:
    return row[0], int(row[1][0]) if len(row[1]) else -1


@dataclass(frozen=True)
class QueryRecord:
    """Where the query of a streaming table is recorded, on the driver."""

    key: NoiseKey
    plan: Plan

    @property
    def token(self) -> str:
        """What released columns carry; it is public, and the same whenever the same is counted under the same key."""
        return hashlib.blake2b(self.plan.fingerprint + self.key.tag, digest_size=16).hexdigest()


_records: dict[str, QueryRecord] = {}


def metadata_of(key: Optional[NoiseKey], plan: Plan) -> dict[str, Any]:
    """The metadata of released columns by which the sink finds the record of their key."""
    if key is None:
        return {}
    record = QueryRecord(key, plan)
    _records[record.token] = record
    return {METADATA: record.token}


def admit_query(batch: DataFrame) -> None:
    """Records the query that a batch of releases is of, or raises `KeyReused` where the noise key has served the same count under another checkpoint.

    :class:`~evertally.spark.ReleaseFiles` does so for every batch. A function of your own for ``foreachBatch`` calls it first, before it shows anything.
    """
    query = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
    for token in _tokens(batch):
        if query is None or token not in _records:
            raise BadState("releases of a stream are shown by the query that makes them: hand ReleaseFiles, or a function that calls admit_query, to foreachBatch")
        record = _records[token]
        try:
            record.key._admit_job(record.plan, query.encode())
        except KeyReused:
            raise KeyReused(ANOTHER_QUERY) from None


def _tokens(batch: DataFrame) -> Iterator[str]:
    found = {field.metadata[METADATA] for field in batch.schema.fields if METADATA in field.metadata}
    yield from sorted(found)


def forget_with(released: DataFrame, kept: DataFrame) -> None:
    """Lets Spark forget the totals that it keeps when nobody can ask for their releases any more."""

    def forget() -> None:
        try:
            kept.unpersist()
        except Exception:
            # The session has ended, and has forgotten everything.
            pass

    weakref.finalize(released, forget).atexit = False
