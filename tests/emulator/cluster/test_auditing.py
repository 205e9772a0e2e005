"""The audit of a cluster that runs, by a process beside it."""

import sys
from pathlib import Path

import pytest
import trio

from emulator.cluster import control_requests as r
from emulator.cluster.live_audit_request import Auditing
from tests.live.test_control_server import until
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.trio


def a_command(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("import sys; print({'run': sys.argv[1], 'json': sys.argv[2]}.__repr__().replace(chr(39), chr(34)))",
         r.Answer(result={"run": "/a/run", "json": "--json"})),
        ("import sys; print('no Java', file=sys.stderr); sys.exit(2)", r.unusable("no Java")),
        ("import sys; print('x'); print('not there', file=sys.stderr); sys.exit(3)", r.unknown("not there")),
        ("import sys; sys.exit(70)", r.unknown("no output", why="bug")),
    ],
)  # fmt: skip
async def test_an_audit_equals_the_commands_output(code: str, answer: r.Answer) -> None:
    assert await Auditing(Path("/a/run"), command=a_command(code)).audit(30.0) == answer


async def test_one_audit_at_a_time_and_none_after_its_time(tmp_path: Path) -> None:
    there = tmp_path / "there"
    auditing = Auditing(tmp_path, command=a_command(f"import time; open({str(there)!r}, 'w'); time.sleep(600)"))
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(auditing.audit, 600.0)
            await until(there.exists)
            assert "under way" in (await auditing.audit(1.0)).error
            nursery.cancel_scope.cancel()
        late = await auditing.audit(0.1)
    assert late.code == 3 and "was stopped" in late.error
    assert (await Auditing(tmp_path, elsewhere="ask the other").audit(1.0)) == r.unusable("ask the other")
