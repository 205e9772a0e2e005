"""Pytest plugin in kafka-python's environment: its suite's fixtures use a running broker.

They support such brokers (KAFKA_URI, ZOOKEEPER_URI), and look for Kafka's scripts all the same: KAFKA_ROOT is any
folder. The suite's folder has a copy of the library; the tests must use the installed one, which is imported first
here. Nothing of ours is imported.
"""

from pathlib import Path

import kafka
import pytest


def pytest_configure() -> None:
    if Path.cwd() in Path(kafka.__path__[0]).parents:
        raise pytest.UsageError(f"kafka-python is that of the checkout, {kafka.__path__[0]}, not the installed one")
