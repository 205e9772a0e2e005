"""Authorization over HTTP: the run's token, our Host names, and no foreign page. Pure.

A foreign page can make a browser send any request to 127.0.0.1. It cannot know the token. In addition, requests that
only browsers send are refused: an `Origin` (cross-origin requests and their preflight), and a `Host` with a foreign
name that resolves to this machine (DNS rebinding). No response has a header that would allow one.

A cluster with a live page accepts that page's own origin. The read-only token admits GET alone.
"""

import hmac
import re
from collections.abc import Iterable, Set
from ipaddress import ip_address
from typing import Final, Literal

import msgspec

from emulator.cluster.http.access_tokens import read_only_token, run_id

Access = Literal["full", "read-only"]
SCHEME: Final = "bearer"
CHALLENGE: Final = "Bearer"
RUN_HEADER: Final = "faultline-run"
ACCESS_HEADER: Final = "faultline-access"
"""Of a stream's response: whether its token admits more than GET."""
READING: Final = frozenset(("GET", "HEAD"))
OWN_SITES: Final = (["same-origin"], ["none"])
"""Values of Sec-Fetch-Site of our page and of an opened address. Only browsers send it."""
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9a-z_.-]+))(?::[0-9]{0,5})?")
"""An address of IPv6, or a name or another address; then a port, if any."""


class HttpRefused(Exception):
    """One line, as JSON. `allow`: the methods of a path that does not have the requested one."""

    def __init__(self, status: int, error: str, allow: str = "") -> None:
        super().__init__(error)
        self.status = status
        self.allow = allow


class Head(msgspec.Struct, frozen=True):
    """The part before a body. `target`: as it was sent. Names of headers are in lower case."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def all_of(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known == name]


def admit(head: Head, token: bytes, hosts: Set[str], *, has_page: bool = False) -> Access:
    """Check a request. `hosts`: further names and addresses of ours. Raises HttpRefused.

    `has_page`: the live page may send requests, too.
    """
    admit_origin(head, hosts, has_page=has_page)
    if head.all_of("sec-fetch-site") not in ([], *OWN_SITES):
        raise HttpRefused(403, "Sec-Fetch-Site header not allowed: another page in a browser sends it")
    credentials = head.all_of("authorization")
    if _shows(credentials, token):
        _check_run(head, token)
        return "full"
    if not _shows(credentials, read_only_token(token)):
        raise HttpRefused(401, "not this run's token: Authorization: Bearer TOKEN, which is in cluster.json of the run")
    if head.method not in READING:
        raise HttpRefused(403, f"this token is read-only: it admits GET, not {head.method[:16]}; use the run's token")
    _check_run(head, token)
    return "read-only"


def _check_run(head: Head, token: bytes) -> None:
    """The cluster that a page believes to speak to, if it names one."""
    own = run_id(token)
    if any(named != own for named in head.all_of(RUN_HEADER)):
        raise HttpRefused(409, f"{RUN_HEADER} names another cluster; this is {own}: open the address that `up` printed")


def admit_origin(head: Head, hosts: Set[str], *, has_page: bool = False) -> None:
    """Check the place that a request was sent to, and the page that sent it. Raises HttpRefused."""
    named = head.all_of("host")
    if len(named) != 1:
        raise HttpRefused(400, "a request has one Host header")
    for host in (*named, *_authority(head.target)):
        if not _is_ours(host, hosts):
            there = ", ".join(("127.0.0.1", "localhost", *sorted(hosts)))
            raise HttpRefused(403, f"Host header {host!r} not allowed; there is {there}")
    if any(not has_page or origin != f"http://{named[0]}" for origin in head.all_of("origin")):
        raise HttpRefused(403, "Origin header not allowed: a page in a browser sends it")


def _authority(target: str) -> Iterable[str]:
    """Authority of a target in absolute form (`GET http://127.0.0.1:1/v1/status`).

    It counts instead of Host.
    """
    scheme, found, rest = target.partition("://")
    return (rest.partition("/")[0].partition("?")[0],) if found and "/" not in scheme and "?" not in scheme else ()


def _is_ours(host: str, hosts: Set[str]) -> bool:
    found = _HOST.fullmatch(host.strip().lower())
    if found is None:
        return False
    name = found[1] or found[2]
    try:
        return ip_address(name).is_loopback or name in hosts
    except ValueError:
        return name == "localhost" or name in hosts


def _shows(credentials: list[str], token: bytes) -> bool:
    if len(credentials) != 1:
        return False
    scheme, _, given = credentials[0].partition(" ")
    return hmac.compare_digest(given.strip().encode("latin-1", "replace"), token) and scheme.lower() == SCHEME
