"""Settings files are read as java.util.Properties reads them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from py4j.java_gateway import JavaGateway

from audit.java import find_java
from audit.spark_home import class_path
from emulator.settings.properties import NotProperties, read_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = sorted((Path(__file__).parents[1] / "emulator" / "settings" / "files").iterdir())
PIECES = (
    *("a", "bc", ".", "=", ":", " ", "\t", "\f", "#", "!", "\\", "\n", "\r", "\r\n", "é", "中"),
    *("\\\n", "\\u0041", "\\t", "\\\\", "\\:", "x=y", "\n  ", "\n#", "\n!"),
)


@pytest.fixture(scope="module")
def java() -> Iterator[Callable[[str], dict[str, str] | None]]:
    """The entries that java.util.Properties reads from a text; None: it refuses the text."""
    java = JavaGateway.launch_gateway(
        classpath=class_path({}), java_path=str(find_java(os.environ).command), die_on_exit=True
    )
    jvm = java.jvm

    def load(text: str) -> dict[str, str] | None:
        properties = jvm.java.util.Properties()
        try:
            properties.load(jvm.java.io.StringReader(text))
        except Exception as error:
            assert "Malformed" in str(error), error
            return None
        return {str(name): str(properties.getProperty(name)) for name in properties.stringPropertyNames()}

    yield load
    java.shutdown()


def ours(text: str) -> dict[str, str] | None:
    """The last of each name, as Java keeps it."""
    try:
        return {entry.name: entry.value for entry in read_properties(text.encode())}
    except NotProperties:
        return None


@pytest.mark.spark
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_of_real_life(java: Callable[[str], dict[str, str] | None], file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert ours(text) == java(text) != {}


@pytest.mark.spark
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text(java: Callable[[str], dict[str, str] | None], text: str) -> None:
    """Any text but lines of nothing but a backslash.

    Java takes these for an entry without a name, or not, by the text that follows.
    """
    assume(re.search(r"(?:\A|[\n\r])[ \t\f]*\\(?:[\n\r]|\Z)", text) is None)
    assert ours(text) == java(text)
