"""Private running totals on a Spark cluster: the releases of one machine, to the bit, wherever they are made.

    plan = evertally.plan(1440, epsilon=1.0, delta=1e-6, keys=["north", "south", "other"])
    releases = private_counts(
        events, time="ts", every="1 minute", start="2026-01-05", key="region", plan=plan, noise_key="/etc/evertally/noise.key")
    query = (releases.writeStream.foreachBatch(ReleaseFiles("releases"))
        .option("checkpointLocation", "checkpoint").start())

Spark watches the clock, bounds what counts and adds it up; the mechanism then steps inside a stateful operator, many keys at a time. Noise is a
function of the key, the name of the stream and the step, so that a task that is tried again releases what it released before.

| module | its one decision |
|---|---|
| :mod:`~evertally.spark.counts` | what a call of ``private_counts`` means, and whether it can be served |
| :mod:`~evertally.spark.events` | which events count, in which step and for how much, in Spark's own expressions |
| :mod:`~evertally.spark.shards` | how some of the keys take their steps: the whole of the mechanism, without Spark |
| :mod:`~evertally.spark.placement` | what shards are called, so that partitions share them evenly |
| :mod:`~evertally.spark.persons` | which events of a person count |
| :mod:`~evertally.spark.streaming` | when steps are closed in a query that goes on, and what it remembers |
| :mod:`~evertally.spark.backfill` | the same for a table that is finished |
| :mod:`~evertally.spark.secret` | how the noise key comes to the executors |
| :mod:`~evertally.spark.record` | that a noise key serves one input for each name |
| :mod:`~evertally.spark.sink` | that a batch is shown once, and never differently |
| :mod:`~evertally.spark.vectors` | noise for vectors, a slice on each executor |

Supported: pyspark 4.1 or later in the classic mode (not Spark Connect), Java 17, pandas before 3; the package is installed on every executor.
"""

try:
    import google.protobuf as _protobuf  # noqa: F401
    import pandas as _pandas  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    raise ImportError("evertally.spark needs pyspark and what it runs on: pip install 'evertally[spark]'") from error

from evertally.spark.counts import private_counts
from evertally.spark.record import admit_query
from evertally.spark.sink import LateRowsNotPrivate, ReleaseFiles, UnnamedRowsNotPrivate
from evertally.spark.vectors import noise

__all__ = ["LateRowsNotPrivate", "ReleaseFiles", "UnnamedRowsNotPrivate", "admit_query", "noise", "private_counts"]
