"""A batch is shown once, and never with different releases.

Spark runs a batch again if a query was stopped after it wrote its output and before it recorded the
batch as done. ``ReleaseFiles`` is a sink for ``foreachBatch`` that makes this harmless. A batch
appears as one directory, completely or not at all. If it comes again, it is compared with the
directory. No step is shown by two batches.
"""

import uuid
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

from evertally import BadState
from evertally.spark.events import UNNAMED
from evertally.spark.record import admit_query

WHY = (
    "its source has changed, or its checkpoint was reset or replaced. Nothing of the batch is shown, and the "
    "query must not continue under this noise key"
)


class ReleaseFiles:
    """Writes each batch of releases to its own Parquet files, under ``path/batch=N``. Read all of
    them with ``spark.read.parquet(path)``.

    A batch is written next to its final directory and renamed in one operation, so readers see all
    of it or nothing. A batch that is already there is computed again, because Spark needs its
    state, and compared. A new batch must start after the last step that was shown: a checkpoint
    that was reset or replaced would release a step twice, and an event that is late in one run may
    not be late in another. In both cases a difference stops the query and is not shown.

    The first batch of a query is recorded with the noise key. The same count under another
    checkpoint is refused before anything is written, in this directory or another. Your own
    function for ``foreachBatch`` must call `admit_query` for this; Spark's other sinks do not.

    The file system must rename directories atomically, as local disks and HDFS do. On an object
    store, use a table format that commits per batch.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, batch: DataFrame, number: int) -> None:
        session = batch.sparkSession
        # Checked first, because a second checkpoint under one noise key has the same noise.
        admit_query(batch)
        target = f"{self._path}/batch={number}"
        # Spark does not read names that begin with an underscore.
        beside = f"{self._path}/_writing-{number}-{uuid.uuid4().hex}"
        files, place = _hadoop(session, target)
        # Files that a driver left when it died.
        for left in files.globStatus(_hadoop(session, f"{self._path}/_writing-*")[1]) or []:
            files.delete(left.getPath(), True)
        batch.write.parquet(beside)
        _, made = _hadoop(session, beside)
        try:
            written = session.read.schema(batch.schema).parquet(beside)
            if files.exists(place):
                shown = session.read.schema(batch.schema).parquet(target)
                if not written.exceptAll(shown).isEmpty() or not shown.exceptAll(written).isEmpty():
                    raise BadState(
                        f"batch {number} has come again with other releases than were shown: {WHY}"
                    )
                return
            ends = written.agg(F.min("step"), F.max("step")).first()
            if ends is None or ends[0] is None:
                return
            earlier = self._note_steps(session, files, number, *ends)
            if not files.rename(made, place):
                raise BadState(f"batch {number} could not be moved to its place")
            for note in earlier:
                files.delete(note, False)
        finally:
            files.delete(made, True)

    def _note_steps(self, session: SparkSession, files: Any, number: int, first: int, last: int) -> list[Any]:
        """Notes the last step of a batch before it is shown, and refuses a batch with a step that
        another batch has shown. Returns the notes to delete once the batch is shown.
        """
        _, folder = _hadoop(session, f"{self._path}/_last-step")
        files.mkdirs(folder)
        notes = [status.getPath() for status in files.listStatus(folder)]
        for note in notes:
            step, by = map(int, note.getName().split("-by-"))
            if by != number and step >= first:
                raise BadState(
                    f"batch {number} begins at step {first}, and step {step} was shown by batch {by}: {WHY}"
                )
        _, own = _hadoop(session, f"{self._path}/_last-step/{last}-by-{number}")
        files.create(own, True).close()
        return [note for note in notes if note.getName() != own.getName()]


class _RowsNotPrivate(StreamingQueryListener):
    """Adds up a number of rows per query, over its batches."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def of(self, query: StreamingQuery) -> int:
        """The rows of a query, by its checkpoint, since the listener was registered."""
        return self._rows.get(query.id, 0)

    def _rows_of(self, progress: Any) -> int:
        raise NotImplementedError

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        name = str(event.progress.id)
        self._rows[name] = self._rows.get(name, 0) + self._rows_of(event.progress)

    def onQueryTerminated(self, event: Any) -> None:
        pass


class LateRowsNotPrivate(_RowsNotPrivate):
    """Counts, per query, the rows that came after their step was closed. The number is NOT PRIVATE:
    show it only to people who may see the data.

    Register it with ``spark.streams.addListener``. Spark counts the late events of one partition,
    key and step as one row. The number is therefore zero exactly if no event was late, and
    otherwise at most the number of late events.
    """

    def _rows_of(self, progress: Any) -> int:
        return sum(int(operator.numRowsDroppedByWatermark) for operator in progress.stateOperators)


class UnnamedRowsNotPrivate(_RowsNotPrivate):
    """Counts, per query, the rows that were left out because they name no person. The number is NOT
    PRIVATE: show it only to people who may see the data.

    Register it with ``spark.streams.addListener``. A batch that Spark runs again is counted again.
    """

    def _rows_of(self, progress: Any) -> int:
        return sum(
            int(row["rows"]) for name, row in progress.observedMetrics.items() if name.startswith(UNNAMED)
        )


def _hadoop(session: Any, path: str) -> tuple[Any, Any]:
    """The file system of a path, and the path as a Hadoop object."""
    place = session._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), place
