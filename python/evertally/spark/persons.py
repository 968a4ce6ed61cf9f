"""Which events of a person count, if persons are bounded.

**Definition.** A person counts in at most k steps, at least b apart, with one event in each, or once in
each of their first q keys. Events are decided by time, then by content: the rule of the ``admission`` module in `evertally-stream`,
which decides here as it does in `evertally count`.

**Guarantee.** Whether an event counts depends only on the events of the same person. The state
holds persons as keyed hashes and names nobody.
"""

from typing import Optional, Union

import numpy as np
import pandas as pd

from evertally import Admission, BadParameter, BadState
from evertally._native import _Participants
from evertally.spark.shards import ANOTHER, MAX_TOTAL, TOO_LARGE, Job


Persons = Union[_Participants, Admission]


def participants(job: Job, state: Optional[bytes]) -> Persons:
    """The persons who have counted, and their steps, or their keys if they count in several."""
    if job.plan.keys_per_person > 1:
        # Only finished tables have such plans.
        return Admission(job.plan, job.secret.key())
    limits = (job.plan.max_steps, job.plan.min_gap)
    key = job.secret.key()
    if state is None:
        return _Participants(*limits, key)
    try:
        return _Participants.resume(*limits, key, state)
    except BadState as error:
        raise BadState(ANOTHER) from error


def admitted(job: Job, persons: Persons, rows: pd.DataFrame) -> pd.DataFrame:
    """The totals of the events that count. The rows of a person in one step are in order; the steps
    are put in order here.
    """
    rows = rows.sort_values("step", kind="stable")
    steps = rows["step"].to_numpy(np.int64)
    if isinstance(persons, Admission):
        counts, _ = persons.admit(rows["person"], steps, rows["key"])
    else:
        ids = [None if pd.isna(id) else id for id in rows["id"]] if "id" in rows.columns else None
        counts = persons.admit(rows["person"].tolist(), steps, ids)
    rows = rows[counts]
    by = ["step", "key"] if job.is_keyed else ["step"]
    # An overflow of a sum of integers would not be visible. If all rows together do not overflow, no
    # sum does.
    if len(rows) and len(rows) * int(rows["total"].abs().max()) >= MAX_TOTAL:
        magnitudes = rows["total"].abs().astype(np.float64)
        if magnitudes.groupby([rows[name] for name in by], dropna=False).sum().max() >= MAX_TOTAL:
            raise BadParameter(TOO_LARGE)
    return rows.groupby(by, as_index=False, dropna=False, sort=False)["total"].sum()
