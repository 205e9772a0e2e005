"""The audit of a running cluster over HTTP: `faultline audit RUN --json` in a process.

Spark needs a Java machine, a gigabyte and a processor, and the nodes go on meanwhile. One audit at a time. It ends with
this process, and when its client's time is over.
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Final

import msgspec
import trio

from emulator.cluster import control_requests as r
from emulator.exit_codes import UNKNOWN, UNUSABLE
from emulator.orphans import die_with_parent
from protocol.undecodable import UNDECODABLE

COMMAND: Final = (sys.executable, "-m", "emulator", "audit")
INTERRUPTED_S: Final = 5.0
"""Time for an interrupted audit to remove its temporary files."""
READ_BYTES: Final = 1 << 16


class Auditing:
    """Audits the run in `directory`. `elsewhere`: where an audit runs if it cannot run here."""

    def __init__(self, directory: Path, elsewhere: str = "", command: Sequence[str] = COMMAND) -> None:
        self._directory = directory
        self._elsewhere = elsewhere
        self._command = command
        self._under_way = False

    async def audit(self, wait_s: float) -> r.Answer:
        """The answer with verdict.json."""
        if self._elsewhere:
            return r.unusable(self._elsewhere)
        if self._under_way:
            return r.unknown("an audit is under way, no more at a time: try again", why="busy")
        self._under_way = True
        try:
            with trio.move_on_after(wait_s):
                return await self._audited()
        finally:
            self._under_way = False
        return r.unknown(f"the audit had not ended after {wait_s:g} s, and was stopped; wait_s=SECONDS waits longer")

    async def _audited(self) -> r.Answer:
        async with _beside([*self._command, str(self._directory), "--json"]) as process:
            assert process.stdout is not None and process.stderr is not None
            errors = bytearray()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_read, process.stderr, errors)
                output = await _read(process.stdout, bytearray())
        last = (errors.decode(errors="replace").strip().splitlines() or ["no output"])[-1]
        try:
            return r.Answer(result=msgspec.json.decode(output, type=dict))
        except UNDECODABLE:
            if process.returncode == UNUSABLE:
                return r.unusable(last)
            return r.unknown(last, why="" if process.returncode == UNKNOWN else "bug")


@asynccontextmanager
async def _beside(command: Sequence[str]) -> AsyncIterator["subprocess.Popen[bytes]"]:
    """A process that has ended when the context ends.

    This thread starts it and not one of trio's: the kernel ends it with the thread that started it.
    """
    process = subprocess.Popen(  # noqa: ASYNC220
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, start_new_session=True,
        preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - no more than two system calls
    )  # fmt: skip
    ended = os.pidfd_open(process.pid)
    try:
        yield process
        await trio.lowlevel.wait_readable(ended)
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + INTERRUPTED_S):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                await trio.lowlevel.wait_readable(ended)
        os.close(ended)
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


async def _read(pipe: IO[bytes], into: bytearray) -> bytes:
    async with trio.lowlevel.FdStream(os.dup(pipe.fileno())) as stream:
        while data := await stream.receive_some(READ_BYTES):
            into += data
    return bytes(into)
