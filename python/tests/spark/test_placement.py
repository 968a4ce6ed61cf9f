"""Partitions share the shards evenly."""

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from evertally.spark import events, placement


def test_the_hash_is_that_of_spark(spark: SparkSession) -> None:
    numbers = [0, 1, 2, 41, 1 << 31, (1 << 32) + 5, (1 << 63) - 1]
    rows = spark.createDataFrame([(number,) for number in numbers], "number bigint")
    expected = [row[0] for row in rows.select(F.hash("number")).collect()]
    assert placement.spark_hash(np.array(numbers, dtype=np.uint64)).tolist() == expected


@pytest.mark.parametrize(("shards", "partitions"), [(2, 2), (4, 2), (12, 4), (7, 7)])
def test_every_partition_has_equally_many_shards(spark: SparkSession, shards: int, partitions: int) -> None:
    keys = spark.range(200 * shards).select(F.col("id").cast("string").alias("key"))
    rows = events.in_shards(keys, "key", shards).repartition(partitions, "shard")
    placed = rows.select("shard", F.spark_partition_id().alias("partition")).distinct().collect()
    assert len(placed) == len({row.shard for row in placed}) == shards
    assert np.bincount([row.partition for row in placed], minlength=partitions).tolist() == [shards // partitions] * partitions


def test_many_shards_have_names_and_very_many_their_numbers() -> None:
    names = placement.names(placement.MOST_NAMED)
    assert names is not None and len(set(names)) == placement.MOST_NAMED
    places = placement.spark_hash(np.array(names, dtype=np.uint64)) % placement.MOST_NAMED
    assert places.tolist() == list(range(placement.MOST_NAMED))
    assert placement.names(placement.MOST_NAMED + 1) is None
