"""All checks, in the order in which verdicts list them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module

from audit.checks.check import Check
from emulator import check_table


def _check_of(name: str) -> Check:
    """`CHECK` of the module that is named after the check."""
    check = import_module(f"audit.checks.{name.replace('-', '_')}").CHECK
    assert isinstance(check, Check), name
    assert check.name == name, check.name
    return check


CHECKS: dict[str, Check] = {name: _check_of(name) for name in check_table.CHECKS}


def check_named(name: str, among: Mapping[str, Check] = CHECKS) -> Check:
    """The check of that name. Raises KeyError, with the nearest known name in its message."""
    if name in among:
        return among[name]
    close = difflib.get_close_matches(name, among, n=1)
    raise KeyError(
        f"no check is called {name!r}; " + (f"nearest: {close[0]}" if close else "`faultline checks` lists them")
    )
