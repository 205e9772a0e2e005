"""Identity of a process, independent of the wall clock and of reused process numbers.

A process is identified by its number, by its start in the kernel's clock ticks (since boot), and by the boot. No step
of the wall clock changes any of these.
"""

import os
from pathlib import Path
from typing import Final, Literal

import msgspec

from protocol.numbers import number_in

PROC: Final = Path("/proc")
DEAD_STATES: Final = ("Z", "X", "x")
"""States in /proc/PID/stat of a dead process without a wait."""

Standing = Literal["lives", "dead", "elsewhere"]


class Identity(msgspec.Struct, frozen=True):
    """Identity of one process.

    `ticks`: its start, field 22 of /proc/PID/stat. `boot`: the kernel's random name of the boot. `pids`: the namespace
    of `pid`. `machine`: the host's name.
    """

    pid: int
    ticks: int
    boot: str
    pids: str
    machine: str

    def text(self) -> str:
        """In one word, as names of files and labels have it."""
        return f"{self.pid}-{self.ticks}-{self.boot}-{self.pids}-{self.machine}"


def identity_from(text: str) -> Identity | None:
    """Of `Identity.text`; None for any other text."""
    parts = text.split("-", 4)
    pid, ticks = (number_in(part) for part in parts[:2]) if len(parts) == 5 else (None, None)
    return None if pid is None or ticks is None else Identity(pid, ticks, *parts[2:])


def began(stat: str) -> tuple[int, str]:
    """(field 22, field 3) of a /proc/PID/stat.

    The name in field 2 may hold anything, including brackets and blanks.
    """
    fields = stat.rpartition(")")[2].split()
    return int(fields[19]), fields[0]


def identity_of(pid: int) -> Identity | None:
    """None: no such process lives."""
    try:
        ticks, state = began((PROC / str(pid) / "stat").read_text(errors="replace"))
    except (OSError, ValueError, IndexError):  # it ended before or while it was read
        return None
    return None if state in DEAD_STATES else Identity(pid, ticks, _boot(), _pids(), os.uname().nodename)


def mine() -> Identity:
    """Of this process."""
    own = identity_of(os.getpid())
    assert own is not None, "this process does not live"
    return own


def standing_of(one: Identity) -> Standing:
    """Whether the process lives.

    `elsewhere`: on another machine, or in a container, not visible from here.
    """
    if one.boot != _boot():
        return "dead" if one.machine == os.uname().nodename else "elsewhere"
    if one.pids != _pids():
        return "elsewhere"
    return "lives" if identity_of(one.pid) == one else "dead"


def _boot() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip().replace("-", "")


def _pids() -> str:
    """The number of this process's namespace of process ids."""
    return os.readlink(PROC / "self/ns/pid").partition("[")[2].rstrip("]")
