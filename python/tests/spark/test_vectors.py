"""Noise that executors make slice by slice is the noise of one stream, to the bit."""

from typing import Literal

import numpy as np
import pytest
from pyspark.sql import SparkSession

import evertally
from evertally.spark import noise


@pytest.mark.parametrize(("dtype", "slices"), [("float64", 3), ("float32", 2), ("float64", 1)])
def test_slices_side_by_side_are_the_whole(
    spark: SparkSession, key_file: str, dtype: Literal["float64", "float32"], slices: int
) -> None:
    plan = evertally.plan(20, epsilon=1.0, delta=1e-6, dimension=17)
    rows = noise(plan, spark=spark, noise_key=key_file, steps=range(4, 11), slices=slices, dtype=dtype).collect()
    assert len(rows) == 7 * slices
    found = np.full((7, 17), np.nan, dtype=dtype)
    for row in rows:
        found[row.step - 4, row.first : row.first + len(row["values"])] = row["values"]
    whole = evertally.NoiseStream(plan, evertally.NoiseKey.from_file(key_file), dtype).rows(11)[4:]
    assert found.tobytes() == whole.tobytes()


def test_a_dimension_with_choices_is_a_plan(spark: SparkSession, key_file: str) -> None:
    key = evertally.NoiseKey.from_file(key_file)
    rows = noise(5, spark=spark, noise_key=key, horizon=3, epsilon=2.0, delta=1e-6).orderBy("step", "first").collect()
    plan = evertally.plan(3, epsilon=2.0, delta=1e-6, dimension=5)
    found = np.concatenate([row["values"] for row in rows])
    assert np.array_equal(found.reshape(3, 5), evertally.NoiseStream(plan, key).rows(3))


def test_more_slices_than_coordinates_are_as_many_as_there_are(spark: SparkSession, key_file: str) -> None:
    rows = noise(2, spark=spark, noise_key=key_file, horizon=1, slices=9).collect()
    assert sorted((row.first, len(row["values"])) for row in rows) == [(0, 1), (1, 1)]
