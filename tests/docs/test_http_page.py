"""docs/http.md: what it tells to type is typed, word by word, and what it says comes back."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cluster.http.routes import ROUTES
from emulator.faults.machine_fault_kinds import LIVE_FAULTS
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for language, block in BLOCKS if not language for line in block.splitlines()]
PORT = "8400"


@pytest.mark.network
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_command_of_the_page(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    typed = [line for line in COMMANDS if not line.startswith("{")]
    assert typed[0].startswith("faultline up") and typed[-1].endswith("/v1/down") and len(typed) > 12
    reported = [line for line in COMMANDS if line.startswith("{")]
    script = "\n".join(["set -e", *typed]).replace(PORT, port).replace("wait_s=20", f"wait_s={PATIENCE_S:.0f}")
    env = {
        **os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    try:
        ended = subprocess.run(
            ["sh", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    finally:
        if (tmp_path / "runs" / "web" / "cluster.json").exists():  # it has failed half-way
            subprocess.run(["sh", "-c", "faultline down"], cwd=tmp_path, env=env, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0 and ended.stderr == "", ended
    lines = ended.stdout.splitlines()
    assert f"http://127.0.0.1:{port}" in lines[1]
    replies = [json.loads(line) for line in lines[2:]]
    assert [reply for reply in replies if reply.get("error")] == [replies[-2]]
    assert f"`{json.dumps(replies[-2], separators=(',', ':'))}`" in PAGE
    assert replies[3] == json.loads(reported[0])
    assert replies[4]["applied"][0]["id"] == "rule-1" and replies[5]["faults"][0]["rule"] == "cut az-0"
    assert replies[8]["registered"] and replies[-1] == {}


def test_the_page_describes_every_path() -> None:
    for route in ROUTES:
        parts = [part for part in route.path.split("/")[2:] if not part.startswith("{") and part not in LIVE_FAULTS]
        assert all(f"/{part}" in PAGE for part in parts), route.path
    assert all(f"/{word}`" in PAGE or f"`{word}`" in PAGE for word in LIVE_FAULTS)
