"""Variables in values: as docker-compose and the compose specification fill them in."""

import pytest

from emulator.worlds.cluster_file.interpolation import NotInterpolated, interpolate

ENVIRONMENT = {"SET": "here", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain", "plain"),
        ("$SET", "here"),
        ("${SET}/${SET}", "here/here"),
        ("${UNSET}", ""),
        ("${SET:-other}", "here"),
        ("${EMPTY:-other}", "other"),
        ("${EMPTY-other}", ""),
        ("${UNSET-other}", "other"),
        ("${UNSET:-}", ""),
        ("${UNSET:-a:b-c/d}", "a:b-c/d"),
        ("${SET:?needed}", "here"),
        ("${EMPTY?needed}", ""),
        ("$$SET costs $$5", "$SET costs $5"),
    ],
)
def test_filled_in(text: str, filled: str) -> None:
    assert interpolate(text, ENVIRONMENT) == filled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${UNSET:?say which}", "the variable UNSET is not set: say which"),
        ("${UNSET?}", "the variable UNSET is not set"),
        ("${EMPTY:?}", "the variable EMPTY is not set"),
        ("costs $5", "'costs $5': after $ comes NAME, {NAME}, {NAME:-default} or, for a dollar, $"),
        ("${SET", "'${SET': after $ comes"),
        ("${SET:+other}", "after $ comes"),
        ("${UNSET:-${SET}}", "after $ comes"),
    ],
)
def test_not_filled_in(text: str, message: str) -> None:
    with pytest.raises(NotInterpolated) as raised:
        interpolate(text, ENVIRONMENT)
    assert message in str(raised.value)
