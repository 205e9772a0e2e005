"""Pytest plugin in the environment of aiokafka's suite: its fixtures use a running broker.

The suite starts Kafka in a container of its own, with listeners for TLS and SASL beside the plain one. This plugin
replaces these fixtures by ones with only the plain listener. Nothing of ours is imported.
"""

import os
import types
from pathlib import Path

import aiokafka
import pytest

NOT_THERE = 1
"""A port without a listener."""


@pytest.fixture(scope="session")
def docker() -> None:
    """No container is started."""


@pytest.fixture(scope="session")
def ssl_folder() -> Path:
    return Path("tests/ssl_cert")


@pytest.fixture(scope="session")
def kafka_server() -> types.SimpleNamespace:
    host, _, port = os.environ["FAULTLINE_BOOTSTRAP"].partition(":")
    return types.SimpleNamespace(
        host=host, port=int(port), hosts=[f"{host}:{port}"],
        ssl_port=NOT_THERE, sasl_plain_port=NOT_THERE, sasl_ssl_port=NOT_THERE, container=None,
    )  # fmt: skip


@pytest.fixture(scope="class")
def acl_manager() -> None:
    """There are no ACLs."""


@pytest.fixture(scope="class")
def kafka_config() -> None:
    """There are no SCRAM users."""


@pytest.fixture(scope="class")
def kerberos_utils() -> None:
    """There is no Kerberos."""


EXCHANGED = ("docker", "ssl_folder", "kafka_server", "acl_manager", "kafka_config", "kerberos_utils")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Replace the fixtures before they are collected.

    The suite's conftest has been imported, since the command names its folder.
    """
    if Path.cwd() in Path(aiokafka.__path__[0]).parents:
        raise pytest.UsageError(f"aiokafka is that of the checkout, {aiokafka.__path__[0]}, not the installed one")
    for plugin in config.pluginmanager.get_plugins():
        if Path(getattr(plugin, "__file__", None) or "").name == "conftest.py" and hasattr(plugin, "kafka_server"):
            for name in EXCHANGED:
                setattr(plugin, name, globals()[name])
            return
    raise pytest.UsageError("this is no suite of aiokafka: no conftest.py with the fixture kafka_server")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those that need no broker say nothing of one."""
    kept = [item for item in items if "kafka_server" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
