"""The switchboard: all connections of one node, and the gates their frames pass.

Effects of the machine (open, send, close) come in from the shell; inputs (accepted, opened, message, lost) go back into
its mailbox. Between the two are the gates of `emulator.faults.enforcement`: a frame that a rule stops waits there, and
so does a peer's end, which a cut hides until TCP would have learnt of it.
"""

import socket
from typing import Any

import trio

from emulator.faults.enforcement import LinkState
from emulator.faults.links import DATA, retransmission_of
from emulator.worlds.network.connection import (
    INCOMING_FRAMES_MAX,
    OUTGOING_BYTES_MAX,
    Connection,
    Marker,
    State,
    Translator,
    connect,
    receive_next,
)
from emulator.worlds.network.mailbox import AnsweredHere, Host, Letter, Outgoing
from emulator.worlds.network.response_errors import ResponseErrors
from emulator.worlds.network.spec import Address
from emulator.worlds.network.wire_events import WireEvents
from protocol.conversations import AcceptedMessages, Conversation, OutOfPlace
from protocol.events import FrameReceived, FrameRefused, FrameSent
from protocol.frame import Frame
from protocol.framing import FrameDecoder, ProtocolError, decode, encode
from protocol.machine import (
    Close,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Loss,
    MessageReceived,
    Open,
    Send,
)
from protocol.messages.control import Hello
from protocol.purposes import CLIENT


class Switchboard:
    """Connections by id: positive if this node opened them, negative if it accepted them.

    `accepted_messages`: the messages that the machine takes, and no others get through to it; None: all.
    """

    def __init__(self, host: Host, links: LinkState, accepted_messages: AcceptedMessages | None = None) -> None:
        self._host = host
        self.links = links
        self._accepted_messages = accepted_messages
        self._wire = WireEvents(host)
        self._connections: dict[int, Connection] = {}
        self._accepted = 0
        self._translates = True
        self.response_errors = ResponseErrors()
        self._dirty: dict[int, Connection] = {}
        self._ending: dict[Connection, None] = {}
        """Past their gates with all frames, which the kernel has not taken all yet."""
        self._moved = trio.Event()
        """Set when something has passed a gate or has been written, or a rule has come or gone."""

    async def drain_all(self) -> None:
        """Wait until the kernel has everything that passed the gates."""
        for connection in list(self._connections.values()):
            await connection.drain()

    async def leave(self) -> None:
        """End every connection behind its frames, as a kernel does when a process ends.

        Return when the kernel has all that passes by itself; frames that a cut or a hold stops need a heal, and are
        left.
        """
        for connection in list(self._connections.values()):
            if connection.state is State.OPENING:
                self.end(connection)
            elif connection.state is State.STANDING:
                self._close(connection)
        self.write_out()
        while self._ending or any(one.out.passes_by_itself for one in self._connections.values()):
            self._moved = trio.Event()
            await self._moved.wait()

    def end_translations(self) -> None:
        """End the translators with the node's process: no further request is answered."""
        self._translates = False
        for connection in self._connections.values():
            if connection.translator is not None:
                connection.translator.ended()

    def close_all(self) -> None:
        """Close all sockets."""
        for connection in self._connections.values():
            connection.close_socket()

    # --- connections: orders of the machine ------------------------------------------------------------------

    def open(self, effect: Open, cause: str) -> None:
        assert effect.connection > 0 and effect.connection not in self._connections, effect
        name = f"{self._host.name}.{self._host.settings.life.incarnation}#{effect.connection}"
        out, back = self.links.connect(self._host.now.mono_ms, effect.to, effect.purpose, opened_here=True)
        connection = Connection(effect.connection, name, effect.to, effect.purpose, out, back, State.OPENING)
        if self._accepted_messages is not None:
            connection.conversation = Conversation(self._accepted_messages, effect.purpose, opened=True)
        self._connections[connection.id] = connection
        connection.opening = self.links.opening(out, back)
        self._wire.changed(connection, "opening", cause=cause)
        self._attempt(connection)

    def _attempt(self, connection: Connection) -> None:
        """Send a SYN, if no rule stops it."""
        opening = connection.opening
        assert opening is not None
        stopped = opening.attempt(self._host.now.mono_ms)
        if stopped is not None:
            self._wire.stopped(connection, stopped, "", 0)
            self._watch(connection)
            return
        self.links.forget(opening)
        connection.opening = None
        address = self._host.settings.routes.get(connection.peer)
        if address is None:
            self._lose(connection, f"no node {connection.peer}")
        else:
            self._host.nursery.start_soon(self._connect, connection, address)

    async def _connect(self, connection: Connection, address: Address) -> None:
        try:
            sock = await connect(address)
        except OSError:
            self._host.look_at_clock()
            self.lost(connection, Loss.REFUSED.value, Loss.REFUSED)
            return
        if connection.state is not State.OPENING:
            sock.close()
            return
        self._host.look_at_clock()
        connection.sock = sock
        connection.state = State.STANDING
        hello = Hello(
            node=self._host.name,
            incarnation=self._host.settings.life.incarnation,
            connection=connection.id,
            purpose=connection.purpose,
            token=self._host.settings.token,
        )
        self._raw(connection, encode(hello))
        self._wire.changed(connection, "opened")
        self._host.post_letter(Letter(ConnectionOpened(connection.id), f"{connection.name}/0", connection))
        self.write_out()
        await self.read(connection, sock)

    def send(self, effect: Send, cause: str) -> None:
        connection = self._connections.get(effect.connection)
        if connection is None or connection.state in (State.CLOSING, State.ENDED):
            return
        assert connection.opened, f"{self._host.name} sends on a connection that is not open yet: {effect}"
        self.response_errors.count(effect.message)
        if connection.translator is not None:
            self._answer_in_translation(connection, connection.translator, effect, cause)
            return
        if connection.conversation is not None:
            connection.conversation.say(effect.message, effect.correlation_id)
        try:
            frame = encode(effect.message, effect.correlation_id, effect.version)
        except ProtocolError as error:  # a peer requested more than a frame holds
            self._lose(connection, str(error))
            return
        self._send_frame(connection, Outgoing(frame, effect.message, effect.correlation_id, cause))

    def _send_frame(self, connection: Connection, outgoing: Outgoing) -> None:
        connection.pending_bytes += len(outgoing.frame)
        if connection.pending_bytes > OUTGOING_BYTES_MAX:
            self._lose(connection, f"more than {OUTGOING_BYTES_MAX} bytes wait to be sent")
            return
        self._offer_out(connection, outgoing)

    def _answer_in_translation(self, connection: Connection, translator: Translator, effect: Send, cause: str) -> None:
        frame = translator.answered(effect.message)
        if frame is not None:
            self._send_frame(connection, Outgoing(frame, effect.message, effect.correlation_id, cause))
        elif translator.fails_by_close:
            self._lose(connection, "a request that is not answered has failed")

    def close(self, effect: Close, cause: str) -> None:
        connection = self._connections.get(effect.connection)
        if connection is None or connection.state in (State.CLOSING, State.ENDED):
            return
        self._wire.changed(connection, "closed", cause=cause)
        if connection.state is State.OPENING:
            self.end(connection)
            return
        self._close(connection)

    def _close(self, connection: Connection) -> None:
        """Send the end of our stream behind the frames, through the same gate."""
        connection.state = State.CLOSING
        connection.out.orphan(self._host.now.mono_ms)
        self._offer_out(connection, Marker.CLOSE)

    # --- connections: frames pass the gates ------------------------------------------------------------------

    def _offer_out(self, connection: Connection, payload: Any) -> None:
        path = connection.out
        if path.calm:
            self._pass_out(connection, payload)
            return
        api, size_bytes, of = "", 0, DATA
        if isinstance(payload, Outgoing):
            api, size_bytes = payload.message.API_NAME, len(payload.frame)
            of = retransmission_of(payload.message, size_bytes)
        ends = payload is Marker.CLOSE
        stopped = path.offer(self._host.now.mono_ms, payload, api, of, size_bytes, ends=ends)
        if stopped is None:
            self._pass_out(connection, payload)
            return
        if stopped.action == "dropped":
            connection.pending_bytes -= size_bytes
            if connection.translator is not None:
                connection.translator.dropped()
        self._wire.stopped(connection, stopped, api, size_bytes)
        self._watch(connection)

    def _pass_out(self, connection: Connection, payload: Any) -> None:
        if isinstance(payload, Outgoing):
            connection.frames_out += 1
            if self._host.events.wire:
                self._wire.frame(FrameSent, connection, connection.frames_out, type(payload.message),
                                  payload.correlation_id, len(payload.frame), payload.cause)  # fmt: skip
            if connection.translator is not None:
                connection.translator.left()
            connection.buffer.append(payload.frame)
            self._dirty[connection.id] = connection
        else:
            assert payload is Marker.CLOSE
            self._dirty.pop(connection.id, None)
            self._ending[connection] = None
            self.end(connection, keep_socket=True)
            self._host.nursery.start_soon(self._finish, connection)

    def _raw(self, connection: Connection, frame: bytes) -> None:
        connection.pending_bytes += len(frame)
        connection.buffer.append(frame)
        self._dirty[connection.id] = connection

    async def _finish(self, connection: Connection) -> None:
        try:
            if connection.buffer:
                self._host.flush()
                connection.write()
            if await connection.drain():
                connection.end_stream()
                self._written(connection)
                await connection.linger()
        finally:  # the shell may end meanwhile
            self._written(connection)
            connection.close_socket()

    def _written(self, connection: Connection) -> None:
        self._ending.pop(connection, None)
        self._moved.set()

    def write_out(self) -> None:
        """Write events that clients depend on, then frames."""
        if not self._dirty:
            return
        if self._host.events.urgent:
            self._host.flush()
        dirty, self._dirty = self._dirty, {}
        for connection in dirty.values():
            if connection.draining:
                continue
            if not connection.write():
                self.lost(connection, "closed by peer")
            elif connection.buffer:
                connection.draining = True
                self._host.nursery.start_soon(self._drain, connection)
            elif connection.translator is not None:
                connection.translator.written()

    async def _drain(self, connection: Connection) -> None:
        alive = await connection.drain()
        connection.draining = False
        if not alive:
            self._host.look_at_clock()
            self.lost(connection, "closed by peer")
        elif connection.translator is not None:
            connection.translator.written()

    async def read(self, connection: Connection, sock: socket.socket) -> None:
        """Read frames of an established connection, until its end."""
        decoder = FrameDecoder()
        reason = "closed by peer"
        try:
            while True:
                data = await receive_next(sock)
                self._host.look_at_clock()
                if data and connection.state is not State.STANDING:
                    await trio.lowlevel.checkpoint()  # a peer that goes on sending has no more than its turn
                    continue  # the machine closed it: discarded
                if not data:
                    if decoder.pending_bytes:
                        reason = f"closed by peer with {decoder.pending_bytes} bytes of a torn frame"
                    break
                with self._host.turn:
                    while payloads := decoder.feed(data):
                        data = b""
                        for payload in payloads:
                            frame = decode(payload)
                            if connection.conversation is not None:
                                connection.conversation.hear(frame.message, frame.correlation_id)
                            self._offer_in(connection, (frame, payload))
                if self._host.full:
                    await self._host.wait_room()
                if connection.back.waiting > INCOMING_FRAMES_MAX and connection.state is State.STANDING:
                    connection.can_read = trio.Event()
                    await connection.can_read.wait()
        except (ProtocolError, OutOfPlace) as error:
            reason = f"refused: {error}"
            self._host.emit(FrameRefused(connection=connection.name, peer=connection.peer, reason=str(error)), "wire")
        except OSError:
            reason = "closed by peer"
        except trio.ClosedResourceError:
            return
        self.lost(connection, reason)

    def _offer_in(self, connection: Connection, payload: Any) -> None:
        path = connection.back
        if path.calm:
            self._pass_in(connection, payload)
            return
        api, size_bytes, of = "", 0, DATA
        if isinstance(payload, tuple):
            api, size_bytes = payload[0].message.API_NAME, len(payload[1])
            of = retransmission_of(payload[0].message, size_bytes)
        stopped = path.offer(self._host.now.mono_ms, payload, api, of, ends=payload is Marker.LOST)
        if stopped is None:
            self._pass_in(connection, payload)
        else:
            self._wire.stopped(connection, stopped, api, size_bytes)
            self._watch(connection)
            if stopped.action == "dropped" and connection.translator is not None:
                connection.translator.dropped()
        self._emit_link_events()

    def _pass_in(self, connection: Connection, payload: Any) -> None:
        """Handle a frame or a marker that has arrived."""
        if isinstance(payload, tuple):
            if connection.translator is not None and not self._is_answerable(connection):
                return
            frame: Frame = payload[0]
            connection.frames_in += 1
            cause = f"{connection.name}/{connection.frames_in}"
            if self._host.events.wire:
                self._wire.frame(FrameReceived, connection, connection.frames_in, type(frame.message),
                                  frame.correlation_id, len(payload[1]) + 4, cause)  # fmt: skip
            if connection.translator is not None:
                connection.translator.passed(frame, cause)
                if isinstance(frame.message, AnsweredHere):
                    self._answer_here(connection, frame, cause)
                    return
            event = MessageReceived(connection.id, frame.correlation_id, frame.version, frame.message)
            self._host.post_letter(Letter(event, cause, connection, payload[1]))
        elif payload is Marker.ACCEPTED:
            self._wire.changed(connection, "accepted")
            accepted = ConnectionAccepted(connection.id, connection.peer, connection.purpose)
            self._host.post_letter(Letter(accepted, f"{connection.name}/0", connection))
        else:
            assert payload is Marker.LOST
            self._lose(connection, connection.lost_reason, connection.loss)

    def _is_answerable(self, connection: Connection) -> bool:
        """Whether the machine may see frames of this connection with a translator."""
        return self._translates and connection.state is State.STANDING

    # --- connections: their ends -----------------------------------------------------------------------------

    def accepted(self, hello: Hello, sock: socket.socket) -> Connection:
        """Accept a peer's connection whose Hello is valid."""
        self._host.look_at_clock()
        self._accepted += 1
        out, back = self.links.connect(self._host.now.mono_ms, hello.node, hello.purpose, opened_here=False)
        name = f"{hello.node}.{hello.incarnation}#{hello.connection}"
        connection = Connection(-self._accepted, name, hello.node, hello.purpose, out, back, State.STANDING)
        connection.sock = sock
        if self._accepted_messages is not None:
            connection.conversation = Conversation(self._accepted_messages, hello.purpose, opened=False)
        self._connections[connection.id] = connection
        self._offer_in(connection, Marker.ACCEPTED)
        self._watch(connection)
        return connection

    def accepted_in_translation(self, name: str, peer: str, sock: socket.socket, translator: Translator) -> Connection:
        """Accept a client with another protocol. Rules concern it as they concern node `peer`."""
        self._host.look_at_clock()
        self._accepted += 1
        out, back = self.links.connect(self._host.now.mono_ms, peer, CLIENT, opened_here=False)
        connection = Connection(-self._accepted, name, peer, CLIENT, out, back, State.STANDING)
        connection.sock, connection.translator = sock, translator
        self._connections[connection.id] = connection
        self._offer_in(connection, Marker.ACCEPTED)
        self._watch(connection)
        return connection

    def offer_in_translation(self, connection: Connection, frame: Frame, client_id: str) -> None:
        """Offer a client's request, which has the client id `client_id`.

        One of a connection that ended is discarded.
        """
        if not self._is_answerable(connection):
            return
        if client_id != connection.back.client_id:
            self.links.called(self._host.now.mono_ms, client_id, connection.out, connection.back)
            self._watch(connection)
        payload = b""
        if self._host.settings.record_inputs and not isinstance(frame.message, AnsweredHere):
            payload = encode(frame.message, frame.correlation_id, frame.version)[4:]
        self._host.look_at_clock()
        self._offer_in(connection, (frame, payload))

    def _answer_here(self, connection: Connection, request: Frame, cause: str) -> None:
        message = request.message
        assert isinstance(message, AnsweredHere)
        if message.frame:
            self._send_frame(connection, Outgoing(message.frame, message, request.correlation_id, cause))
        else:
            self._lose(connection, "a request that is not answered was refused")

    def lost(self, connection: Connection, reason: str, loss: Loss = Loss.CLOSED) -> None:
        """Handle the peer's FIN or RST, unless a cut stops it: then it comes when the cut is over."""
        if connection.state in (State.CLOSING, State.ENDED):
            connection.close_socket()
            self.end(connection)
        elif not connection.lost_reason:
            connection.lost_reason, connection.loss = reason, loss
            self._offer_in(connection, Marker.LOST)

    def _lose(self, connection: Connection, reason: str, loss: Loss = Loss.CLOSED) -> None:
        """Report the loss to the machine, after the frames before it."""
        if connection.loss_reported or connection.state in (State.CLOSING, State.ENDED):
            return
        connection.loss_reported = True
        self._wire.changed(connection, "refused" if loss is Loss.REFUSED else "lost", reason)
        letter = Letter(ConnectionLost(connection.id, reason, loss), f"{connection.name}/lost", connection)
        self._host.post_letter(letter)

    def end(self, connection: Connection, keep_socket: bool = False) -> None:
        connection.state = State.ENDED
        if self._connections.get(connection.id) is connection:
            del self._connections[connection.id]
        self.links.forget(connection.out, connection.back)
        if connection.translator is not None:
            connection.translator.ended()
        if connection.opening is not None:
            self.links.forget(connection.opening)
            connection.opening = None
        if not keep_socket:
            connection.close_socket()

    # --- links -----------------------------------------------------------------------------------------------

    def links_changed(self) -> None:
        self._emit_link_events()
        self._moved.set()
        for connection in list(self._connections.values()):
            self._watch(connection)

    def _emit_link_events(self) -> None:
        for event in self.links.take_events():
            self._host.emit(event, "command")

    def _watch(self, connection: Connection) -> None:
        """Schedule the next look at the connection's gates."""
        opening = connection.opening
        gates = (connection.out, connection.back)
        times = [opening.next_ms] if opening is not None else [gate.next_ms for gate in gates]
        due_ms = min((at_ms for at_ms in times if at_ms is not None), default=None)
        if due_ms is not None and (connection.service_ms is None or due_ms < connection.service_ms):
            due_ms = max(due_ms, self._host.now.mono_ms)
            connection.service_ms = due_ms
            self._host.call_at(due_ms, lambda: self._service(connection, due_ms))

    def _service(self, connection: Connection, due_ms: float) -> None:
        if connection.state is State.ENDED or connection.service_ms != due_ms:
            return
        connection.service_ms = None
        now_ms = self._host.now.mono_ms
        opening = connection.opening
        if opening is not None:
            if opening.given_up(now_ms):
                self._lose(connection, Loss.TIMED_OUT.value, Loss.TIMED_OUT)
            else:
                self._attempt(connection)
            return
        for payload in connection.out.take(now_ms):
            self._pass_out(connection, payload)
        for payload in connection.back.take(now_ms):
            self._pass_in(connection, payload)
        if connection.can_read is not None and connection.back.waiting <= INCOMING_FRAMES_MAX:
            connection.can_read.set()
        self._emit_link_events()
        self._moved.set()
        loss = connection.out.loss(now_ms) or connection.back.loss(now_ms)
        if loss is not None:
            if loss is Loss.RESET:
                connection.reset_at_close()
            if connection.state is State.CLOSING:
                self.end(connection)
            else:
                self._lose(connection, loss.value, loss)
            return
        self.write_out()
        self._watch(connection)
