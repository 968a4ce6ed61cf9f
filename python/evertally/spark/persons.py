"""Which events of a person count, if persons are bounded.

**Definition.** A person counts in at most k steps, at least b apart, with one event in each. Steps
are decided in order, as if each event had arrived at its time, like `evertally count` with events
in the order of their times.

**Guarantee.** Whether an event counts depends only on the events of the same person. The state
holds persons as keyed hashes and names nobody.
"""

from typing import Optional

import numpy as np
import pandas as pd

from evertally import BadParameter, BadState
from evertally._native import _Participants
from evertally.spark.shards import ANOTHER, TOO_LARGE, Job


def participants(job: Job, state: Optional[bytes]) -> _Participants:
    """The persons who have counted, and their steps."""
    limits = (job.plan.max_steps, job.plan.min_gap)
    key = job.secret.key()
    if state is None:
        return _Participants(*limits, key)
    try:
        return _Participants.resume(*limits, key, state)
    except BadState as error:
        raise BadState(ANOTHER) from error


def admitted(job: Job, persons: _Participants, rows: pd.DataFrame) -> pd.DataFrame:
    """The totals of the events that count. Steps are decided in order, as if each event had arrived
    at its time.
    """
    rows = rows.sort_values("step", kind="stable")
    counts = persons.admit(rows["person"].tolist(), rows["step"].to_numpy(np.int64))
    rows = rows[counts]
    # An overflow of a sum of integers would not be visible.
    if len(rows) and len(rows) * int(rows["total"].abs().max()) >= 1 << 63:
        raise BadParameter(TOO_LARGE)
    by = ["step", "key"] if job.is_keyed else ["step"]
    return rows.groupby(by, as_index=False, dropna=False, sort=False)["total"].sum()
