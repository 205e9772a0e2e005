"""The page's files as the package has them."""

from functools import cache
from importlib.resources import files
from typing import Final

STATIC: Final = "static"
COLOURS: Final = "colours.css"
"""Colours of the live page and of reports, in both themes."""
SUFFIXES: Final = (".html", ".js", ".css", ".svg")


@cache
def static_files() -> dict[str, bytes]:
    """{name: content}, by name."""
    folder = files(__package__).joinpath(STATIC)
    return {
        one.name: one.read_bytes()
        for one in sorted(folder.iterdir(), key=lambda one: one.name)
        if is_page_file(one.name)
    }


def is_page_file(name: str) -> bool:
    return name.endswith(SUFFIXES)


def colours() -> str:
    return static_files()[COLOURS].decode()
