"""Values derived from a run's token, and what each admits."""

import pytest

from emulator.cluster.http.access_tokens import read_only_token, run_id
from emulator.cluster.http.admission import Head, HttpRefused, admit

TOKEN = b"0123456789abcdef"
PAGE = "http://127.0.0.1:9400"


def admitted(method: str, token: bytes = TOKEN, *headers: tuple[str, str], has_page: bool = True) -> str:
    """Its access, or the status of the refusal."""
    shown = (("host", "127.0.0.1:9400"), ("authorization", f"Bearer {token.decode()}"), *headers)
    try:
        return admit(Head(method, "/v1/status", shown), TOKEN, frozenset(), has_page=has_page)
    except HttpRefused as error:
        assert TOKEN.decode() not in str(error)
        return str(error.status)


def test_the_read_only_token_admits_get_alone() -> None:
    reader = read_only_token(TOKEN)
    for method in ("GET", "HEAD"):
        assert (admitted(method), admitted(method, reader)) == ("full", "read-only")
    for method in ("POST", "PATCH", "DELETE", "PUT", "OPTIONS", "get"):
        assert (admitted(method), admitted(method, reader)) == ("full", "403")
    assert admitted("GET", read_only_token(b"another")) == admitted("GET", read_only_token(reader)) == "401"


def test_a_run_has_an_id_that_names_it_and_not_its_token() -> None:
    own, other = run_id(TOKEN), run_id(b"another")
    assert len(own) == 8 and own != other and own not in TOKEN.decode()
    assert admitted("POST", TOKEN, ("faultline-run", own)) == "full"
    assert admitted("POST", TOKEN, ("faultline-run", other)) == "409"
    assert admitted("GET", read_only_token(TOKEN), ("faultline-run", other)) == "409"


@pytest.mark.parametrize(
    ("header", "value", "with_page", "without"),
    [
        ("origin", PAGE, "full", "403"),
        ("origin", "http://127.0.0.1:9401", "403", "403"),
        ("origin", "https://127.0.0.1:9400", "403", "403"),
        ("origin", "http://localhost:9400", "403", "403"),
        ("origin", "http://rebound.example", "403", "403"),
        ("origin", "null", "403", "403"),
        ("origin", "", "403", "403"),
        ("sec-fetch-site", "same-origin", "full", "full"),
        ("sec-fetch-site", "none", "full", "full"),
        ("sec-fetch-site", "same-site", "403", "403"),
        ("sec-fetch-site", "cross-site", "403", "403"),
    ],
)
def test_of_all_pages_the_own_one_is_admitted(header: str, value: str, with_page: str, without: str) -> None:
    assert admitted("POST", TOKEN, (header, value)) == with_page
    assert admitted("POST", TOKEN, (header, value), has_page=False) == without
    assert admitted("POST", TOKEN, ("origin", PAGE), ("origin", "http://x")) == "403"
