"""That a batch is shown once, and never differently.

Spark runs a batch again when a query was stopped between writing its output and noting that it was done. ``ReleaseFiles`` is a sink for
``foreachBatch`` that makes this harmless: a batch appears as one directory, whole or not at all, and when it comes again it is compared with what is there.
"""

import uuid
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.listener import StreamingQueryListener

from evertally import BadState


class ReleaseFiles:
    """Writes each batch of releases to Parquet files of its own, under ``path/batch=N``; read them all with ``spark.read.parquet(path)``.

    A batch is written beside its place and moved there in one step, so that readers see all of it or nothing. A batch that is there already is made again, because
    Spark needs its state, and compared: releases that differ from those shown before stop the query and are not shown. The file system must rename directories
    atomically, as local disks and HDFS do; on an object store use a table format that commits by batch.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, batch: DataFrame, number: int) -> None:
        session = batch.sparkSession
        target = f"{self._path}/batch={number}"
        # Names that begin with an underscore are not read.
        beside = f"{self._path}/_writing-{number}-{uuid.uuid4().hex}"
        batch.write.parquet(beside)
        files, place = _hadoop(session, target)
        _, made = _hadoop(session, beside)
        try:
            written = session.read.schema(batch.schema).parquet(beside)
            if files.exists(place):
                shown = session.read.schema(batch.schema).parquet(target)
                if not written.exceptAll(shown).isEmpty() or not shown.exceptAll(written).isEmpty():
                    raise BadState(
                        f"batch {number} has come again with other releases than were shown: its source has changed, or its checkpoint was set back. "
                        "Nothing of it is shown, and the query must not go on"
                    )
            elif not written.isEmpty() and not files.rename(made, place):
                raise BadState(f"batch {number} could not be moved to its place")
        finally:
            files.delete(made, True)


class LateRowsNotPrivate(StreamingQueryListener):
    """Counts the rows that came after their step was closed. How many there are is NOT PRIVATE: for the eyes of those who may see the data.

    Register it with ``spark.streams.addListener``. A row is what Spark counts: late events of one partition that belong to one key and step are one row, so that the
    number is zero exactly when no event was late, and otherwise at most that of the events.
    """

    def __init__(self) -> None:
        self.count = 0

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        self.count += sum(int(operator.numRowsDroppedByWatermark) for operator in event.progress.stateOperators)

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass


def _hadoop(session: Any, path: str) -> tuple[Any, Any]:
    """The file system of a path, and the path in its words."""
    place = session._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), place
