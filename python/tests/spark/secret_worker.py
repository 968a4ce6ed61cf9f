"""Counts a folder of events on a cluster of two workers, and writes down everything that Spark
shows of it.

Arguments: the folder, and a file with the bytes of the noise key in hexadecimal digits; the key is
handed over as an object.
"""

import sys
import urllib.request
from pathlib import Path

from cluster import build_session, count_folder, run_stream

import evertally

folder = Path(sys.argv[1])
spark = build_session(
    "local-cluster[2,1,1024]",
    **{
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        # So that what it holds can be looked for.
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (folder / "event-log").as_uri(),
        "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
    },
)
spark.sparkContext.setLogLevel("INFO")
plan = evertally.plan(6, epsilon=1.0, delta=1e-6, keys=["k0", "k1", "k2", "other"], max_steps=2)
key = evertally.NoiseKey.from_file(sys.argv[2])
releases = count_folder(spark, folder, person="person", plan=plan, noise_key=key)
shown = [releases._jdf.queryExecution().toString()]
query = run_stream(releases, folder)
shown += [str(query.lastProgress), str(query.recentProgress), str(query.status)]
query.explain(extended=True)
application = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}"
for page in ("environment", "sql?details=true&planDescription=true&length=1000", "stages?details=true", "allexecutors", "jobs"):
    shown.append(urllib.request.urlopen(f"{application}/{page}").read().decode())
(folder / "shown.txt").write_text("\n".join(shown))
(folder / "application.txt").write_text(spark.sparkContext.applicationId)
spark.stop()
