"""Messages of the wire level: every frame from its sender to its receiver or its stop.

The N-th frame that one end of a connection sends is the N-th that the other receives, which joins `frame_sent` with
`frame_received`. `frame_stopped` has no number. At the receiver's gate it is the oldest frame of that name which is
still in flight. At the sender's it comes with the frame's `frame_sent` in the simulated world. A real process writes
`frame_sent` when the frame is let through, so that the next of that name is the one, or there is none.

READ_MAX_BYTES are read at most and MESSAGES_MAX kept. Of a larger run, messages of sessions and of the ensemble are
left out, then everything outside windows around rare events (`moments`). A window has all its messages.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from audit.input import EventFile, RunDirectory
from audit.report.moments import Window, length, windows
from emulator.regular_files import lines_of, open_regular
from protocol.events.event_parsing import LINE_BYTES_MAX, TIME_MS_MAX
from protocol.undecodable import UNDECODABLE

READ_MAX_BYTES = 48 << 20
MESSAGES_MAX = 12_000
HALF_MS = 4_000.0
"""Half of the widest window; two narrowings halve it, until the windows' contents fit."""
NARROWED_MAX = 24
SOUGHT_BYTES = 1 << 14
"""A window's begin is searched until it is at most this far away."""
SAME_MS = 0.001
DIES = frozenset(("held", "dropped", "lost"))
"""Actions that stop a frame; a delayed one only takes longer."""

KINDS: dict[str, tuple[str, ...]] = {
    "fetch": ("Fetch",),
    "epoch": ("OffsetForLeaderEpoch",),
    "order": ("LeaderAndIsr", "StopReplica"),
    "metadata": ("UpdateMetadata",),
    "isr": ("AlterIsr", "ControlledShutdown"),
    "produce": ("Produce",),
    "client": ("ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "InitProducerId"),
    "session": ("SessionClose", "SessionConnect", "SessionOperation", "SessionPing", "SessionSetWatches",
                "SessionWatch"),
    "ensemble": (),
}  # fmt: skip
"""{group of frames: its names}; `ensemble`: all names with that prefix."""
CHATTER = frozenset(("session", "ensemble"))

_KIND = {name: kind for kind, names in KINDS.items() for name in names}
_FRAME = b'"event":"frame_'
_AT = b'"at_ms":'


class Message(msgspec.Struct):
    """A message.

    `received_ms` None: never. `stopped_ms`: when a rule (`rule`) held or dropped it; it may still have arrived, long
    after. `at_receiver`: the rule was at the receiver.
    """

    sent_ms: float
    sender: str
    receiver: str
    api: str
    response: bool
    received_ms: float | None = None
    stopped_ms: float | None = None
    rule: str = ""
    at_receiver: bool = False

    @property
    def kind(self) -> str:
        return kind_of(self.api)


class Messages(msgspec.Struct):
    """Messages of a run.

    `recorded`: the run has the wire level. `total`: count of all, None if not all were read. `within`: windows in which
    all are kept, None: everywhere. `chatter`: whether sessions and ensemble are among them.
    """

    recorded: bool = False
    kept: list[Message] = []
    total: int | None = 0
    within: list[Window] | None = None
    chatter: bool = True


def kind_of(api: str) -> str:
    """Group of a frame; empty: a frame of the emulator itself, which is not drawn."""
    return "ensemble" if api.startswith("Ensemble") else _KIND.get(api, "")


class _Frame(msgspec.Struct):
    event: str
    node: str
    connection: str
    peer: str
    at_ms: float
    number: int = 0
    api: str = ""
    api_direction: str = ""
    rule: str = ""
    action: str = ""


_decoder = msgspec.json.Decoder(_Frame)


def read_messages(run: RunDirectory, at: Sequence[float], end_ms: float) -> Messages:
    """Messages of a run. `at`: times around which they are kept if not all fit."""
    files = [file for file in run.files if file.wire and file.size_bytes]
    if not files:
        return Messages()
    size_bytes = sum(file.size_bytes for file in files)
    if size_bytes <= READ_MAX_BYTES:
        return _bounded(Messages(True, _joined(_frames(files, None))), at)
    share = READ_MAX_BYTES / size_bytes
    within = next((found for found in _narrower(at) if length(found) <= share * end_ms), [])
    return _bounded(Messages(True, _joined(_frames(files, within)), None, within), at)


def _bounded(all_of_it: Messages, at: Sequence[float]) -> Messages:
    """As many messages as fit into a page; counts those that are drawn at all."""
    kept = [one for one in all_of_it.kept if one.kind]
    total = None if all_of_it.total is None else len(kept)
    if len(kept) <= MESSAGES_MAX:
        return Messages(True, kept, total, all_of_it.within)
    kept = [one for one in kept if one.kind not in CHATTER]
    within = all_of_it.within
    for narrower in _narrower(at):
        if len(kept) <= MESSAGES_MAX:
            break
        within = narrower
        kept = list(_inside(kept, within))
    return Messages(True, kept[:MESSAGES_MAX], total, within, chatter=False)


def _narrower(at: Sequence[float]) -> Iterator[list[Window]]:
    for n in range(NARROWED_MAX):
        yield windows(at, HALF_MS / 2 ** (n / 2))


def _inside(messages: Iterable[Message], within: Sequence[Window]) -> Iterator[Message]:
    ends = [end for _, end in within]
    for one in messages:
        place = bisect_left(ends, one.sent_ms)
        if place < len(within) and within[place][0] <= one.sent_ms:
            yield one


# --- joining the events of both ends ---


def _joined(frames: list[_Frame]) -> list[Message]:
    """Messages in the order of their sends."""
    sent: dict[tuple[str, str, int], Message] = {}
    under_way: dict[tuple[str, str, str], list[Message]] = {}
    for frame in frames:
        if frame.event == "frame_sent":
            message = Message(
                frame.at_ms, frame.node, frame.peer, frame.api, response=frame.api_direction == "response"
            )
            sent[frame.connection, frame.node, frame.number] = message
            under_way.setdefault((frame.connection, frame.node, frame.api), []).append(message)
    for frame in frames:
        if frame.event == "frame_received":
            arrived = sent.get((frame.connection, frame.peer, frame.number))
            if arrived is not None:
                arrived.received_ms = max(arrived.sent_ms, frame.at_ms)
    found = list(sent.values())
    known = set(map(id, found))
    for frame in frames:
        if frame.event == "frame_stopped" and frame.api and frame.action in DIES:
            message = _stopped(frame, under_way)
            message.stopped_ms, message.rule = frame.at_ms, frame.rule
            if message.sender == frame.node and message.sent_ms != frame.at_ms:
                message.sent_ms = frame.at_ms  # intended time of the send
            if message.sender != frame.node:
                message.at_receiver = True
            if id(message) not in known:
                known.add(id(message))
                found.append(message)
    return sorted(found, key=lambda message: message.sent_ms)


def _stopped(frame: _Frame, under_way: dict[tuple[str, str, str], list[Message]]) -> Message:
    """The message that was stopped; a new one if there is no other trace of it."""
    own = under_way.get((frame.connection, frame.node, frame.api), [])
    begin = bisect_left(own, frame.at_ms - SAME_MS, key=_sent_ms)
    next_own = next((one for one in islice(own, begin, None) if one.stopped_ms is None), None)
    if next_own and next_own.sent_ms <= frame.at_ms + SAME_MS:
        return next_own
    others = under_way.get((frame.connection, frame.peer, frame.api), [])
    oldest = None
    for n in range(bisect_right(others, frame.at_ms, key=_sent_ms) - 1, -1, -1):
        arrived_ms = others[n].received_ms
        if arrived_ms is not None and arrived_ms < frame.at_ms:
            break  # and so has all before it: a connection keeps its order
        if others[n].stopped_ms is None:
            oldest = others[n]
    if oldest:
        return oldest
    if next_own and frame.action != "dropped":
        return next_own
    opener = frame.connection.partition(".")[0]
    return Message(frame.at_ms, frame.node, frame.peer, frame.api, response=frame.node != opener)


def _sent_ms(message: Message) -> float:
    return message.sent_ms


# --- reading ---


def _frames(files: Iterable[EventFile], within: Sequence[Window] | None) -> list[_Frame]:
    """Frames in order of time. Lines that are no frames are left out: the verdict counts them."""
    frames: list[_Frame] = []
    left_bytes = READ_MAX_BYTES
    for file in files:
        for line in _lines(file, within):
            left_bytes -= len(line)
            if left_bytes < 0:
                break
            if _FRAME in line:
                try:
                    frame = _decoder.decode(line)
                except UNDECODABLE:
                    continue
                if abs(frame.at_ms) <= TIME_MS_MAX:
                    frames.append(frame)
    frames.sort(key=lambda frame: frame.at_ms)
    return frames


def _lines(file: EventFile, within: Sequence[Window] | None) -> Iterator[bytes]:
    """Lines within the windows, of a file in order of time."""
    with open_regular(file.path) as opened:
        if within is None:
            yield from lines_of(opened, LINE_BYTES_MAX)
            return
        for begin_ms, end_ms in within:
            low, high = 0, file.size_bytes
            while high - low > SOUGHT_BYTES:  # behind a line that is too early, before one that is not
                opened.seek((low + high) // 2)
                opened.readline(LINE_BYTES_MAX)
                if _at_ms(opened.readline(LINE_BYTES_MAX)) < begin_ms:
                    low = (low + high) // 2
                else:
                    high = (low + high) // 2
            opened.seek(low)
            if low:
                opened.readline(LINE_BYTES_MAX)
            for line in lines_of(opened, LINE_BYTES_MAX):
                at_ms = _at_ms(line)
                if at_ms > end_ms:
                    break
                if at_ms >= begin_ms:
                    yield line


def _at_ms(line: bytes) -> float:
    """Time of a line; infinite for one without a time, and for the end of a file."""
    start = line.find(_AT)
    number = line[start + len(_AT) : line.find(b",", start)] if start >= 0 else b""
    try:
        return float(number)
    except ValueError:
        return float("inf")
