"""Admission over HTTP."""

import pytest

from emulator.cluster.http.admission import Head, HttpRefused, admit

TOKEN = b"0123456789abcdef"
RIGHT = ("authorization", f"Bearer {TOKEN.decode()}")
HERE = ("host", "127.0.0.1:9400")


def refused(*headers: tuple[str, str], target: str = "/v1/status", hosts: frozenset[str] = frozenset()) -> int:
    """The status; 0: let in."""
    try:
        admit(Head("GET", target, headers), TOKEN, hosts)
    except HttpRefused as error:
        assert TOKEN.decode() not in str(error)
        return error.status
    return 0


@pytest.mark.parametrize(
    "credentials",
    [
        "", "Bearer", "Bearer ", f"Bearer {TOKEN.decode()[:-1]}", f"Bearer {TOKEN.decode()}0", TOKEN.decode(),
        f"Basic {TOKEN.decode()}", f"Bearer {TOKEN.decode()} {TOKEN.decode()}", "Bearer \xff\u1234",
    ],
)  # fmt: skip
def test_the_token_alone_opens(credentials: str) -> None:
    assert refused(HERE, ("authorization", credentials)) == 401
    assert refused(HERE, RIGHT) == refused(HERE, ("authorization", f"bearer  {TOKEN.decode()} ")) == 0


def test_a_token_that_is_shown_twice_or_not_at_all_opens_nothing() -> None:
    assert refused(HERE) == 401
    assert refused(HERE, RIGHT, RIGHT) == refused(HERE, RIGHT, ("authorization", "Bearer x")) == 401


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:80"])
def test_loopback_is_this_machine(host: str) -> None:
    assert refused(("host", host), RIGHT) == 0


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "evil.example:9400", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
        "0.0.0.0", "[::]", "[::1", "127.0.0.1:9400:1", "127.0.0.1:x", "user@127.0.0.1", "127.0.0.1/", "2130706433",
        "0x7f.1", "\xff",
    ],
)  # fmt: skip
def test_a_name_that_was_made_to_lead_here_is_refused(host: str) -> None:
    """DNS rebinding is refused, whatever else the request shows."""
    assert refused(("host", host), RIGHT) == 403


def test_a_reported_name_of_ours() -> None:
    assert refused(("host", "control:9400"), RIGHT, hosts=frozenset({"control", "10.0.0.1"})) == 0
    assert refused(("host", "10.0.0.1:9400"), RIGHT, hosts=frozenset({"control", "10.0.0.1"})) == 0
    assert refused(("host", "contro1:9400"), RIGHT, hosts=frozenset({"control"})) == 403


def test_a_target_with_a_host_of_its_own_is_looked_at_too() -> None:
    assert refused(HERE, RIGHT, target="http://evil.example/v1/status") == 403
    assert refused(HERE, RIGHT, target="http://localhost:1/v1/status?a=x://evil.example/") == 0
    assert refused(HERE, RIGHT, target="/v1/x?at=http://evil.example/") == 0


def test_a_request_names_its_host_once() -> None:
    assert refused(RIGHT) == refused(HERE, HERE, RIGHT) == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9400", ""])
def test_a_page_in_a_browser_is_refused_with_the_token_and_without(origin: str) -> None:
    assert refused(HERE, RIGHT, ("origin", origin)) == refused(HERE, ("origin", origin)) == 403
