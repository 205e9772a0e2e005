"""A real browser without a window or a network: Chromium and its driver, as Debian has them.

python -m tests.audit.browser RUN FOLDER      screenshots of a run's report: two widths, light, dark, without colour
"""

from __future__ import annotations

import os
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from tests.patience import PATIENCE_S

WIDE, NARROW, HEIGHT = 1280, 420, 900
# Names lead nowhere, but for the foreign one that leads to this machine (DNS rebinding).
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--host-resolver-rules=MAP rebound.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
LOAD_TIMEOUT_S = PATIENCE_S
HEIGHT_MAX = 6_000


@cache
def installed() -> tuple[str, str] | None:
    """(browser, driver)."""
    browser = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def opened_browser() -> Iterator[Browser]:
    found = installed()
    assert found is not None
    options = ChromeOptions()
    with TemporaryDirectory(prefix="faultline-browser-") as profile:
        options.binary_location = found[0]
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        with patch.dict(os.environ, {"no_proxy": "*"}):  # the driver is on this machine
            driver = Chrome(options=options, service=Service(found[1]))
        try:
            driver.set_page_load_timeout(LOAD_TIMEOUT_S)
            yield Browser(driver)
        finally:
            driver.quit()


class Browser:
    """One page at a time."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def open(
        self, page: Path | str, *, width: int = WIDE, dark: bool = False, colours: bool = True, scripts: bool = True
    ) -> None:
        """Open a file, or an address of this machine."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._ask("Emulation.setEmulatedVisionDeficiency", type="none" if colours else "achromatopsia")
        self._ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.driver.get(page if isinstance(page, str) else page.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """The script's result; `frame()` in it waits until the requested change is drawn."""
        return self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1], frame = () => new Promise((then) =>"
            " requestAnimationFrame(() => requestAnimationFrame(then)));"
            f" (async () => {{ {script} }})().then(done, (error) => done(String(error.stack)));",
            *arguments,
        )

    def complaints(self) -> list[str]:
        """Of the page, on its console, since it was asked last."""
        log: list[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in log]

    def screenshot(self, path: Path, width: int) -> None:
        height = self._ask("Page.getLayoutMetrics")["cssContentSize"]["height"]
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, HEIGHT_MAX), "scale": 1}
        shot = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(b64decode(shot["data"]))

    def _ask(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)


def screenshots(run: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    looks: dict[str, dict[str, bool]] = {"light": {}, "dark": {"dark": True}, "grey": {"colours": False}}
    with opened_browser() as browser:
        for width in (WIDE, NARROW):
            for name, look in looks.items():
                browser.open((run / "report.html").resolve(), width=width, **look)
                browser.screenshot(folder / f"{run.name}-{width}-{name}.png", width)


if __name__ == "__main__":
    screenshots(Path(sys.argv[1]), Path(sys.argv[2]))
