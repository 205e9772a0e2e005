"""Names of versions: the ladder, patch releases, and defaults by version."""

import pytest

from emulator.settings.setting_registry import REGISTRY
from protocol.gates import gates_for
from protocol.versions import (
    KRAFT_LADDER,
    LADDER,
    VERSIONS,
    UnknownVersion,
    UnusableProtocolVersion,
    in_force,
    ladder_name,
    rank,
    releases,
    since,
)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("2.6.3", "2.6"),
        ("0.10.2.2", "0.10.2"),
        ("2.0", "2.0.1"),
        ("2.0.0", "2.0.0"),
        ("0.11.0.2", "0.11"),
        ("2.8", "2.8"),
    ],
)
def test_patch_releases_are_their_step_of_the_ladder(given: str, name: str) -> None:
    assert ladder_name(given) == name
    assert gates_for(given).binary == name


@pytest.mark.parametrize("given", ["2.9", "4.5", "4", "", "latest", "2", "0.9"])
def test_an_unknown_version_is_answered_with_the_known_ones(given: str) -> None:
    with pytest.raises(UnknownVersion) as raised:
        gates_for(given)
    assert str(raised.value) == f"unknown Kafka version {given!r}; one of: {', '.join(VERSIONS)}"


def test_the_ladders_are_parts_of_all_versions() -> None:
    assert VERSIONS[: len(LADDER)] == LADDER and LADDER[-1] == "3.9"
    assert VERSIONS[-len(KRAFT_LADDER) :] == KRAFT_LADDER and KRAFT_LADDER[0] == "3.3"
    assert sorted(VERSIONS, key=rank) == list(VERSIONS) == sorted(set(VERSIONS), key=rank)
    assert since("4.1.2", "3.9") and not since("3.9.2", "4.0") and ladder_name("4.4.0") == "4.4"


def test_no_alias_is_a_boundary_in_the_tables_of_settings() -> None:
    """The same in the tables of defaults, which compare with `since`."""
    named = [
        (setting.name, boundary)
        for setting in REGISTRY.values()
        for boundary in (
            setting.since,
            setting.until,
            *(first for first, _ in setting.defaults),
            *(first for _, first in setting.words_since),
            *(last for _, last in setting.words_until),
        )
        if boundary
    ]
    assert [one for one in named if one[1] not in releases()] == []


def test_the_protocol_is_never_newer_than_the_binary() -> None:
    with pytest.raises(
        UnusableProtocolVersion, match=r"^inter.broker.protocol.version 2.7 is newer than the binary 2.6$"
    ):
        gates_for("2.6", "2.7")


def test_by_default_the_protocol_is_the_binarys_own() -> None:
    for version in LADDER:
        assert gates_for(version) == gates_for(version, version)
        assert gates_for(version).inter_broker_protocol == version


def test_since() -> None:
    assert since("2.6.3", "2.6") and since("2.0.1", "2.0.0") and not since("2.0.0", "2.0.1")


def test_what_is_in_force_is_the_last_step_that_a_version_has_reached() -> None:
    steps = (("0.8.2", "old"), ("1.0", "new"), ("2.0.1", ""))
    assert [in_force(version, steps) for version in ("0.11", "1.0.2", "2.0.0", "2.0", "2.8")] == [
        "old", "new", "new", "", ""
    ]  # fmt: skip
