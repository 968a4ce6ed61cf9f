"""Private running totals on a Spark cluster, bit for bit the releases of a single machine.

    plan = evertally.plan(1440, epsilon=1.0, delta=1e-6, keys=["north", "south", "other"])
    releases = private_counts(
        events, time="ts", every="1 minute", start="2026-01-05", key="region", plan=plan,
        noise_key="/etc/evertally/noise.key")
    query = (releases.writeStream.foreachBatch(ReleaseFiles("releases"))
        .option("checkpointLocation", "checkpoint").start())

Spark tracks time, decides which events count and adds them up. The mechanism then takes its steps
inside a stateful operator, many keys at a time. Noise is a function of the key, the name of the
stream and the step, so a task that is run again releases the same values.

| module | responsibility |
|---|---|
| :mod:`~evertally.spark.counts` | ``private_counts``: what its arguments mean |
| :mod:`~evertally.spark.arguments` | their forms, and whether they fit together |
| :mod:`~evertally.spark.events` | which events count, and their steps and amounts, in Spark's expressions |
| :mod:`~evertally.spark.shards` | the steps of some of the keys: the whole mechanism, without Spark |
| :mod:`~evertally.spark.placement` | names of shards, so that partitions share them evenly |
| :mod:`~evertally.spark.found` | the steps of keys that nobody declared, and their releases of a finished table |
| :mod:`~evertally.spark.persons` | which events of a person count |
| :mod:`~evertally.spark.streaming` | when a streaming query closes steps, and its state |
| :mod:`~evertally.spark.backfill` | the releases of a finished table |
| :mod:`~evertally.spark.secret` | how the noise key reaches the executors |
| :mod:`~evertally.spark.record` | a noise key serves one input for each name |
| :mod:`~evertally.spark.sink` | a batch is shown once, and never with different releases |
| :mod:`~evertally.spark.vectors` | noise for vectors, a slice on each executor |

Supported: pyspark 4.1 or later in the classic mode (not Spark Connect), Java 17, pandas before 3;
the package is installed on every executor.
"""

try:
    import google.protobuf as _protobuf  # noqa: F401
    import pandas as _pandas  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        "evertally.spark needs pyspark and what it runs on: pip install 'evertally[spark]'"
    ) from error

from evertally.spark.counts import private_counts
from evertally.spark.record import admit_query
from evertally.spark.sink import LateRowsNotPrivate, ReleaseFiles, UnnamedRowsNotPrivate
from evertally.spark.vectors import noise

__all__ = [
    "LateRowsNotPrivate",
    "ReleaseFiles",
    "UnnamedRowsNotPrivate",
    "admit_query",
    "noise",
    "private_counts",
]
