"""A cluster of real processes that Kafka clients can use, while a `with` block runs."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from emulator.cluster import requests as r
from emulator.cluster.control_client import ask
from faultline import asks
from faultline.asks import Recovery, Setting
from faultline.lifetime import Lifetime
from faultline.settled import settled
from faultline.verdict import Verdict

LOOK_AGAIN_S = 0.1


class Cluster(Lifetime):
    """Three brokers and three session servers in three AZs, unless `topology` (a name, or a compose file) says
    otherwise. It is ready when the block begins, and gone when it ends, or the program does, however that ends; its
    directory stays.

    Args:
        kafka_version: as which the brokers behave, 0.10.2 to 2.8; by default 2.6.
        settings: any of Kafka's, for every broker: `{"min.insync.replicas": 2}`.
        seed: varies what is left to chance.
        directory: the run's, new or empty; by default a new one below the system's directory for temporary files.
        ready_s: seconds within which it must be ready.

    Every method raises Refused for what cannot be done, and FaultlineError outside the block.
    """

    def __enter__(self) -> "Cluster":
        """Raises NotStarted."""
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish()

    def status(self) -> dict[str, Any]:
        """As `faultline status --json`: what every node itself thinks."""
        return self._do(r.Status())

    # --- links ---

    def cut(
        self, *places: str, only: Sequence[str] = (), client_id: str = "", recovery: Recovery = "rto"
    ) -> str:
        """`cut("az-0")`: from all others; `cut("broker-0", "broker-1")`: the link between them; `cut("client-0", "->",
        "broker-1")`: one way. A place may be `leader:t-0` or `active-controller`, too. Clients of an AZ are where its
        `client-N` is. `only`: frames of these APIs; `client_id`: connections of Kafka clients that call themselves so;
        here and below. After the heal data flows when TCP tries again, or at once (`recovery`). Returns the rule's
        name."""
        return asks.rule_of(self._do(asks.cut(places, only, client_id, recovery)))

    def hold(self, *places: str, only: Sequence[str] = (), client_id: str = "") -> str:
        """As `cut`, and what was held is delivered at the heal."""
        return asks.rule_of(self._do(asks.hold(places, only, client_id)))

    def delay(
        self, *places: str, ms: float, jitter_ms: float = 0.0, only: Sequence[str] = (), client_id: str = ""
    ) -> str:
        """Every frame takes so much longer."""
        return asks.rule_of(self._do(asks.delay(places, ms, jitter_ms, only, client_id)))

    def loss(self, *places: str, share: float, only: Sequence[str] = (), client_id: str = "") -> str:
        """That share of frames is lost, and comes by a retransmission."""
        return asks.rule_of(self._do(asks.loss(places, share, only, client_id)))

    def heal(self, *names: str, kind: r.HealedKind = "") -> None:
        """The rules that name all of these places, or are called so; without a name all. `kind`: only of that kind."""
        self._do(r.Heal(list(names), kind))

    # --- machines ---

    def kill(self, *nodes: str) -> None:
        """SIGKILL.

        A node, all of an AZ (`az-0`) or of a pattern (`broker-*`), a partition's leader (`leader:t-0`) or the
        `active-controller`; here and below."""
        self._do(asks.machine("kill", nodes))

    def stop(self, *nodes: str) -> None:
        """SIGTERM: an orderly stop."""
        self._do(asks.machine("stop", nodes))

    def start(self, *nodes: str) -> None:
        """Again, after a kill or stop; returns when a broker is registered."""
        self._do(asks.machine("start", nodes))

    def pause(self, *nodes: str) -> None:
        """SIGSTOP: it stands still until `resume`."""
        self._do(asks.machine("pause", nodes))

    def resume(self, *nodes: str) -> None:
        """SIGCONT."""
        self._do(asks.machine("resume", nodes))

    # --- topics ---

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replicas: int = 3,
        assignment: Sequence[Sequence[int]] = (),
        settings: Mapping[str, Setting] | None = None,
    ) -> None:
        """Returns when every partition has a leader. `assignment`: brokers by partition, the preferred leader first,
        instead of `partitions` and `replicas`."""
        self._do(asks.create_topic(name, partitions, replicas, assignment, settings))

    def settle(self, limit_s: float = 30.0) -> bool:
        """Waits until every partition has one leader and all its living replicas are in sync with one log, at most
        `limit_s`. Whether it is so: nobody heals or starts anything here."""
        until = time.monotonic() + limit_s
        while not settled(self.status()):
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_AGAIN_S)
        return True

    # --- the audit ---

    def audit(self) -> Verdict:
        """Judges what has happened so far, by Spark: what clients were told and what became of it. Within the block or
        after it; replicas that have not met again since a heal differ, so `settle` first. Takes some ten seconds.
        Raises Refused where it cannot be had."""
        from faultline.auditing import audited

        return audited(self.directory)

    def _do(self, what: r.Ask) -> dict[str, Any]:
        return asks.done(ask(self._running().registration, what, self._ready_s))

    def _in_a_block(self) -> str:
        return "with faultline.Cluster() as cluster"
