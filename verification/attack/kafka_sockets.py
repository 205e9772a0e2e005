"""The attack on brokers' listeners over real sockets, by misbehaving Kafka clients.

On every listener of every broker. A connection sends invalid bytes and its end, and waits until the broker closes it;
or sends many harmless requests before that; or sends random frames and closes immediately, without reading a response.
Well-formed requests among the last are carried out: topics come and go, members of groups wait for others that never
come.
"""

import contextlib
import random
from collections import Counter
from typing import Final

import trio

from verification.attack.kafka_frames import HARMLESS, KafkaFrames, Reading
from verification.attack.sockets import CLOSED_WITHIN_S

PIPELINED: Final = 60
AT_ONCE: Final = 16
GONE_AFTER: Final = 10
"""Frames of a client that does not wait."""
POOL: Final = 400
LARGE_SHARE: Final = 0.01
"""Of frames that must be refused, those of 1 KiB up to 32 MiB."""
SHARE_WAITING: Final = 0.6
"""Of connections, those that wait for their end."""

Address = tuple[str, int]


class KafkaAttackers:
    """Attackers of a cluster's listeners.

    `kafka_ports`: (host, port) of listeners. `said`: frames, by the behaviour of their sender. `problems`: effects that
    no attack may have.
    """

    def __init__(self, kafka_ports: list[Address], seed: int, kafka_version: str) -> None:
        self._kafka_listeners = kafka_ports
        self._frames = KafkaFrames(seed, kafka_version)
        self._reading = Reading(self._frames)
        self._chance = random.Random(seed)
        self._harmless = [one for one in self._written() if self._reading.understands(one)]
        self.said: Counter[str] = Counter()
        self.problems: list[str] = []

    def _written(self) -> list[bytes]:
        spoken = self._frames.spoken
        apis = [api for api in HARMLESS if api in spoken]
        chosen = [self._chance.choice(apis) for _ in range(POOL)]
        return [self._frames.written(api, self._chance.randint(*spoken[api])) for api in chosen]

    async def attack(self, count: int, *, gone: bool = True) -> None:
        """Attack until so many more frames were sent.

        `gone`: also by clients that do not wait, whose requests change the cluster.
        """
        end = self.said.total() + count
        async with trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(self._one, end, 1.0 if gone else SHARE_WAITING)

    async def _one(self, end: int, most: float) -> None:
        while self.said.total() < end and not self.problems:
            which = self._chance.random() * most
            if which < 0.5:
                await self._say([self._bad()], "refused at once")
            elif which < SHARE_WAITING:
                requests = [self._chance.choice(self._harmless) for _ in range(PIPELINED)]
                await self._say([*map(self._frames.with_length, requests), self._bad()], "asked for, then refused")
            else:
                frames = [self._frames.framed(self._frames.payload()) for _ in range(GONE_AFTER)]
                await self._say(frames, "said and gone", waits=False)

    def _bad(self) -> bytes:
        """One that a listener must refuse; now and then a large one."""
        next_one = self._frames.large if self._chance.random() < LARGE_SHARE else self._frames.payload
        while self._reading.understands(payload := next_one()):
            pass
        return self._frames.with_length(payload)

    async def _say(self, frames: list[bytes], what: str, *, waits: bool = True) -> None:
        host, port = self._chance.choice(self._kafka_listeners)
        try:
            stream = await trio.open_tcp_stream(host, port)
        except OSError as error:
            self.problems.append(f"{host}:{port} does not accept: {error}")
            return
        self.said[what] += len(frames)
        async with stream:
            with trio.move_on_after(CLOSED_WITHIN_S) as waiting, contextlib.suppress(trio.BrokenResourceError):
                await stream.send_all(b"".join(frames))
                if waits:
                    await stream.send_eof()
                    while await stream.receive_some(65_536):
                        pass  # responses are ignored, but must be read
        if waiting.cancelled_caught:
            self.problems.append(f"{host}:{port} has not closed within {CLOSED_WITHIN_S:g} s: {frames[-1][-80:]!r}")
