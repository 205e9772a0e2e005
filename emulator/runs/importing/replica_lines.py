"""Lines about logs, roles, in-sync replicas and followers, as events. Pure."""

from emulator.runs.importing.line_events import UNKNOWN, LineEvents, ReplicaFacts, ids_in_line, number_in_line
from protocol import events as e
from protocol.kinds import CutReason
from protocol.versions import UnknownVersion, rank


class ReplicaLines(LineEvents):
    """Handlers of a broker's lines about its replicas. `version`: of its binary, "" unknown."""

    def __init__(self, number: int, roles: str, version: str) -> None:
        super().__init__(number, roles)
        self._logs_leaders, self._logs_followers = _is_from(version, "0.11"), _is_from(version, "2.6")
        self._clean = True

    # --- logs ---

    def _started_from(self, *, clean: bool) -> None:
        self._clean = clean

    def _recovering(self, fields: dict[str, str]) -> None:
        self._replica(fields).recovered.append(fields["segment"])
        self._clean = False

    def _corrupted(self, fields: dict[str, str]) -> None:
        self._replica(fields).corrupted = int(fields["segment"])

    def _loaded(self, fields: dict[str, str]) -> None:
        place, replica = self._place(fields), self._replica(fields)
        replica.log_end = int(fields["log_end"])
        replica.high_watermark = number_in_line(fields, "high_watermark", 0)
        self._emit(
            e.LogLoaded(
                topic=place[0], partition=place[1], log_start=number_in_line(fields, "log_start", 0),
                log_end=replica.log_end, high_watermark=replica.high_watermark,
                clean=self._clean and not replica.recovered, recovered=",".join(replica.recovered),
                corrupted=replica.corrupted,
            )
        )  # fmt: skip
        replica.recovered, replica.corrupted = [], UNKNOWN

    def _log_created(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._replicas[place] = ReplicaFacts()
        self._replicas[place].log_end = 0
        self._emit(e.LogCreated(topic=place[0], partition=place[1], directory=""))

    def _log_start_moved(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.LogStartMoved(
                topic=place[0], partition=place[1], log_start=int(fields["log_start"]), previous=0,
                reason="leader" if "leader" in fields["name"] else "requested",
                leader_epoch=self._replica(fields).leader_epoch,
            )
        )  # fmt: skip

    def _reason(self, fields: dict[str, str], reason: CutReason) -> None:
        self._replica(fields).reason = reason

    def _below(self, fields: dict[str, str]) -> None:
        self._replica(fields).high_watermark = int(fields["high_watermark"])

    def _truncating(self, fields: dict[str, str]) -> None:
        replica = self._replica(fields)
        to = int(fields["to"])
        known = max(replica.log_end, to)
        self._cut(fields, to, known, effective=replica.log_end > to or "truncated" in self._form_of(fields))
        replica.log_end = to

    def _form_of(self, fields: dict[str, str]) -> str:
        """Kafka from 1.0 on writes `Truncating` only if records are removed.

        There the line has the log's prefix.
        """
        return "truncated" if "dir" in fields else "truncating"

    def _truncated_nothing(self, fields: dict[str, str]) -> None:
        self._cut(fields, int(fields["to"]), int(fields["largest"]) + 1, effective=False)

    def _truncated_fully(self, fields: dict[str, str]) -> None:
        replica = self._replica(fields)
        replica.reason = CutReason.FULL
        self._cut(fields, int(fields["to"]), max(replica.log_end, 0), effective=True)
        replica.log_end = int(fields["to"])

    def _cut(self, fields: dict[str, str], to: int, log_end: int, *, effective: bool) -> None:
        place, replica = self._place(fields), self._replica(fields)
        self._emit(
            e.LogTruncated(
                topic=place[0], partition=place[1], to=to, log_end=log_end, effective=effective,
                high_watermark=max(replica.high_watermark, 0),
                reason=replica.reason or CutReason.HIGH_WATERMARK,
            )
        )  # fmt: skip
        replica.reason = None

    # --- roles and ISR ---

    def _leads(self, fields: dict[str, str]) -> None:
        self._role(fields, "leader", self.number)

    def _follows(self, fields: dict[str, str]) -> None:
        self._role(fields, "follower", number_in_line(fields, "leader"))

    def _role(self, fields: dict[str, str], role: str, leader: int) -> None:
        place, replica = self._place(fields), self._replica(fields)
        replica.leader, replica.leader_epoch = leader, int(fields["leader_epoch"])
        ordered = replica.ordered_epoch == replica.leader_epoch
        replica.isr = ids_in_line(fields.get("isr", replica.ordered_isr if ordered else ""))
        replica.zk_version = number_in_line(fields, "zk_version", replica.zk_version if ordered else UNKNOWN)
        replica.log_end = max(replica.log_end, 0) if "log_end" not in fields else int(fields["log_end"])
        replica.high_watermark = number_in_line(fields, "high_watermark", max(replica.high_watermark, 0))
        self._emit(
            e.RoleChanged(
                topic=place[0], partition=place[1], role=role, leader=leader, leader_epoch=replica.leader_epoch,
                previous_epoch=number_in_line(fields, "previous_epoch"),
                controller_epoch=number_in_line(fields, "controller_epoch", self._controller_epoch),
                log_end=replica.log_end, high_watermark=replica.high_watermark,
                isr=replica.isr if role == "leader" else "", adding=ids_in_line(fields.get("adding", "")),
                removing=ids_in_line(fields.get("removing", "")), zk_version=replica.zk_version,
            )
        )  # fmt: skip

    def _order(self, fields: dict[str, str]) -> None:
        """The controller's order stands for a role that the broker does not log with its epoch.

        That is every role before 0.11, and a follower's before 2.6.
        """
        replica = self._replica(fields)
        leader, epoch = int(fields["leader"]), int(fields["leader_epoch"])
        replica.ordered_epoch, replica.ordered_isr = epoch, ids_in_line(fields["isr"])
        replica.zk_version = number_in_line(fields, "zk_version", replica.zk_version)
        logged = self._logs_followers or (self._logs_leaders and leader == self.number)
        if leader < 0 or epoch <= replica.leader_epoch or logged:
            return
        self._role(fields, "leader" if leader == self.number else "follower", leader)

    def _isr_change(self, fields: dict[str, str]) -> None:
        place, replica = self._place(fields), self._replica(fields)
        was, now = ids_in_line(fields["was"]), ids_in_line(fields["now"])
        change = "shrink" if len(now.split(",")) < len(was.split(",")) else "expand"
        self._emit(
            e.IsrChangeRequested(
                topic=place[0], partition=place[1], change=change, was=was, now=now,
                leader_epoch=replica.leader_epoch, zk_version=replica.zk_version, through="",
                high_watermark=number_in_line(fields, "high_watermark"), log_end=number_in_line(fields, "log_end"),
            )
        )  # fmt: skip
        replica.log_end = max(replica.log_end, number_in_line(fields, "log_end"))

    def _isr_written(self, fields: dict[str, str]) -> None:
        self._replica(fields).isr = ids_in_line(fields["isr"])
        self._isr_ended(fields, "done")

    def _isr_refused(self, fields: dict[str, str]) -> None:
        self._isr_ended(fields, "bad-version")

    def _isr_ended(self, fields: dict[str, str], result: str) -> None:
        place, replica = self._place(fields), self._replica(fields)
        replica.zk_version = int(fields["zk_version"])
        self._emit(
            e.IsrChangeEnded(
                topic=place[0], partition=place[1], isr=replica.isr, result=result, zk_version=replica.zk_version,
                leader_epoch=replica.leader_epoch,
            )
        )  # fmt: skip

    def _epoch_cached(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.LeaderEpochBegan(
                topic=place[0], partition=place[1], leader_epoch=int(fields["leader_epoch"]),
                offset=int(fields["offset"]), previous_epoch=int(fields["previous_epoch"]),
                previous_offset=int(fields["previous_offset"]), entries=int(fields["entries"]),
            )
        )  # fmt: skip

    # --- followers ---

    def _fetch_out_of_range(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.FetchOutOfRange(
                topic=place[0], partition=place[1], broker=UNKNOWN, offset=int(fields["offset"]),
                log_start=int(fields["log_start"]), log_end=int(fields["log_end"]),
                correlation=int(fields["correlation"]),
            )
        )  # fmt: skip

    def _reset(self, fields: dict[str, str], reason: str) -> None:
        place, replica = self._place(fields), self._replica(fields)
        offset = number_in_line(fields, "offset", number_in_line(fields, "to"))
        log_end = number_in_line(fields, "log_end", replica.log_end)
        replica.log_end = max(replica.log_end, log_end)
        replica.reason = CutReason.OUT_OF_RANGE
        self._emit(
            e.FetchOffsetReset(
                topic=place[0], partition=place[1], source=number_in_line(fields, "source"), offset=offset,
                log_end=log_end, reason=reason,
            )
        )  # fmt: skip

    def _failed(self, fields: dict[str, str]) -> None:
        place, replica = self._place(fields), self._replica(fields)
        self._emit(
            e.FetcherChanged(
                topic=place[0], partition=place[1], change="failed", source=number_in_line(fields, "source"),
                offset=replica.log_end, reason="", leader_epoch=replica.leader_epoch,
            )
        )  # fmt: skip


def _is_from(version: str, first: str) -> bool:
    """Whether a version is `first` or newer; an unknown one counts as the newest."""
    try:
        return rank(version) >= rank(first)
    except UnknownVersion:
        return True
