"""One image for all tests on an engine, without the audit's packages: minutes less to build."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
IMAGE = f"faultline:test-{os.getpid()}"
BUILD_LIMIT_S = PATIENCE_S
"""Seconds where there is a base for these dependencies; a minute or two where there is none."""


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    """The image's name, which everything that reads the compose files finds in FAULTLINE_IMAGE.

    Without a registry and without a base image, there is none.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAULTLINE_IMAGE", IMAGE)
        patch.setenv("FAULTLINE_AUDIT", "no")
        built = subprocess.run(
            ["compose/build.sh"], cwd=ROOT, check=False, stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", timeout=BUILD_LIMIT_S,
        )  # fmt: skip
        if built.returncode == 2:  # it says what it lacks
            pytest.skip(built.stderr.strip().splitlines()[-1])
        assert built.returncode == 0, f"{built.stdout}\n{built.stderr}"
        yield IMAGE
        subprocess.run(["docker", "image", "rm", IMAGE], check=True, capture_output=True)
