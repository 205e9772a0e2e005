"""Lines of controllers, and about disks, sessions and the quorum, as events. Pure."""

import re
from typing import Final

from emulator.runs.importing.line_events import UNKNOWN, LineEvents, ids_in_line, number_in_line
from protocol import events as e
from protocol.kinds import IgnoredReason

_BROKER_STATE: Final = re.compile(r"BrokerState\(brokerId=(\d{1,9})")
"""A replica in sync, from 3.5 on: with its broker's epoch."""
_ELECTIONS: Final = {"NewPartition": "created", "OfflinePartition": "offline-election"}


class ControllerLines(LineEvents):
    """Handlers of lines about the cluster's control."""

    _failed_directory = ""
    _session_state = ""

    # --- the controller ---

    def _elected(self, fields: dict[str, str]) -> None:
        if "controller_epoch" in fields:
            self._controller_epoch = int(fields["controller_epoch"])
            self._controls(active=True, reason="elected", zk_version=number_in_line(fields, "zk_version"))

    def _active(self, fields: dict[str, str]) -> None:
        self._controller_epoch = int(fields["epoch"])
        self._controls(active=True, reason="elected")

    def _controls(self, *, active: bool, reason: str, zk_version: int = UNKNOWN) -> None:
        self._emit(e.ControllerChanged(active, max(self._controller_epoch, 0), reason, zk_version))

    def _brokers_seen(self, fields: dict[str, str]) -> None:
        lists = [ids_in_line(fields.get(name, "")) for name in ("added", "removed", "bounced", "live")]
        self._emit(e.BrokersSeen(*lists))

    def _brokers_handled(self, fields: dict[str, str], change: str) -> None:
        self._emit(e.BrokersHandled(change, ids_in_line(fields["brokers"])))

    def _partition_online(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        unclean = fields.get("recovery") == "RECOVERING"
        in_sync = ",".join(_BROKER_STATE.findall(fields.get("isr_epochs", "")))
        self._emit(
            e.StateDecided(
                topic=place[0], partition=place[1], leader=int(fields["leader"]),
                leader_epoch=number_in_line(fields, "leader_epoch"),
                isr=in_sync or ids_in_line(fields.get("isr_list", "")),
                controller_epoch=int(fields["controller_epoch"]), zk_version=number_in_line(fields, "zk_version"),
                reason="unclean-election" if unclean else _ELECTIONS.get(fields["position"], "preferred-election"),
            )
        )  # fmt: skip

    def _new_isr(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.StateDecided(
                topic=place[0], partition=place[1], leader=int(fields["leader"]),
                leader_epoch=int(fields["leader_epoch"]), isr=ids_in_line(fields["isr"]),
                controller_epoch=self._controller_epoch, zk_version=UNKNOWN, reason="offline-replica",
            )
        )  # fmt: skip

    def _replica_left(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.StateDecided(
                topic=place[0], partition=place[1], leader=int(fields["leader"]),
                leader_epoch=int(fields["leader_epoch"]), isr=ids_in_line(fields["isr"]),
                controller_epoch=int(fields["controller_epoch"]), zk_version=number_in_line(fields, "zk_version"),
                reason="offline-replica", replica=int(fields["replica"]),
            )
        )  # fmt: skip

    def _ignored(self, fields: dict[str, str], reason: IgnoredReason) -> None:
        topic, partition = self._place(fields) if {"tp", "old_tp"} & fields.keys() else ("", UNKNOWN)
        self._emit(
            e.LeaderAndIsrIgnored(
                topic=topic, partition=partition, leader_epoch=number_in_line(fields, "leader_epoch"),
                current_epoch=number_in_line(fields, "current_epoch", number_in_line(fields, "leader_epoch")),
                controller_epoch=number_in_line(fields, "controller_epoch"), reason=reason,
                controller=number_in_line(fields, "controller"), correlation=number_in_line(fields, "correlation"),
                leader=number_in_line(fields, "leader"), replicas=ids_in_line(fields.get("replicas", "")),
            )
        )  # fmt: skip

    # --- disks, sessions, quorum ---

    def _directory_failing(self, fields: dict[str, str]) -> None:
        self._failed_directory = fields["dir"]

    def _directory_failed(self, fields: dict[str, str]) -> None:
        self._emit(e.LogDirFailed("", fields["dir"], fields["dir"], fields["places"][:2_000]))

    def _all_failed(self, fields: dict[str, str]) -> None:
        self._emit(e.LogDirFailed("", self._failed_directory, fields["dirs"], "", last=True))

    def _session(self, state: str) -> None:
        if state != self._session_state:
            self._session_state = state
            self._emit(e.SessionChanged(0, state, self.name, ""))

    def _lifecycle(self, state: str, broker_epoch: int = UNKNOWN) -> None:
        self._emit(e.BrokerLifecycleChanged(state, broker_epoch))

    def _quorum(self, fields: dict[str, str], state: str, leader: int) -> None:
        if "controller" not in self._roles:
            state = "observer"
        self._emit(e.QuorumStateChanged(state, int(fields["epoch"]), leader, UNKNOWN))
