"""Pictures of the live page of a real cluster whose AZ is cut off, light and dark.

python -m tests.live.page_picture FOLDER
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from emulator.cli.commands.live_page import page_address
from emulator.cluster.control_requests import CreateTopic, LinkFault, Produce
from emulator.faults.link_words import parse
from protocol.ids import BrokerId
from tests.audit.browser import WIDE, opened_browser
from tests.live.conftest import Live, bring_up

LOOK_S = 0.5


def pictures(folder: Path) -> None:
    with TemporaryDirectory(prefix="faultline-page-") as home:
        live = bring_up(Path(home) / "page", page=True, speed=1.0)
        try:
            _take(live, folder)
        finally:
            live.down()


def _take(live: Live, folder: Path) -> None:
    live.did(CreateTopic("orders", [[BrokerId(0), BrokerId(1), BrokerId(2)]]))
    live.did(Produce("orders", ["paid", "sent"], acks=-1))
    with opened_browser() as browser:
        for dark in (False, True):
            browser.open("about:blank")
            browser.open(page_address(live.registration), dark=dark)
            if not dark:
                live.did(LinkFault(parse(["cut", "az-0"])))
                live.did(Produce("orders", ["lost"], acks=1, broker=BrokerId(0), az="az-0"))
                _until(
                    lambda: (
                        "Two leaders" in browser.run("return document.getElementById('contradictions').textContent;")
                    )
                )
                live.did(Produce("orders", ["kept", "more"], acks=1, retries=3, az="az-1"))
            _until(
                lambda: (
                    "differ" in browser.run("return document.querySelector('#logs-section [role=status]').textContent;")
                )
            )
            browser.screenshot(folder / f"page{'-dark' if dark else ''}.png", WIDE)


def _until(holds: Callable[[], Any]) -> None:
    while not holds():
        threading.Event().wait(LOOK_S)


if __name__ == "__main__":
    pictures(Path(sys.argv[1]))
