"""Behaviour of a transactional producer, by the client's version and the cluster's.

The newest version of a request that both know decides what the broker answers (KIP-588, KIP-890, KIP-1050).
"""

from typing import Final, NamedTuple

from protocol.gates import gates_for
from protocol.versions import since

VERSION_2: Final = 2
"""Transaction version with an epoch of its own for each transaction (KIP-890)."""

_REQUEST_VERSIONS: Final = {
    "InitProducerId": (("0.11", 0), ("2.0.0", 1), ("2.4", 2), ("2.5", 3), ("2.7", 4), ("3.8", 5)),
    "AddPartitionsToTxn": (("0.11", 0), ("2.0.0", 1), ("2.7", 2), ("2.8", 3)),
    "AddOffsetsToTxn": (("0.11", 0), ("2.0.0", 1), ("2.7", 2), ("2.8", 3), ("3.8", 4)),
    "EndTxn": (("0.11", 0), ("2.0.0", 1), ("2.7", 2), ("2.8", 3), ("3.8", 4)),
    "TxnOffsetCommit": (("0.11", 0), ("2.0.0", 1), ("2.1", 2), ("2.5", 3), ("3.8", 4)),
    "Produce": (("0.11", 3), ("1.0", 5), ("2.0.0", 6), ("2.1", 7), ("2.4", 8), ("2.8", 9), ("3.7", 10), ("3.8", 11)),
}
"""{request: its versions up to transaction version 1, each with its first release}."""
_OF_VERSION_2: Final = {"EndTxn": 5, "TxnOffsetCommit": 5, "Produce": 12}


class TransactionBehaviour(NamedTuple):
    """Behaviour that a client has at a cluster.

    `transaction_version`: 2 without AddPartitionsToTxn. `raises_epoch`: it continues after an error with a new epoch
    (KIP-360). `bounded_calls`: see `client_bounded_transaction_calls`. The others are gates of these names.
    """

    client_version: str
    kafka_version: str
    transaction_version: int
    raises_epoch: bool
    aborts_after_older_epoch: bool
    retries_coordinator_appends: bool
    knows_abortable: bool
    renews_unknown_mapping: bool
    bounded_calls: int
    names_group: bool

    @property
    def has_version_2(self) -> bool:
        return self.transaction_version >= VERSION_2

    def request_version(self, api: str) -> int:
        """The version of a request that client and brokers know."""
        if self.has_version_2 and api in _OF_VERSION_2:
            return _OF_VERSION_2[api]
        both = (self.client_version, self.kafka_version)
        return min([version for first, version in _REQUEST_VERSIONS[api] if since(of, first)][-1] for of in both)


def transaction_behaviour(client_version: str, kafka_version: str) -> TransactionBehaviour:
    """Behaviour of a client of one version at brokers of another.

    Raises UnknownVersion.
    """
    client, brokers = gates_for(client_version), gates_for(kafka_version)
    return TransactionBehaviour(
        client_version=client_version,
        kafka_version=kafka_version,
        transaction_version=min(client.transaction_version, brokers.transaction_version),
        raises_epoch=client.producers_raise_own_epoch and brokers.producers_raise_own_epoch,
        aborts_after_older_epoch=client.client_aborts_after_older_epoch,
        retries_coordinator_appends=client.client_retries_coordinator_appends,
        knows_abortable=client.client_knows_abortable_transactions,
        renews_unknown_mapping=client.client_renews_unknown_mapping,
        bounded_calls=client.client_bounded_transaction_calls,
        names_group=client.client_names_group_in_transactions and brokers.unstable_offsets_refused,
    )
