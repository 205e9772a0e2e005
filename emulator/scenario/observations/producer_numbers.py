"""Producer ids as numbers: the n-th id that an answer had is n, from 0.

Ids come from blocks and differ from run to run; recordings are compared up to renaming.
"""

from typing import Any, Final

from emulator.scenario.observations.observation_model import Entry

NO_PRODUCER_ID: Final = -1
_BATCH_ID_AT: Final = 3
_STATE_ID_AT: Final = 3
TRANSACTION_LOG: Final = "__transaction_state"


class ProducerNumbers:
    """Numbers of producer ids, in the order in which they are named."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def number(self, producer_id: int) -> int:
        """The id's number; -1 stays."""
        if producer_id < 0:
            return producer_id
        return self._numbers.setdefault(producer_id, len(self._numbers))

    def producer_id(self, number: int) -> int | None:
        """The id of a number; None: no answer has named so many."""
        if number < 0:
            return number
        return next((producer_id for producer_id, known in self._numbers.items() if known == number), None)

    def renamed(self, entry: Entry) -> Entry:
        """The entry with numbers in the place of ids."""
        renamed = dict(entry)
        if isinstance(entry.get("pid"), int):
            renamed["pid"] = self.number(entry["pid"])
        if isinstance(entry.get("producers"), list):
            renamed["producers"] = [{**one, "pid": self.number(one["pid"])} for one in entry["producers"]]
        if isinstance(entry.get("aborted"), list):
            renamed["aborted"] = [[self.number(one[0]), *one[1:]] for one in entry["aborted"]]
        if isinstance(entry.get("batches"), list):
            renamed["batches"] = [self._at(one, _BATCH_ID_AT) for one in entry["batches"]]
        elif isinstance(entry.get("batches"), dict):
            renamed["batches"] = {
                topic: {node: self._replica(topic, replica) for node, replica in replicas.items()}
                for topic, replicas in entry["batches"].items()
            }
        return renamed

    def _replica(self, topic: str, replica: list[list[Any]]) -> list[list[Any]]:
        at = _STATE_ID_AT if topic == TRANSACTION_LOG else _BATCH_ID_AT
        return [self._at(one, at) for one in replica]

    def _at(self, one: list[Any], place: int) -> list[Any]:
        return [*one[:place], self.number(one[place]), *one[place + 1 :]]
