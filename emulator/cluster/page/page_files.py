"""The page's files as replies, with headers that let a browser run nothing else.

They are readable without the token: nothing in them is secret. The token is in the fragment of the page's address,
which a browser sends to no server.
"""

from functools import cache
from typing import Final

from emulator.cluster.http.replying import Reply
from emulator.cluster.page.saved_page import saved_page
from emulator.cluster.page.static_files import static_files

INDEX: Final = "live_page.html"
SAVED: Final = "saved_page.html"
"""The page in one file, without a recording: the live page saves it with its own."""
TYPES: Final = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}  # fmt: skip
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = (
    ("content-security-policy", POLICY), ("x-frame-options", "DENY"), ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin"),
)  # fmt: skip


def page_file(method: str, target: str) -> Reply | None:
    """The file of a path; None: it is none of the page's, and the request needs the token."""
    if method not in ("GET", "HEAD"):
        return None
    path = target.partition("?")[0]
    name = INDEX if path == "/" else path.removeprefix("/page/") if path.startswith("/page/") else ""
    content = contents().get(name)
    return None if content is None else Reply(200, content, HEADERS, TYPES[_suffix(name)])


@cache
def contents() -> dict[str, bytes]:
    """{name: content} of every file, and of the page in one file."""
    return {**static_files(), SAVED: saved_page(static_files()).encode()}


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
