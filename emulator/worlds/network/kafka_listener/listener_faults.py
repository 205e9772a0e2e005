"""Protocol faults at one broker's listener: which rule hits a request, and how often.

The rules come and go with those on links (`LinkState`), which also keeps the counts of hits.
"""

from typing import Final

from emulator.faults.enforcement import LinkState
from emulator.worlds.network.kafka_listener.codec import KafkaRequest
from protocol.link_rules import LinkRule
from protocol.protocol_faults import ProtocolFault

NO_RESPONSE_ACTIONS: Final = ("drop-response", "close-after")
"""Actions that apply the request and take its response away."""


class ListenerFaults:
    """The protocol faults in force at a broker. Counts of requests begin with its incarnation."""

    def __init__(self, links: LinkState, node: str) -> None:
        self._links = links
        self._node = node
        self._seen: dict[str, int] = {}
        """{rule: requests that it was about}, of rules in force."""

    def hit(self, request: KafkaRequest) -> tuple[str, ProtocolFault] | None:
        """Count a request; the first rule that hits it, with its name. None: it passes."""
        found: tuple[str, ProtocolFault] | None = None
        for rule in list(self._links.in_force.values()):
            fault = rule.protocol
            if fault is None or not fault.concerns(self._node, request.name, request.client_id) or found is not None:
                continue
            if self._is_due(rule, fault):
                self._links.count(rule.rule)
                found = rule.rule, fault
        return found

    def _is_due(self, rule: LinkRule, fault: ProtocolFault) -> bool:
        if len(self._seen) > len(self._links.in_force):
            self._seen = {name: count for name, count in self._seen.items() if name in self._links.in_force}
        seen = self._seen[rule.rule] = self._seen.get(rule.rule, 0) + 1
        return seen > fault.skip and (fault.times == 0 or seen <= fault.skip + fault.times)
