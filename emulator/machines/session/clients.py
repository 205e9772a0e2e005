"""Connections of session clients at one server, and the order of their responses.

Responses leave in the order of the requests. The server answers reads from its own tree, but not before the earlier
writes of the same client. So a client reads its own writes, and never goes back in time (semantics 5.3). Only a
serving server has clients.
"""



from emulator.machines.session.quorum import Quorum, Replica
from emulator.machines.session.server_watches import WATCHES_MAX, Watches
from emulator.machines.session.session_state import Client, Pending
from emulator.machines.session.sessions import SessionLimits
from emulator.machines.session.znode import Change
from protocol.chance import Chance
from protocol.machine import Now
from protocol.messages.ensemble import Transaction
from protocol.messages.message_base import Message
from protocol.messages.session_messages import (
    Check,
    CloseSessionRequest,
    CloseSessionResponse,
    ConnectRequest,
    ConnectResponse,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Operation,
    OpResult,
    PingRequest,
    PingResponse,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetData,
    SetWatchesRequest,
    SetWatchesResponse,
    Sync,
)
from protocol.outbox import Outbox, Owner

OUTSTANDING_MAX = 1000
"""Bound of one connection's requests that wait for the quorum.

Beyond it the server closes the connection. ZooKeeper's globalOutstandingLimit.
"""

CONNECTIONS_MAX = 1000
"""Bound of one server's clients; it rejects later ones.

ZooKeeper's maxClientCnxns is 60 for each host.
"""

_READS = (GetData, Exists, GetChildren)
_WRITES = (Create, Delete, SetData, Check)


class Clients:
    """Clients of one server.

    `next_request` numbers requests to the quorum. It is unique over this server's lives, because old proposals may
    yet commit.
    """

    def __init__(self, me: int, replica: Replica, limits: SessionLimits) -> None:
        self._me = me
        self._replica = replica
        self._limits = limits
        self._clients: dict[int, Client] = {}
        self._waiting: dict[int, tuple[Client, Pending]] = {}
        self._watches = Watches()
        self._chance = Chance(0)
        self._next_request = 0

    def start(self, chance: Chance, incarnation: int) -> None:
        """Begin a life. `chance` draws passwords."""
        self._chance = chance
        self._next_request = incarnation << 40

    def accepted(self, out: Outbox, connection: int, peer: str, owner: Owner) -> None:
        """Accept a connection; `owner` receives its events."""
        if len(self._clients) >= CONNECTIONS_MAX:
            out.close(connection)
        else:
            self._clients[connection] = Client(connection, peer)
            out.own(connection, owner)

    def lost(self, connection: int) -> None:
        """Forget a disconnected client; its session lives until it expires."""
        client = self._clients.pop(connection)
        for pending in client.pending:
            self._waiting.pop(pending.request, None)
        self._watches.forget(connection)

    def close_all(self, out: Outbox) -> None:
        """Close all connections: this server serves no longer ("not running")."""
        for connection in self._clients:
            out.close(connection)
        self._clients.clear()
        self._waiting.clear()
        self._watches = Watches()

    # --- requests -------------------------------------------------------------------------------------------

    def message(
        self, now: Now, out: Outbox, quorum: Quorum, connection: int, correlation_id: int, message: Message
    ) -> None:
        client = self._clients[connection]
        if client.session:
            if not quorum.touch(now, client.session) and _proposes_nothing(message):
                self._close(out, client)
                return
        elif not isinstance(message, ConnectRequest) or client.pending:
            self._close(out, client)
            return
        if len(client.pending) >= OUTSTANDING_MAX or self._watches.count > WATCHES_MAX:
            self._close(out, client)
            return
        match message:
            case SessionRequest():
                self._operations(now, out, quorum, client, correlation_id, message)
            case PingRequest() | SetWatchesRequest():
                self._in_turn(out, client, Pending(correlation_id, message))
            case ConnectRequest():
                self._connect(now, out, quorum, client, correlation_id, message)
            case CloseSessionRequest():
                transaction = Transaction(0, "close", client.session, self._me, reason="closed")
                self._to_quorum(now, out, quorum, client, Pending(correlation_id, message), transaction)
            case _:
                self._close(out, client)

    def _operations(
        self, now: Now, out: Outbox, quorum: Quorum, client: Client, correlation_id: int, message: SessionRequest
    ) -> None:
        pending = Pending(correlation_id, message)
        writes = [op for op in message.ops if isinstance(op, _WRITES)]
        if message.ops and len(writes) == len(message.ops) and (message.multi or len(writes) == 1):
            transaction = Transaction(0, "operations", client.session, self._me, 0, writes, message.multi)
            self._to_quorum(now, out, quorum, client, pending, transaction)
        elif len(message.ops) == 1 and isinstance(message.ops[0], Sync) and not message.multi:
            pending.request = self._expect(client, pending)
            client.pending.append(pending)
            quorum.catch_up(now, out, pending.request)
        else:
            self._in_turn(out, client, pending)

    def _connect(
        self, now: Now, out: Outbox, quorum: Quorum, client: Client, correlation_id: int, message: ConnectRequest
    ) -> None:
        tree = self._replica.tree
        if client.session or message.last_zxid > tree.zxid:
            # This tree is older than the client's view: the client tries another server.
            self._close(out, client)
            return
        pending = Pending(correlation_id, message)
        if message.session_id == 0:
            timeout_ms = self._limits.negotiated_ms(message.session_timeout_ms)
            password = self._chance.below(1 << 62) + 1
            transaction = Transaction(
                0, "open", 0, self._me, timeout_ms=timeout_ms, password=password, owner=client.peer
            )
            self._to_quorum(now, out, quorum, client, pending, transaction)
            return
        session = tree.sessions.get(message.session_id)
        if session is None or session.password != message.password:
            self._refuse(out, client, correlation_id)
            return
        pending.request = self._expect(client, pending)
        client.pending.append(pending)
        quorum.revalidate(now, out, pending.request, message.session_id)

    def _to_quorum(
        self, now: Now, out: Outbox, quorum: Quorum, client: Client, pending: Pending, transaction: Transaction
    ) -> None:
        pending.request = transaction.request = self._expect(client, pending)
        client.pending.append(pending)
        quorum.propose(now, out, transaction)

    def _expect(self, client: Client, pending: Pending) -> int:
        self._next_request += 1
        self._waiting[self._next_request] = (client, pending)
        return self._next_request

    # --- responses --------------------------------------------------------------------------------------------

    def applied(self, out: Outbox, transaction: Transaction, response: SessionResponse, changes: list[Change]) -> None:
        """Send notices and response of an applied transaction, notices first.

        A notice leaves before the response to any read that shows the change.
        """
        for change in changes:
            for connection, notice in self._watches.fired(change, transaction.zxid):
                out.send(connection, notice)
        if transaction.origin == self._me:
            self._answer(out, transaction, response)
        if transaction.kind == "close" and not response.error:
            for client in [c for c in self._clients.values() if c.session == transaction.session]:
                self._close(out, client)

    def _answer(self, out: Outbox, transaction: Transaction, response: SessionResponse) -> None:
        client, pending = self._waiting.pop(transaction.request, (None, None))
        if client is None or pending is None:
            return
        if transaction.kind == "open":
            client.session, client.timeout_ms = transaction.zxid, transaction.timeout_ms
            pending.answer = ConnectResponse(transaction.timeout_ms, transaction.zxid, transaction.password)
        elif transaction.kind == "close":
            pending.answer = CloseSessionResponse()
        elif response.error == SessionError.SESSION_MOVED and not transaction.multi:
            # The leader takes the session to be at another server, which the client tried before. The client
            # reconnects, and so moves its session here (ZOOKEEPER-710). A multi gets a response, up to 3.5
            # (FinalRequestProcessor).
            self._close(out, client)
            return
        else:
            pending.answer = response
        self._answer_in_order(out, client)

    def revalidated(self, out: Outbox, request: int, valid: bool) -> None:
        client, pending = self._waiting.pop(request, (None, None))
        if client is None or pending is None:
            return
        message = pending.message
        assert isinstance(message, ConnectRequest)
        session = self._replica.tree.sessions.get(message.session_id)
        if not valid or session is None:
            self._refuse(out, client, pending.correlation_id)
            return
        for other in [c for c in self._clients.values() if c.session == message.session_id]:
            self._close(out, other)
        client.session, client.timeout_ms = session.session, session.timeout_ms
        pending.answer = ConnectResponse(session.timeout_ms, session.session, session.password)
        self._answer_in_order(out, client)

    def caught_up(self, out: Outbox, request: int) -> None:
        client, pending = self._waiting.pop(request, (None, None))
        if client is None or pending is None:
            return
        assert isinstance(pending.message, SessionRequest)
        result = OpResult(0, pending.message.ops[0].path)
        pending.answer = SessionResponse([result], 0, self._replica.tree.zxid)
        self._answer_in_order(out, client)

    def _in_turn(self, out: Outbox, client: Client, pending: Pending) -> None:
        if client.pending:
            client.pending.append(pending)
        else:
            self._answer_here(out, client, pending)

    def _answer_in_order(self, out: Outbox, client: Client) -> None:
        line = client.pending
        while line:
            head = line[0]
            if head.answer is not None:
                line.popleft()
                out.send(client.connection, head.answer, head.correlation_id)
            elif head.request == 0:
                line.popleft()
                self._answer_here(out, client, head)
            else:
                return

    def _answer_here(self, out: Outbox, client: Client, pending: Pending) -> None:
        """Answer from this server's tree, as it is now."""
        message = pending.message
        tree = self._replica.tree
        answer: Message
        if type(message) is PingRequest:
            answer = PingResponse(tree.zxid)
        elif type(message) is SetWatchesRequest:
            for notice in self._watches.resume(client.connection, message, tree):
                out.send(client.connection, notice)
            answer = SetWatchesResponse()
        else:
            assert isinstance(message, SessionRequest)
            if len(message.ops) == 1 and isinstance(message.ops[0], _READS) and not message.multi:
                result = self._read(client, message.ops[0])
                answer = SessionResponse([result], result.error, tree.zxid)
            else:
                # Several operations without `multi`, a multi that reads, or no operation.
                bad = SessionError.BAD_ARGUMENTS
                answer = SessionResponse([OpResult(bad, op.path) for op in message.ops], bad, tree.zxid)
        out.send(client.connection, answer, pending.correlation_id)

    def _read(self, client: Client, op: Operation) -> OpResult:
        """Execute a read, and set its watch.

        As in ZooKeeper: get and children set one only if the znode exists, exists always.
        """
        tree = self._replica.tree
        if isinstance(op, GetData):
            result = tree.get(op.path)
            if op.watch and not result.error:
                self._watches.watch_data(client.connection, op.path)
        elif isinstance(op, Exists):
            result = tree.exists(op.path)
            if op.watch:
                self._watches.watch_data(client.connection, op.path)
        else:
            assert isinstance(op, GetChildren)
            result = tree.children(op.path)
            if op.watch and not result.error:
                self._watches.watch_children(client.connection, op.path)
        return result

    def _refuse(self, out: Outbox, client: Client, correlation_id: int) -> None:
        """Report an expired session (or a wrong password), and close the connection."""
        out.send(client.connection, ConnectResponse(0), correlation_id)
        self._close(out, client)

    def _close(self, out: Outbox, client: Client) -> None:
        out.close(client.connection)
        self.lost(client.connection)


def _proposes_nothing(message: Message) -> bool:
    """Whether no proposal follows from the message; a proposal's response comes from `_answer`."""
    if isinstance(message, SessionRequest):
        return not any(isinstance(op, _WRITES) for op in message.ops)
    return isinstance(message, PingRequest | SetWatchesRequest)
