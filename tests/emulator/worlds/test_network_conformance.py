"""The network world does what both worlds must do."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_trio  # type: ignore[import-untyped]

from tests.emulator.worlds.conformance import *  # noqa: F403
from tests.emulator.worlds.network_world import NetworkWorld, network_world

pytestmark = [pytest.mark.trio, pytest.mark.network]


@pytest_trio.trio_fixture  # type: ignore[untyped-decorator]
async def world(tmp_path: Path) -> AsyncIterator[NetworkWorld]:
    async with network_world(tmp_path) as world:
        yield world
