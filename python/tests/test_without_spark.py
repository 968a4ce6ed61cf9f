"""The package does without Spark; what needs it says so."""

import importlib
import importlib.util

import pytest


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is not None, reason="pyspark is installed")
def test_the_module_for_spark_says_what_to_install() -> None:
    with pytest.raises(ImportError, match=r"needs pyspark .*pip install 'evertally\[spark\]'"):
        importlib.import_module("evertally.spark")
