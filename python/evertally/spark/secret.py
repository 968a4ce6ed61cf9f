"""How the noise key reaches the executors.

The key must not appear in the plan of a query, in its checkpoint, in a log or in Spark's web
interface. A job therefore holds one of two references, and never the key:

- the path of a file that every executor can read, such as a mounted secret. The key is never sent.
  Use this in production.
- a broadcast variable, if a :class:`~evertally.NoiseKey` is given. The driver sends its bytes to
  the executors separately from the plan, which holds only the number of the variable. Spark keeps
  broadcast values in memory and in its local directories while the application runs; after a kill
  they remain there. ``spark.io.encryption.enabled`` and ``spark.network.crypto.enabled`` encrypt
  them on disk and in transit.

The uses of a key are recorded on the driver, once per table or query
(:mod:`~evertally.spark.record`). Tasks hold the key without its record, because their input was
compared before.
"""

import os
from typing import Any, Optional, Union

from pyspark import SparkContext
from pyspark.core.broadcast import Broadcast, _from_id

from evertally import BadParameter, NoiseKey


class KeyFile:
    """A key that every executor reads from its own file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def key(self) -> NoiseKey:
        try:
            return NoiseKey.from_file(self._path)._without_record()
        except OSError as error:
            raise BadParameter(
                f"the noise key {self._path} cannot be read on this executor: {error}"
            ) from None


class BroadcastKey:
    """A key that the driver broadcasts."""

    def __init__(self, broadcast: "Broadcast[bytes]") -> None:
        self._broadcast = broadcast

    def key(self) -> NoiseKey:
        return NoiseKey.from_bytes(self._broadcast.value)._without_record()

    def __reduce__(self) -> Any:
        # Reducing the variable tells Spark that a task needs it. It is looked up only when it is
        # used, because the process on the driver in which Spark asks a stateful operator for its
        # state has no broadcast variables.
        _, (number,) = self._broadcast.__reduce__()
        return _ReceivedKey, (number,)


class _ReceivedKey:
    """A broadcast key on an executor."""

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
        "noise_key must be a NoiseKey, or the path of a key file on every executor, got "
        f"{type(noise_key).__name__}"
    )


def recorded_key(noise_key: Union[NoiseKey, str, "os.PathLike[str]"]) -> Optional[NoiseKey]:
    """The key with its record, on the driver. None if uses of the key are not recorded or the
    driver cannot see the file.
    """
    if isinstance(noise_key, NoiseKey):
        return noise_key if noise_key._has_record else None
    try:
        return NoiseKey.from_file(noise_key)
    except FileNotFoundError:
        return None
