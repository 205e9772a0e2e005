"""Kafka listeners of one broker, and their connections.

A broker has one listener for each AZ of clients and one for clients outside. A connection is unauthenticated until the
listener has decoded its first request. Unauthenticated connections are few, each for a limited time; a new one closes
the oldest. They do not count as clients. An undecodable frame closes the connection and writes one event. Bytes of
incomplete frames are bounded, separately for unauthenticated connections and for clients.
"""

import socket
import struct
from collections import deque
from typing import Final, Protocol

import trio

from emulator.worlds.network.accepting import accept_all
from emulator.worlds.network.connection import READ_BYTES, Connection, receive, receive_next
from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.client import Arrived, KafkaClient
from emulator.worlds.network.kafka_listener.client_observer import ClientObserver
from emulator.worlds.network.kafka_listener.codec import Listener, listener_of, read_request
from emulator.worlds.network.kafka_listener.error_responses import refused
from emulator.worlds.network.kafka_listener.listener_faults import ListenerFaults
from emulator.worlds.network.kafka_listener.translation import message_of
from emulator.worlds.network.kafka_listener.unended_frames import UnendedFrames
from emulator.worlds.network.mailbox import AnsweredHere
from emulator.worlds.network.ports import BACKLOG
from emulator.worlds.network.shell import NodeShell
from emulator.worlds.network.unauthenticated_connections import UnauthenticatedConnections, descriptors
from protocol.errors import ErrorCode
from protocol.events import FrameRefused
from protocol.framing import MAX_FRAME_BYTES, FrameDecoder, ProtocolError
from protocol.gates import Gates
from protocol.ids import BrokerId
from protocol.messages.replication_messages import ProduceRequest
from protocol.protocol_faults import ProtocolFault

REST_OF_STARTUP_MS: Final = 300.0
"""Time between registration and the first read of requests.

283 to 364 ms in logs of 2.8 (coordinators, configurations, sockets).
"""
STARTUP_READS_MS_MAX: Final = 3_000.0
"""Maximum wait for the controller's first UpdateMetadata before the broker reads requests.

In that time Kafka reads eight and more paths from ZooKeeper, one after the other; the machine does not. Over slow links
these reads take about as long as the first UpdateMetadata, which stands for them.
"""
UNENDED_BYTES_MAX: Final = 4 * MAX_FRAME_BYTES
"""Maximum bytes of all clients' incomplete frames.

Beyond it the listener closes the connection whose frame began first.
"""
UNAUTHENTICATED_BYTES_MAX: Final = 2 * MAX_FRAME_BYTES
"""The same bound for unauthenticated connections, whose first request may be a produce."""
REFUSALS_WRITTEN_MAX: Final = 1_000
TLS_HELLO: Final = b"\x16\x03"
ESTABLISHED: Final = 1
"""The first byte of TCP_INFO: neither end has closed."""


class Startup(Protocol):
    """Progress of a broker's startup."""

    @property
    def listens(self) -> bool: ...

    @property
    def reads_requests(self) -> bool: ...

    @property
    def knows_cluster(self) -> bool: ...


class KafkaListeners:
    """Listeners of one broker. `listeners`: bound sockets, one for each of `places`.

    They listen when `startup.listens`.
    """

    def __init__(
        self,
        shell: NodeShell,
        startup: Startup,
        gates: Gates,
        broker: BrokerId,
        places: list[Place],
        listeners: list[socket.socket],
    ) -> None:
        self._shell = shell
        self._startup = startup
        self._starts_after_registration = gates.serves_after_registration
        self._listeners = [(listener_of(gates, place), sock) for place, sock in zip(places, listeners, strict=True)]
        life = shell.settings.life
        self._faults = ListenerFaults(shell.links, life.node.name)
        self._observer = ClientObserver(life.node.name, life.incarnation, broker, shell.emit)
        self._unauthenticated = UnauthenticatedConnections(max(1, descriptors() // 8))
        self._known: dict[str, int] = {}
        """{AZ: clients that are connected}"""
        self._known_max = max(1, descriptors() // 2 // len(places))
        """Maximum clients of each AZ: clients behind a cut do not exclude those of other AZs."""
        self._came = 0
        self._clients = 0
        self._refused = 0
        self._unended = UnendedFrames(UNENDED_BYTES_MAX)
        self._unended_unauthenticated = UnendedFrames(UNAUTHENTICATED_BYTES_MAX)

    async def serve(self) -> None:
        """Serve until cancelled.

        In Kafka's order (KafkaServer.startup): the port refuses connections while logs are loaded, then it accepts
        them, and reads from them only when the broker has started.
        """
        shell, startup = self._shell, self._startup
        try:
            await shell.until(lambda: startup.listens)
            for _, sock in self._listeners:
                sock.listen(BACKLOG)
            await shell.until(lambda: startup.reads_requests)
            if self._starts_after_registration:
                await self._finish_startup()
            async with trio.open_nursery() as nursery:
                for listener, sock in self._listeners:
                    nursery.start_soon(self._accept, listener, sock)
        finally:
            for _, sock in self._listeners:
                sock.close()

    async def _finish_startup(self) -> None:
        shell, startup = self._shell, self._startup
        await trio.sleep(shell.clock.real_s(REST_OF_STARTUP_MS))
        with trio.move_on_after(shell.clock.real_s(STARTUP_READS_MS_MAX)):
            await shell.until(lambda: startup.knows_cluster)

    async def _accept(self, listener: Listener, listening: socket.socket) -> None:
        async with trio.open_nursery() as nursery:

            def take(sock: socket.socket, address: str) -> None:
                nursery.start_soon(self._receive_one, listener, sock, address)

            await accept_all(listening, take, self._unauthenticated.close_oldest)

    async def _receive_one(self, listener: Listener, sock: socket.socket, address: str) -> None:
        """Serve one connection until its end."""
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            begun = await self._first_request(listener, sock, address)
            if begun is None:
                sock.close()
                return
        except OSError as error:
            sock.close()
            self._refuse(address, f"lost before its first request: {error}")
            return
        except ProtocolError as error:
            sock.close()
            self._refuse(address, str(error))
            return
        except BaseException:
            sock.close()
            raise
        az = listener.place.az
        known = self._known.get(az, 0)
        if known >= self._known_max:
            sock.close()
            self._refuse(address, f"{known} Kafka clients of this AZ are connected, and there is room for no more")
            return
        self._known[az] = known + 1
        try:
            await self._serve_one(listener, sock, *begun)
        finally:
            self._known[az] -= 1

    async def _first_request(
        self, listener: Listener, sock: socket.socket, address: str
    ) -> tuple[FrameDecoder, Arrived, list[bytes]] | None:
        """(Decoder, first request, later frames received). None: there is no request.

        Raises ProtocolError, OSError.
        """
        self._came += 1
        number, decoder = self._came, FrameDecoder()
        payloads: list[bytes] = []
        answered: tuple[FrameDecoder, Arrived, list[bytes]] | None = None
        with self._unauthenticated.one() as scope:
            try:
                while not payloads:
                    data = await receive(sock, READ_BYTES)
                    if not data:
                        return None  # a probe of the port is no event
                    if decoder.pending_bytes == 0 and data.startswith(TLS_HELLO):
                        raise ProtocolError("TLS; this listener is a plain one (security.protocol=PLAINTEXT)")
                    payloads = decoder.feed(data)
                    self._unended_unauthenticated.hold(number, 0 if payloads else decoder.pending_bytes, scope)
            finally:
                self._unended_unauthenticated.hold(number, 0, scope)
            answered = decoder, _read(payloads[0], listener), payloads[1:]
        if scope.cancelled_caught:
            self._refuse(address, "no request in time, or others needed the room")
        return answered

    async def _serve_one(
        self, listener: Listener, sock: socket.socket, decoder: FrameDecoder, arrived: Arrived, payloads: list[bytes]
    ) -> None:
        self._clients += 1
        place = listener.place
        name = f"{place.title}.{self._shell.settings.life.incarnation}#{self._clients}"
        client = KafkaClient(self._observer, lambda: _is_there(sock))
        connection = self._shell.switchboard.accepted_in_translation(name, place.peer, sock, client)
        await self._converse(listener, connection, sock, client, decoder, arrived, deque(payloads))

    async def _converse(
        self,
        listener: Listener,
        connection: Connection,
        sock: socket.socket,
        client: KafkaClient,
        decoder: FrameDecoder,
        arrived: Arrived,
        payloads: deque[bytes],
    ) -> None:
        """Serve requests one after the other, until the connection's end.

        The next one, if it was received with this one, is decoded while this one waits for its response.
        """
        switchboard = self._shell.switchboard
        reason = "closed by peer"
        try:
            while True:
                if self._shell.links.in_force and (hit := self._faults.hit(arrived.request)) is not None:
                    rule, fault = hit
                    met = await self._met(client, arrived, fault)
                    if met is None:
                        reason = f"protocol fault {rule}"
                        break
                    arrived = met
                client.taken(arrived)
                with self._shell.turn:
                    switchboard.offer_in_translation(connection, arrived, arrived.request.client_id)
                following = _read_or_refuse(payloads.popleft(), listener) if payloads else None
                await client.wait_free()
                if client.silent:
                    await _discard(sock)
                    break
                if client.over:  # Kafka, too, discards requests of a client that it cannot answer
                    return
                if self._shell.full:
                    await self._shell.wait_room()
                if isinstance(following, ProtocolError):
                    raise following
                if following is not None:
                    arrived = following
                    continue
                data = await receive_next(sock)
                payloads.extend(decoder.feed(data) if data else ())
                if data and not payloads:
                    with trio.CancelScope() as scope:
                        try:
                            while data and not payloads:
                                self._unended.hold(connection.id, decoder.pending_bytes, scope)
                                data = await receive_next(sock)
                                payloads.extend(decoder.feed(data) if data else ())
                        finally:
                            self._unended.hold(connection.id, 0, scope)
                    if scope.cancelled_caught:
                        reason = f"{UNENDED_BYTES_MAX} bytes of unended frames are held, and others needed the room"
                        self._refuse(connection.name, reason)
                        break
                if not data:
                    break
                arrived = _read(payloads.popleft(), listener)
        except ProtocolError as error:
            reason = f"refused: {error}"
            self._refuse(connection.name, str(error))
        except OSError:
            pass
        except trio.ClosedResourceError:
            return
        self._shell.look_at_clock()
        switchboard.lost(connection, reason)

    async def _met(self, client: KafkaClient, arrived: Arrived, fault: ProtocolFault) -> Arrived | None:
        """The request as a protocol fault leaves it. None: the connection is closed."""
        request = arrived.request
        if fault.action == "close":
            return None
        if fault.action == "delay":
            await trio.sleep(self._shell.clock.real_s(fault.delay_ms))
        elif fault.action == "error":
            if not isinstance(arrived.message, AnsweredHere):
                answer = refused(request, arrived.message, ErrorCode(fault.error))
                return Arrived(arrived.correlation_id, arrived.version, answer, request)
        elif isinstance(arrived.message, AnsweredHere):
            return None  # the listener's own answer; there is nothing to apply
        elif not (isinstance(arrived.message, ProduceRequest) and request.body.acks == 0):
            client.response_taken(fault.action)
        return arrived

    def _refuse(self, peer: str, reason: str) -> None:
        self._refused += 1
        if self._refused > REFUSALS_WRITTEN_MAX:
            return
        if self._refused == REFUSALS_WRITTEN_MAX:
            reason += f"; the {REFUSALS_WRITTEN_MAX}th refusal of this life, the last that is written down"
        self._shell.emit(FrameRefused(connection="", peer=peer, reason=reason), "wire")


def _read(payload: bytes, listener: Listener) -> Arrived:
    """Decode and translate a frame. Raises ProtocolError."""
    request = read_request(payload, listener)
    return Arrived(request.correlation_id, request.version, message_of(request), request)


async def _discard(sock: socket.socket) -> None:
    """Read and drop what a client sends on a silent connection, until its end."""
    while await receive_next(sock):
        await trio.lowlevel.checkpoint()


def _read_or_refuse(payload: bytes, listener: Listener) -> Arrived | ProtocolError:
    """`_read`, whose error counts after the request before it."""
    try:
        return _read(payload, listener)
    except ProtocolError as error:
        return error


def _is_there(sock: socket.socket) -> bool:
    """The kernel has the connection as established: it has received no FIN of the client."""
    try:
        (state,) = struct.unpack_from("B", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8))
    except OSError:
        return False
    return bool(state == ESTABLISHED)
