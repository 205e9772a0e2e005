"""A fault on links, as nodes receive it, with its test for frames."""

from typing import Final, Literal

import msgspec

from protocol.protocol_faults import ProtocolFault

LinkFaultKind = Literal["cut", "hold", "delay", "loss", "bandwidth", "reset"]
NODES: Final = "nodes"
KERNEL: Final = "kernel"


class LinkRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """One fault on links. Empty `purposes` and `apis` match all.

    `a`, `b`: node names; traffic between a node of `a` and one of `b` matches, in both directions, or only from `a`
    to `b` (`one_way`).
    `opened_by_a`: only connections that a node of `a` opened (then only their packets from `a` to `b`: responses
    pass).
    `purposes`, `apis`: only connections of these purposes; only frames of these APIs (not physical, and the rule's
    text says so).
    `client_ids`: only connections of Kafka clients with this `client.id`; not the nodes' own connections.
    `kind`: cut (vanish), hold (kept, delivered at the release), delay, loss, bandwidth, reset.
    `delay_ms`, `jitter_ms`: for delay. `loss`: share of frames lost, each coming later by a retransmission.
    `bytes_per_s`: limit of all frames of a sender together, in scenario time; for bandwidth. `every_ms`: age at which
    later connections are reset; for reset.
    `recovery`: rto (after the heal data flows at the sender's next retransmission) or instant.
    `expects_traffic`: whether a run in which the rule stops nothing is unknown.
    `driver`: component that stops the frames: the nodes, or the kernel's packet filter; then nodes only note the rule.
    `protocol`: a fault of the Kafka listeners instead, which concerns no link.
    """

    rule: str
    what: str
    kind: str
    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()
    one_way: bool = False
    opened_by_a: bool = False
    purposes: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    client_ids: tuple[str, ...] = ()
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    bytes_per_s: float = 0.0
    every_ms: float = 0.0
    recovery: str = "rto"
    expects_traffic: bool = True
    driver: str = NODES
    protocol: ProtocolFault | None = None

    @property
    def is_of_some_frames(self) -> bool:
        """Whether the rule affects only some frames of its links."""
        return bool(self.purposes or self.apis or self.client_ids)

    def matches(
        self, sender: str, receiver: str, opener: str, purpose: str, api: str = "", client_id: str = ""
    ) -> bool:
        """Whether the rule affects a frame from `sender` to `receiver` on a connection of `opener`.

        `client_id`: of the Kafka client that opened it, "": a node did.
        """
        forward = sender in self.a and receiver in self.b
        if not forward and (self.one_way or self.opened_by_a or not (sender in self.b and receiver in self.a)):
            return False
        if self.opened_by_a and opener != sender:
            return False
        if self.purposes and purpose not in self.purposes:
            return False
        if self.client_ids and client_id not in self.client_ids:
            return False
        return not self.apis or api in self.apis
