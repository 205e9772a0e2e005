"""Checks of a release: each names its problems; equal builds; links of the index page."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from trove_classifiers import classifiers

from hatch_build import absolute_links
from verification.release import release_checks as subject
from verification.release.distributions import PLUGIN, copied, differences

ROOT = Path(__file__).parents[2]
METADATA = """Metadata-Version: 2.4
Name: kafka-faultline
Version: 1.0
Classifier: Typing :: Typed
Project-URL: Source, https://example.org/f
Requires-Dist: trio>=0.35
Description-Content-Type: text/markdown

# faultline

[docs](https://example.org/f/docs)

```
[no](link)
```
"""
PROJECT: dict[str, Any] = {
    "name": "kafka-faultline", "version": "1.0", "license": "Apache-2.0", "requires-python": ">=3.11",
    "classifiers": ["Programming Language :: Python :: 3.11"], "urls": {"Source": "https://example.org/f"},
}  # fmt: skip
PLUGIN_PROJECT = PROJECT | {"name": "pytest-faultline", "dependencies": ["kafka-faultline[pytest]==1.0"]}
FILES = {
    "emulator/__init__.py", "emulator/data/scenarios/a.yaml", "emulator/data/golden/a.json",
    "emulator/data/compose/a.yml", "emulator/data/constraints.txt", "emulator/data/pyproject.toml",
    "k-1.0.dist-info/licenses/LICENSE",
}  # fmt: skip


def project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def test_the_two_distributions_belong_together() -> None:
    assert list(subject.plugin_problems(project(ROOT), project(ROOT / PLUGIN))) == []
    assert (ROOT / PLUGIN / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_requirements_include_the_tested_versions() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert list(subject.requirement_problems(project(ROOT)["dependencies"], constraints)) == []
    found = list(subject.requirement_problems(["trio>=99", "nothing-such"], constraints))
    assert [line.partition(":")[0] for line in found] == ["requirement trio>=99", "requirement nothing-such"]


def test_versions(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {}, ""),
        ({"version": "one"}, {}, "version one: not a version"),
        ({"version": "1.0.dev0"}, {}, "version 1.0.dev0: in development"),
        ({"version": "0.9"}, {}, "version 0.9: the tag v0.9 exists"),
        ({}, {"version": "1.1"}, "pytest-faultline: version is 1.1; set 1.0"),
        ({}, {"dependencies": ["kafka-faultline"]}, "pytest-faultline: requires kafka-faultline; set kaf"),
        ({}, {"classifiers": []}, "pytest-faultline: classifiers of Python differ"),
        ({}, {"urls": {"Source": "https://example.org"}}, "pytest-faultline: Source is https://example.org; set "),
    ]
    for change, of_plugin, wanted in cases:
        with subtests.test(wanted):
            found = list(subject.version_problems(PROJECT | change, PLUGIN_PROJECT | of_plugin, {"v0.9"}))
            assert found[0].startswith(wanted) if wanted else not found


def test_changelog_and_repository(subtests: pytest.Subtests) -> None:
    source = "https://example.org/a/f"
    cases = [
        (subject.changelog_problems("# Changelog\n\n## 1.0 (2026-11-30)\n\n## 0.9\n", "1.0"), []),
        (subject.changelog_problems("## Unreleased\n", "1.0"), ["CHANGELOG.md: the first section is 'Unreleased'"]),
        (subject.changelog_problems("# Changelog\n", "1.0"), ["CHANGELOG.md: has no section"]),
        (subject.source_problems(source, "git@example.org:a/f.git"), []),
        (subject.source_problems(source, "https://example.org/A/F/"), []),
        (subject.source_problems(source, "https://example.org/b/f"), [f"Source = {source}, but git's origin is"]),
        (subject.source_problems(source, ""), ["git has no remote `origin`"]),
    ]
    for problems, wanted in cases:
        with subtests.test(str(wanted)):
            found = list(problems)
            assert len(found) == len(wanted)
            assert all(line.startswith(begin) for line, begin in zip(found, wanted, strict=True))


def test_metadata(subtests: pytest.Subtests) -> None:
    cases = [
        ("", "", []),
        ("Typing :: Typed", "Typing :: Types", ["classifier 'Typing :: Types': unknown"]),
        ("https://example.org/f/docs", "docs/a.md", ["long description: link docs/a.md leads nowhere"]),
        ("text/markdown", "text/plain", ["long description: is not README.md"]),
        ("trio>=0.35", "trio @ https://example.org/t.whl", ["requirement trio: a package index refuses"]),
        ("Source", "Home", ["metadata: has no URL Source"]),
        ("Version: 1.0", "Version: one", ["metadata: "]),
    ]
    for before, after, wanted in cases:
        with subtests.test(str(wanted)):
            found = list(subject.metadata_problems(METADATA.replace(before, after).encode(), classifiers))
            assert len(found) == len(wanted)
            assert all(line.startswith(begin) for line, begin in zip(found, wanted, strict=True))


def test_contents(subtests: pytest.Subtests) -> None:
    cases: list[tuple[set[str], set[str], list[str]]] = [
        (set(), set(), []),
        ({"tests/a.py"}, set(), ["wheel: has tests, which is no package of it"]),
        (set(), {"emulator/data/compose/a.yml"}, ["wheel: lacks emulator/data/compose/"]),
        ({"emulator/data/notes.md"}, set(), ["wheel: has emulator/data/notes.md, which no command reads"]),
        (set(), {"k-1.0.dist-info/licenses/LICENSE"}, ["wheel: lacks LICENSE"]),
        ({"emulator/__pycache__/a.pyc"}, set(), ["wheel: has emulator/__pycache__/a.pyc"]),
    ]
    for more, fewer, wanted in cases:
        with subtests.test(str(wanted)):
            assert list(subject.wheel_problems(FILES - fewer | more, {"emulator"})) == wanted
    assert list(subject.wheel_problems(FILES, {"emulator", "audit"})) == ["wheel: lacks the package audit"]


def test_a_copy_has_what_git_would_add(tmp_path: Path) -> None:
    copy = copied(ROOT / PLUGIN, tmp_path / "copy")
    assert {path.name for path in copy.iterdir()} == {"LICENSE", "README.md", "pyproject.toml"}
    assert (copy / "README.md").stat().st_mtime < (ROOT / "README.md").stat().st_mtime


def test_builds_that_differ_are_named(tmp_path: Path) -> None:
    texts = {"first": {"a": "1", "b": "1"}, "second": {"a": "1", "b": "2", "c": "1"}}
    for folder, files in texts.items():
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)
    first, second = (sorted((tmp_path / folder).iterdir()) for folder in texts)
    assert differences(first, second) == ["c: of one build alone", "b: two builds differ"]
    assert differences(first, first) == []


def test_links_of_the_readme_are_absolute() -> None:
    text = "![A](docs/a.svg) [b](docs/b.md#c) [d](#e) [f](https://example.org)"
    at = "https://example.org/f"
    assert absolute_links(text, at, "1.2") == (
        f"![A]({at}/raw/v1.2/docs/a.svg) [b]({at}/blob/v1.2/docs/b.md#c) [d](#e) [f](https://example.org)"
    )
    assert absolute_links("[b](b.md)", at, "1.3.dev0") == f"[b]({at}/blob/main/b.md)"
