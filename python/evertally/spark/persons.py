"""Which events of a person count, if persons are bounded.

**Definition.** A person counts in at most k steps, at least b apart, with one event in each, or once in
each of their first q keys. Events are decided by time, then by content: the rule of the ``admission``
module in `evertally-stream`, which decides here as it does in `evertally count`. Where keys are found,
it also decides in which keys a person is new.

**Guarantee.** Whether an event counts depends only on the events of the same person. The state
holds persons, and their keys, as keyed hashes and names nobody.
"""

from typing import Optional, Union

import numpy as np
import pandas as pd

from evertally import Admission, BadParameter, BadState
from evertally._native import _Participants
from evertally.spark.shards import ANOTHER, MAX_TOTAL, TOO_LARGE, Job

Persons = Union[_Participants, Admission]


def participants(job: Job, state: Optional[bytes]) -> Persons:
    """The persons who have counted, and their steps or keys."""
    key = job.secret.key()
    try:
        if job.finds_keys or job.counts_in_several_keys:
            plan = job.plan_of_either_kind
            return Admission(plan, key) if state is None else Admission.resume(plan, key, state)
        limits = (job.plan.max_steps, job.plan.min_gap)
        return _Participants(*limits, key) if state is None else _Participants.resume(*limits, key, state)
    except BadState as error:
        raise BadState(ANOTHER) from error


def counted_schema(job: Job) -> str:
    """The columns of the totals of the events that count."""
    return f"step bigint, {'key string, ' if job.is_keyed else ''}total bigint{', new bigint' if job.finds_keys else ''}"


def admitted(job: Job, persons: Persons, rows: pd.DataFrame) -> pd.DataFrame:
    """The totals of the events that count, and how many persons are new where keys are found. The rows of
    a person in one step are in order, or have a time; the steps are put in order here.
    """
    # Of keys at the same time, the first by name counts first.
    order = ["step", "time", "key"] if job.counts_in_several_keys else ["step"]
    rows = rows.sort_values(order, kind="stable")
    steps = rows["step"].to_numpy(np.int64)
    ids = [None if pd.isna(id) else id for id in rows["id"]] if "id" in rows.columns else None
    if isinstance(persons, Admission):
        counts, new = persons.admit(rows["person"], steps, rows["key"], ids)
        rows = rows.assign(new=new.astype(np.int64))
    else:
        counts = persons.admit(rows["person"].tolist(), steps, ids)
    return added_up(rows[counts], ["step", "key"] if job.is_keyed else ["step"], job.finds_keys)


def added_up(rows: pd.DataFrame, by: list[str], has_new: bool) -> pd.DataFrame:
    """The sums of totals, and of new persons."""
    # An overflow of a sum of integers would not be visible. If all rows together do not overflow, no
    # sum does.
    if len(rows) and len(rows) * int(rows["total"].abs().max()) >= MAX_TOTAL:
        magnitudes = rows["total"].abs().astype(np.float64)
        if magnitudes.groupby([rows[name] for name in by], dropna=False).sum().max() >= MAX_TOTAL:
            raise BadParameter(TOO_LARGE)
    summed = ["total", "new"] if has_new else ["total"]
    return rows.groupby(by, as_index=False, dropna=False, sort=False)[summed].sum()
