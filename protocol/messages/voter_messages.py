"""Requests to the quorum's leader that change its voters (KIP-853).

They have the fields of Kafka's messages.

A voter has one listener; its host is a node's name. Requests that change voters have no leader epoch: any leader serves
them.

Source: AddRaftVoterRequest, RemoveRaftVoterRequest, UpdateRaftVoterRequest, ApiVersionsRequest.
"""

from typing import Annotated

from protocol.ids import EPOCH_UNKNOWN, NO_BROKER
from protocol.messages.message_base import (
    RESPONSE,
    BrokerField,
    EpochField,
    ErrorField,
    Int32,
    Message,
    Millis,
    Name,
    register,
    unit,
)

Directory = Annotated[Name, unit("uuid", "of the directory of a metadata log; empty is unknown")]
KraftVersion = Annotated[Int32, unit("level", "of the feature kraft.version")]


@register
class AddRaftVoterRequest(Message):
    """Add an observer that has caught up to the voters.

    `acks_when_committed` false (from 4.2 on): the response leaves when the record is in the leader's log.
    """

    API_KEY = 80
    API_NAME = "AddRaftVoter"
    VERSIONS = (0, 1)
    voter: BrokerField
    directory: Directory
    host: Name
    timeout_ms: Millis = 30_000
    acks_when_committed: bool = True


@register
class AddRaftVoterResponse(Message):
    API_KEY = 80
    API_NAME = "AddRaftVoter"
    DIRECTION = RESPONSE
    VERSIONS = (0, 1)
    error: ErrorField


@register
class RemoveRaftVoterRequest(Message):
    """Remove a voter. A leader that removes itself resigns once the removal is committed."""

    API_KEY = 81
    API_NAME = "RemoveRaftVoter"
    VERSIONS = (0, 0)
    voter: BrokerField
    directory: Directory


@register
class RemoveRaftVoterResponse(Message):
    API_KEY = 81
    API_NAME = "RemoveRaftVoter"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    error: ErrorField


@register
class UpdateRaftVoterRequest(Message):
    """A voter's own endpoint and supported levels of kraft.version, which its record lacks."""

    API_KEY = 82
    API_NAME = "UpdateRaftVoter"
    VERSIONS = (0, 0)
    epoch: EpochField
    voter: BrokerField
    directory: Directory
    host: Name
    kraft_version_max: KraftVersion


@register
class UpdateRaftVoterResponse(Message):
    API_KEY = 82
    API_NAME = "UpdateRaftVoter"
    DIRECTION = RESPONSE
    VERSIONS = (0, 0)
    error: ErrorField
    epoch: EpochField = EPOCH_UNKNOWN
    leader: BrokerField = NO_BROKER


@register
class SupportedFeaturesRequest(Message):
    """A leader's question to a node that is to become a voter: Kafka's ApiVersions."""

    API_KEY = 18
    API_NAME = "ApiVersions"
    VERSIONS = (0, 4)


@register
class SupportedFeaturesResponse(Message):
    """`kraft_version_max` -1: the node's release has no feature kraft.version."""

    API_KEY = 18
    API_NAME = "ApiVersions"
    DIRECTION = RESPONSE
    VERSIONS = (0, 4)
    error: ErrorField
    kraft_version_max: KraftVersion = -1


VoterRequest = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest | SupportedFeaturesRequest
VoterResponse = AddRaftVoterResponse | RemoveRaftVoterResponse | UpdateRaftVoterResponse | SupportedFeaturesResponse
EPOCHLESS = (
    AddRaftVoterRequest, RemoveRaftVoterRequest, SupportedFeaturesRequest,
    AddRaftVoterResponse, RemoveRaftVoterResponse, SupportedFeaturesResponse,
)  # fmt: skip
"""Messages that have no leader epoch."""
