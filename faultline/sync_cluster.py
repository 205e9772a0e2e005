"""A cluster of real processes that Kafka clients can use, while a `with` block runs."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from emulator.cluster import control_requests as r
from emulator.cluster.control_client import ask
from emulator.faults.link_fault_kinds import Recovery
from faultline import request_builders
from faultline.lifetime import Lifetime
from faultline.request_builders import Setting
from faultline.settled import settled
from faultline.verdict import Verdict
from protocol.link_rules import LinkFaultKind

LOOK_AGAIN_S = 0.1


class Cluster(Lifetime):
    """A cluster for a `with` block: three brokers and three session servers in three AZs.

    `topology` (a name, or a compose file) selects another one. The cluster is ready when the block begins. It ends with
    the block, and also when the program ends or is killed; its directory stays.

    Args:
        kafka_version: version that the brokers emulate, 0.10.2 to 2.8; by default 2.6.
        settings: any Kafka settings, for every broker: `{"min.insync.replicas": 2}`.
        seed: seed of all random choices.
        directory: the run's, new or empty; by default a new one below the system's directory for temporary files.
        ready_s: time limit for the cluster to become ready, in seconds.

    Every method raises Refused for an impossible request, and FaultlineError outside the block.
    """

    def __enter__(self) -> "Cluster":
        """Start the cluster. Raises NotStarted."""
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish()

    def status(self) -> dict[str, Any]:
        """Each node's own view of the cluster, as `faultline status --json` prints it."""
        return self._do(r.Status())

    # --- links ---

    def cut(
        self, *places: str, only: Sequence[str] = (), client_id: str = "", recovery: Recovery = "rto"
    ) -> str:
        """Cut links; returns the rule's name.

        `cut("az-0")`: from all others. `cut("broker-0", "broker-1")`: the link between them. `cut("client-0", "->",
        "broker-1")`: one way. A place may be `leader:t-0` or `active-controller`, too. Kafka clients of an AZ share the
        links of its `client-N`. `only`: frames of these APIs. `client_id`: connections of Kafka clients with this
        client id; here and below. `recovery`: data flows after the heal at TCP's next retransmission, or at once.
        """
        return self.link_fault("cut", places, only, client_id, recovery)

    def hold(self, *places: str, only: Sequence[str] = (), client_id: str = "") -> str:
        """Queue frames between these places until the heal. Returns the rule's name."""
        return self.link_fault("hold", places, only, client_id)

    def delay(
        self, *places: str, ms: float, jitter_ms: float = 0.0, only: Sequence[str] = (), client_id: str = ""
    ) -> str:
        """Delay every frame between these places. Returns the rule's name."""
        return self.link_fault("delay", places, only, client_id, delay_ms=ms, jitter_ms=jitter_ms)

    def loss(self, *places: str, share: float, only: Sequence[str] = (), client_id: str = "") -> str:
        """Lose a share of frames, which come by a retransmission. Returns the rule's name."""
        return self.link_fault("loss", places, only, client_id, share=share)

    def bandwidth(
        self, *places: str, bytes_per_s: float, only: Sequence[str] = (), client_id: str = ""
    ) -> str:
        """Limit the bytes per second of a node over these links. Returns the rule's name."""
        return self.link_fault("bandwidth", places, only, client_id, bytes_per_s=bytes_per_s)

    def link_fault(
        self,
        kind: LinkFaultKind,
        places: Sequence[str],
        only: Sequence[str] = (),
        client_id: str = "",
        recovery: Recovery = "rto",
        **amounts: float,
    ) -> str:
        """Apply a fault of any kind; `amounts` as over HTTP. Returns the rule's name."""
        fault = request_builders.link_fault(kind, places, only, client_id, recovery, **amounts)
        return request_builders.rule_of(self._do(fault))

    def heal(self, *names: str, kind: r.HealedKind = "") -> None:
        """End the rules with all of these places, or these names; by default all. `kind`: only it."""
        self._do(r.Heal(list(names), kind))

    # --- machines ---

    def kill(self, *nodes: str) -> None:
        """SIGKILL.

        A node, all of an AZ (`az-0`) or of a pattern (`broker-*`), a partition's leader (`leader:t-0`) or the
        `active-controller`; here and below."""
        self._do(request_builders.machine("kill", nodes))

    def stop(self, *nodes: str) -> None:
        """SIGTERM nodes: an orderly stop."""
        self._do(request_builders.machine("stop", nodes))

    def start(self, *nodes: str) -> None:
        """Start nodes after a kill or stop; returns when a broker is registered."""
        self._do(request_builders.machine("start", nodes))

    def pause(self, *nodes: str) -> None:
        """SIGSTOP nodes: they stand still until `resume`."""
        self._do(request_builders.machine("pause", nodes))

    def resume(self, *nodes: str) -> None:
        """SIGCONT nodes."""
        self._do(request_builders.machine("resume", nodes))

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
        """Create a topic; returns when every partition has a leader.

        `assignment`: brokers by partition, the preferred leader first, instead of `partitions` and `replicas`.
        """
        self._do(request_builders.create_topic(name, partitions, replicas, assignment, settings))

    def settle(self, limit_s: float = 30.0) -> bool:
        """Wait for one leader of every partition, with its living replicas in sync and equal logs.

        Returns whether this state was reached within `limit_s` seconds. `settle` neither heals links nor starts nodes.
        """
        until = time.monotonic() + limit_s
        while not settled(self.status()):
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_AGAIN_S)
        return True

    # --- the audit ---

    def audit(self) -> Verdict:
        """Audit the run so far with Spark: the clients' responses against the logs.

        Works within the block or after it. Replicas that have not caught up since a heal differ, so call `settle`
        first. Takes some ten seconds. Raises Refused when no audit is possible.
        """
        from faultline.audit_call import audited

        return audited(self.directory)

    def _do(self, what: r.Ask) -> dict[str, Any]:
        return request_builders.done(ask(self._running().registration, what, self._ready_s))

    def _in_a_block(self) -> str:
        return "with faultline.Cluster() as cluster"
