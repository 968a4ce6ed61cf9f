"""Noise for vectors, a slice of the coordinates on each executor.

**Definition.** Slice i of p computes the noise of its own coordinates from the key, step by step.
Executors exchange nothing.

**Guarantee.** Side by side the slices are, bit for bit, the rows of ``NoiseStream`` for the whole
plan. Raw noise is as sensitive as the data: anyone who holds it can subtract it from the release.

**Cost.** ``Plan.bytes_per_coordinate`` for each coordinate of a slice. Steps before the first
requested step are computed and left out.
"""

import os
import pickle
from collections.abc import Iterator
from typing import Any, Literal, Optional, Union

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from evertally import BadParameter, NoiseKey, NoiseStream, Plan, plan as make_plan
from evertally.spark.secret import Secret, secret_of


def noise(
    dim: Union[int, Plan],
    *,
    spark: SparkSession,
    noise_key: Union[NoiseKey, str, "os.PathLike[str]"],
    steps: Optional[range] = None,
    slices: Optional[int] = None,
    dtype: Literal["float64", "float32"] = "float64",
    **choices: Any,
) -> DataFrame:
    """The noise of a plan for vectors, as a table of ``step, first, values``. A row holds the noise
    of the coordinates from ``first`` on. Nothing checks what the noise is added to: it is your
    responsibility to use one noise key for one set of data.

    dim: a plan, or a dimension with the choices of a plan as keyword arguments (``horizon``,
        ``epsilon``, ``delta``, ...).
    steps: a range of consecutive steps. Defaults to all steps.
    slices: the number of parts into which the coordinates are divided. Defaults to one per core.
        The noise does not depend on it.
    """
    the_plan = (
        dim if isinstance(dim, Plan) else make_plan(choices.pop("horizon", None), dimension=dim, **choices)
    )
    if isinstance(dim, Plan) and choices:
        raise BadParameter("choices are given with a dimension, not with a plan")
    dimension = the_plan.dimension
    if dimension is None:
        raise BadParameter("plan must be one for vectors, got one for totals")
    if steps is None and the_plan.is_unbounded:
        raise BadParameter("steps must be given for an unbounded plan, got nothing")
    if dtype not in ("float64", "float32"):
        raise BadParameter(f"dtype must be float64 or float32, got {dtype!r}")
    steps = range(the_plan.horizon) if steps is None else steps
    if steps.step != 1 or not 0 <= steps.start <= steps.stop <= the_plan.horizon:
        raise BadParameter(
            f"steps must be consecutive and within the {the_plan.horizon} of the plan, got {steps}"
        )
    slices = spark.sparkContext.defaultParallelism if slices is None else slices
    if slices < 1:
        raise BadParameter(f"slices must be at least 1, got {slices}")
    slices = min(slices, dimension)
    secret = secret_of(spark.sparkContext, noise_key)
    number = "double" if dtype == "float64" else "float"
    make = _slices(pickle.dumps(the_plan), secret, dimension, slices, steps, dtype)
    return spark.range(0, slices, 1, slices).mapInArrow(
        make, f"step bigint, first bigint, values array<{number}>"
    )


def _slices(pickled: bytes, secret: Secret, dimension: int, slices: int, steps: range, dtype: Any) -> Any:
    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        the_plan = pickle.loads(pickled)
        for number in (int(number) for batch in batches for number in batch["id"].to_pylist()):
            first, last = (dimension * end // slices for end in (number, number + 1))
            stream = NoiseStream(the_plan, secret.key(), dtype, coordinates=(first, last))
            stream.seek(steps.start)
            for step in steps:
                # The row is passed in one piece: converting it number by number would take longer
                # than computing it.
                values = pa.ListArray.from_arrays(
                    pa.array([0, last - first], pa.int32()), pa.array(stream.next())
                )
                numbers = (pa.array([number], pa.int64()) for number in (step, first))
                yield pa.RecordBatch.from_arrays([*numbers, values], ["step", "first", "values"])

    return make
