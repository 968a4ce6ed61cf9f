"""Noise for vectors, a slice of the coordinates on each executor.

**Definition.** Slice i of p makes the noise of its own coordinates, step after step, from the key: nothing is exchanged between executors.

**Guarantee.** Side by side the slices are the rows of ``NoiseStream`` for the whole plan, to the bit. Raw noise is as sensitive as the data: whoever holds it can take it off
the release.

**Cost.** ``Plan.bytes_per_coordinate`` for each coordinate of a slice. Steps before the first that is asked for are made and left out.
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
    """The noise of a plan for vectors, as a table of ``step, first, values``: in each row, the noise of the coordinates from ``first`` on. Nothing guards what it is added to:
    one noise key for one set of data is yours to keep.

    dim: a plan, or a dimension with the choices of a plan as keyword arguments (``horizon``, ``epsilon``, ``delta``, ...).
    steps: a range of consecutive steps; all of them where nothing is said.
    slices: into how many parts the coordinates are divided; one for each core where nothing is said. The noise does not depend on it.
    """
    the_plan = dim if isinstance(dim, Plan) else make_plan(choices.pop("horizon", None), dimension=dim, **choices)
    if isinstance(dim, Plan) and choices:
        raise BadParameter("a plan has made its choices: give a dimension to make others")
    dimension = the_plan.dimension
    if dimension is None:
        raise BadParameter("plan must be one for vectors, got one for totals")
    if steps is None and the_plan.is_unbounded:
        raise BadParameter("steps must be given for a plan without an end, got nothing")
    if dtype not in ("float64", "float32"):
        raise BadParameter(f"dtype must be float64 or float32, got {dtype!r}")
    steps = range(the_plan.horizon) if steps is None else steps
    if steps.step != 1 or not 0 <= steps.start <= steps.stop <= the_plan.horizon:
        raise BadParameter(f"steps must be consecutive and within the {the_plan.horizon} of the plan, got {steps}")
    slices = spark.sparkContext.defaultParallelism if slices is None else slices
    if slices < 1:
        raise BadParameter(f"slices must be at least 1, got {slices}")
    slices = min(slices, dimension)
    secret = secret_of(spark.sparkContext, noise_key)
    number = "double" if dtype == "float64" else "float"
    make = _slices(pickle.dumps(the_plan), secret, dimension, slices, steps, dtype)
    return spark.range(0, slices, 1, slices).mapInArrow(make, f"step bigint, first bigint, values array<{number}>")


def _slices(pickled: bytes, secret: Secret, dimension: int, slices: int, steps: range, dtype: Any) -> Any:
    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        the_plan = pickle.loads(pickled)
        for number in (int(number) for batch in batches for number in batch["id"].to_pylist()):
            first, last = (dimension * end // slices for end in (number, number + 1))
            stream = NoiseStream(the_plan, secret.key(), dtype, coordinates=(first, last))
            stream.seek(steps.start)
            for step in steps:
                # The row as it is, in one piece: converted number by number it would take longer than it takes to make.
                values = pa.ListArray.from_arrays(pa.array([0, last - first], pa.int32()), pa.array(stream.next()))
                numbers = (pa.array([number], pa.int64()) for number in (step, first))
                yield pa.RecordBatch.from_arrays([*numbers, values], ["step", "first", "values"])

    return make
