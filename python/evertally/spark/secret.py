"""How the noise key comes to the executors.

The key must not be in the plan of a query, in its checkpoint, in a log or on a page of Spark's. So a job holds one of two references, and never the key:

- the path of a file that every executor can read: nothing of the key travels. This is the way for production: a mounted secret.
- a broadcast variable, when a :class:`~evertally.NoiseKey` is given: its bytes go from the driver to the executors beside the plan, which holds the
  number of the variable. Spark keeps broadcast values in memory and in its local directories while the application runs, and where it is killed they stay there;
  ``spark.io.encryption.enabled`` and ``spark.network.crypto.enabled`` encrypt them there and on the way.

What a key was used for is recorded on the driver, once for a whole table or query (:mod:`~evertally.spark.record`). Tasks hold the key without its record: what they count was compared before.
"""

import os
from typing import Any, Optional, Union

from pyspark import SparkContext
from pyspark.core.broadcast import Broadcast, _from_id

from evertally import BadParameter, NoiseKey


class KeyFile:
    """A key that every executor reads from a file of its own."""

    def __init__(self, path: str) -> None:
        self._path = path

    def key(self) -> NoiseKey:
        try:
            return NoiseKey.from_file(self._path)._without_record()
        except OSError as error:
            raise BadParameter(f"the noise key {self._path} cannot be read on this executor: {error}") from None


class BroadcastKey:
    """A key that was handed to the driver."""

    def __init__(self, broadcast: "Broadcast[bytes]") -> None:
        self._broadcast = broadcast

    def key(self) -> NoiseKey:
        return NoiseKey.from_bytes(self._broadcast.value)._without_record()

    def __reduce__(self) -> Any:
        # Reducing the variable is what tells Spark that a task needs it. It is looked up when it is used and not before: the process on the driver in which
        # Spark asks a stateful operator for its state has no broadcast variables.
        _, (number,) = self._broadcast.__reduce__()
        return _ReceivedKey, (number,)


class _ReceivedKey:
    """A broadcast key where it arrives."""

    def __init__(self, number: int) -> None:
        self._number = number

    def key(self) -> NoiseKey:
        return NoiseKey.from_bytes(_from_id(self._number).value)._without_record()


Secret = Union[KeyFile, BroadcastKey, _ReceivedKey]


def secret_of(context: SparkContext, noise_key: Union[NoiseKey, str, "os.PathLike[str]"]) -> Secret:
    """A reference to the key that may be part of a plan."""
    if isinstance(noise_key, NoiseKey):
        return BroadcastKey(context.broadcast(noise_key.to_bytes()))
    if isinstance(noise_key, (str, os.PathLike)):
        return KeyFile(os.fspath(noise_key))
    raise BadParameter(
        f"noise_key must be a NoiseKey, or the path of a key file on every executor, got {type(noise_key).__name__}"
    )


def recorded_key(noise_key: Union[NoiseKey, str, "os.PathLike[str]"]) -> Optional[NoiseKey]:
    """The key with its record, on the driver; None where uses of the key are not recorded, or the driver cannot see the file."""
    if isinstance(noise_key, NoiseKey):
        return noise_key if noise_key._has_record else None
    try:
        return NoiseKey.from_file(noise_key)
    except FileNotFoundError:
        return None
