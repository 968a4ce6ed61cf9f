"""The names of shards, chosen so that partitions share them evenly.

**Definition.** Spark sends a group of rows to a partition by the hash of the group's name. Shard i of n
is therefore named by the least number from zero whose hash is i modulo n.

**Guarantee.** If the number of partitions divides the number of shards, as it does by default for many
keys, every partition has equally many shards. With the names 0, 1, ... two shards would often share one
of two partitions, and one would wait for the other. The names depend only on the number of shards, so a
restarted query finds its state under them. The names change where shards are computed, never what they
release.

**Cost.** One Spark job over about n log n numbers for each number of shards.

**Source.** Spark's hash partitioning, by its own function ``hash``.
"""

from typing import Optional

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

# Beyond this number, chance spreads shards well enough, and the list of names would be long.
MAX_NAMED = 1024

_names: dict[int, tuple[int, ...]] = {}


def names(session: SparkSession, shards: int) -> Optional[tuple[int, ...]]:
    """The names of shards 0, 1, ..., in this order. None for more than ``MAX_NAMED`` shards, which keep
    their numbers as names."""
    if shards > MAX_NAMED:
        return None
    if shards not in _names:
        _names[shards] = _find_names(session, shards)
    return _names[shards]


def _find_names(session: SparkSession, shards: int) -> tuple[int, ...]:
    tried = 16 * shards
    while True:
        place = F.pmod(F.hash("id"), F.lit(shards)).alias("place")
        numbers = session.range(0, tried, numPartitions=1).select("id", place)
        least = numbers.groupBy("place").agg(F.min("id").alias("name"))
        found = {row.place: row.name for row in least.collect()}
        if len(found) == shards:
            return tuple(found[place] for place in range(shards))
        tried *= 2
