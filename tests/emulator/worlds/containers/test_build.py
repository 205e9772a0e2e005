"""compose/build.sh where no registry answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
WHY = "Error response from daemon: no such host"
DOCKER = f"""#!/bin/sh
if [ "$1" = pull ]; then echo '{WHY}' >&2; fi
exit 1
"""
TOOLS = ("bash", "cat", "cut", "dirname", "env", "id", "sha256sum", "timeout")


def test_the_reason_of_a_failed_pull_is_reported_with_the_needs_of_a_base(tmp_path: Path) -> None:
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, tool
        (tmp_path / tool).symlink_to(found)
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    (tmp_path / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    done = subprocess.run(
        ["bash", "compose/build.sh"], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    pulled, then, lacking = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert pulled.startswith("docker pull python:") and pulled.endswith(f": {WHY}")
    assert then == "so a base is made from Debian's packages, which takes minutes, root and debootstrap"
    assert lacking.startswith("compose/build-base.sh needs ")
