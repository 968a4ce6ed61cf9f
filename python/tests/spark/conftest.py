"""One Spark session for all tests of a run."""

import os
from collections.abc import Iterator

import pytest
from cluster import build_session
from pyspark.sql import SparkSession

import evertally


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = build_session("local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def binary() -> str:
    return os.environ["EVERTALLY_BINARY"]


@pytest.fixture
def key_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A key for each test: two tests that count different events in the same way would be refused one."""
    path = tmp_path_factory.mktemp("secret") / "noise.key"
    evertally.NoiseKey.generate().to_file(path)
    return str(path)
