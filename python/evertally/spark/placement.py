"""What shards are called, so that partitions share them evenly.

**Definition.** Spark sends a group of rows to the partition that the hash of its name says. Shard i of n is therefore called by the least whole number whose hash is i modulo n.

**Guarantee.** Where the number of partitions divides that of shards, as it does by default for many keys, every partition has equally many shards; numbered from zero, two
shards would as often as not share one of two partitions and wait for each other. Names depend on the number of shards alone, so that a query finds its state under them when it is
started again. Were Spark to hash otherwise, shards would be spread less evenly and release the same.

**Cost.** About n log n hashes, once a query.

**Source.** Spark's hash partitioning: Murmur3 of 32 bits with the seed 42.
"""

import functools
from typing import Optional

import numpy as np
import numpy.typing as npt

SEED = 42

Bits = npt.NDArray[np.uint64]


# Beyond this many, chance spreads shards well enough, and a list of names would be long.
MOST_NAMED = 1024


@functools.lru_cache(maxsize=8)
def names(shards: int) -> Optional[tuple[int, ...]]:
    """The names of shards 0, 1, ..., in their order; None where there are so many that they are called by their numbers."""
    if shards > MOST_NAMED:
        return None
    tried = 16 * shards
    while True:
        places = spark_hash(np.arange(tried, dtype=np.uint64)) % shards
        found, first = np.unique(places, return_index=True)
        if len(found) == shards:
            return tuple(int(name) for name in first)
        tried *= 2


def spark_hash(numbers: Bits) -> npt.NDArray[np.int64]:
    """What Spark's ``hash`` is of a column of type bigint."""
    state = np.full(len(numbers), SEED, dtype=np.uint64)
    for word in (_low(numbers), numbers >> np.uint64(32)):
        word = _times(_rotated(_times(word, 0xCC9E2D51), 15), 0x1B873593)
        state = _low(_times(_rotated(state ^ word, 13), 5) + np.uint64(0xE6546B64))
    # The length in bytes, and a last mixing.
    state = state ^ np.uint64(8)
    state = _times(state ^ (state >> np.uint64(16)), 0x85EBCA6B)
    state = _times(state ^ (state >> np.uint64(13)), 0xC2B2AE35)
    state = state ^ (state >> np.uint64(16))
    return state.astype(np.uint32).view(np.int32).astype(np.int64)


def _low(numbers: Bits) -> Bits:
    return numbers & np.uint64(0xFFFFFFFF)


def _times(numbers: Bits, factor: int) -> Bits:
    return _low(numbers * np.uint64(factor))


def _rotated(numbers: Bits, by: int) -> Bits:
    return _low((numbers << np.uint64(by)) | (numbers >> np.uint64(32 - by)))
