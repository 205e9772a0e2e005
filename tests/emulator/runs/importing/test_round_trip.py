"""The emulator's own log lines and disks, imported, tell the run's events."""

import pytest

from verification.import_round_trip import round_trip


@pytest.mark.parametrize(
    ("scenario", "version"),
    [("az-isolated-leader", "2.6"), ("az-isolated-leader", "0.10.2"), ("kraft-az-isolated-leader", "3.9")],
)
def test_an_import_of_our_lines_has_our_events(scenario: str, version: str) -> None:
    assert round_trip(scenario, version) == []
