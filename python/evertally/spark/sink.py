"""That a batch is shown once, and never differently.

Spark runs a batch again when a query was stopped between writing its output and noting that it was done. ``ReleaseFiles`` is a sink for
``foreachBatch`` that makes this harmless: a batch appears as one directory, whole or not at all, and when it comes again it is compared with what is there. No step
is shown by two batches.
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

WHY = "its source has changed, or its checkpoint was set back or begun anew. Nothing of it is shown, and the query must not go on under this noise key"


class ReleaseFiles:
    """Writes each batch of releases to Parquet files of its own, under ``path/batch=N``; read them all with ``spark.read.parquet(path)``.

    A batch is written beside its place and moved there in one step, so that readers see all of it or nothing. A batch that is there already is made again, because
    Spark needs its state, and compared. A new one must go on after the last step that was shown: a checkpoint that was set back or begun anew would release a step twice, and
    what is late in one run need not be in another. Either way, what differs stops the query and is not shown.

    The first batch of a query is recorded with the noise key: the same count under another checkpoint is refused before it is written, wherever it would be shown. A function of your own
    calls `admit_query` for this; other sinks of Spark do not see it.

    The file system must rename directories atomically, as local disks and HDFS do; on an object store use a table format that commits by batch.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, batch: DataFrame, number: int) -> None:
        session = batch.sparkSession
        # Before anything of it is made: a second checkpoint under one noise key has the same noise.
        admit_query(batch)
        target = f"{self._path}/batch={number}"
        # Names that begin with an underscore are not read.
        beside = f"{self._path}/_writing-{number}-{uuid.uuid4().hex}"
        files, place = _hadoop(session, target)
        # What a driver that died was writing.
        for left in files.globStatus(_hadoop(session, f"{self._path}/_writing-*")[1]) or []:
            files.delete(left.getPath(), True)
        batch.write.parquet(beside)
        _, made = _hadoop(session, beside)
        try:
            written = session.read.schema(batch.schema).parquet(beside)
            if files.exists(place):
                shown = session.read.schema(batch.schema).parquet(target)
                if not written.exceptAll(shown).isEmpty() or not shown.exceptAll(written).isEmpty():
                    raise BadState(f"batch {number} has come again with other releases than were shown: {WHY}")
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
        """Notes the last step of a batch before it is shown, unless one of its steps was shown by another; answers with the notes that can go once it is shown."""
        _, folder = _hadoop(session, f"{self._path}/_last-step")
        files.mkdirs(folder)
        notes = [status.getPath() for status in files.listStatus(folder)]
        for note in notes:
            step, by = map(int, note.getName().split("-by-"))
            if by != number and step >= first:
                raise BadState(f"batch {number} begins at step {first}, and step {step} was shown by batch {by}: {WHY}")
        _, own = _hadoop(session, f"{self._path}/_last-step/{last}-by-{number}")
        files.create(own, True).close()
        return [note for note in notes if note.getName() != own.getName()]


class _RowsNotPrivate(StreamingQueryListener):
    """Adds up a number of each batch, by query."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def of(self, query: StreamingQuery) -> int:
        """The rows of a query since this was registered, under its checkpoint."""
        return self._rows.get(query.id, 0)

    def _rows_of(self, progress: Any) -> int:
        raise NotImplementedError

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        name = str(event.progress.id)
        self._rows[name] = self._rows.get(name, 0) + self._rows_of(event.progress)

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass


class LateRowsNotPrivate(_RowsNotPrivate):
    """Counts the rows that came after their step was closed, by query. How many there are is NOT PRIVATE: for the eyes of those who may see the data.

    Register it with ``spark.streams.addListener``. A row is what Spark counts: late events of one partition that belong to one key and step are one row, so that the
    number is zero exactly when no event was late, and otherwise at most that of the events.
    """

    def _rows_of(self, progress: Any) -> int:
        return sum(int(operator.numRowsDroppedByWatermark) for operator in progress.stateOperators)


class UnnamedRowsNotPrivate(_RowsNotPrivate):
    """Counts the rows that were left out because they name no person, by query. How many there are is NOT PRIVATE: for the eyes of those who may see the data.

    Register it with ``spark.streams.addListener``. A batch that Spark runs again is counted again.
    """

    def _rows_of(self, progress: Any) -> int:
        return sum(int(row["rows"]) for name, row in progress.observedMetrics.items() if name.startswith(UNNAMED))


def _hadoop(session: Any, path: str) -> tuple[Any, Any]:
    """The file system of a path, and the path in its words."""
    place = session._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), place
