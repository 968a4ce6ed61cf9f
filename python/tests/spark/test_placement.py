"""Partitions share the shards evenly."""

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from evertally.spark import events, placement


def test_shards_keep_the_names_under_which_checkpoints_hold_them(spark: SparkSession) -> None:
    assert placement.names(spark, 2) == (2, 0)
    assert placement.names(spark, 12) == (28, 0, 17, 3, 12, 1, 16, 13, 2, 6, 14, 39)


@pytest.mark.parametrize(("shards", "partitions"), [(2, 2), (4, 2), (12, 4), (7, 7)])
def test_every_partition_has_equally_many_shards(spark: SparkSession, shards: int, partitions: int) -> None:
    keys = spark.range(200 * shards).select(F.col("id").cast("string").alias("key"))
    rows = events.in_shards(keys, "key", shards).repartition(partitions, "shard")
    placed = rows.select("shard", F.spark_partition_id().alias("partition")).distinct().collect()
    assert len(placed) == len({row.shard for row in placed}) == shards
    counts = np.bincount([row.partition for row in placed], minlength=partitions)
    assert counts.tolist() == [shards // partitions] * partitions


def test_many_shards_have_names_and_very_many_their_numbers(spark: SparkSession) -> None:
    names = placement.names(spark, placement.MAX_NAMED)
    assert names is not None and len(set(names)) == placement.MAX_NAMED
    table = spark.createDataFrame([(name,) for name in names], "name bigint")
    places = table.select(F.pmod(F.hash("name"), F.lit(placement.MAX_NAMED))).collect()
    assert [row[0] for row in places] == list(range(placement.MAX_NAMED))
    assert placement.names(spark, placement.MAX_NAMED + 1) is None
