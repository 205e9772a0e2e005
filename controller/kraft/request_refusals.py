"""Responses that refuse a whole request: NOT_CONTROLLER, or an error before its execution.

A broker responds so, too, if its forwarded request finds no controller in time.
"""

from protocol.errors import ErrorCode
from protocol.messages.administration import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    TopicResult,
)
from protocol.messages.configuration import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlteredResource,
    AlterResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse
from protocol.messages.message_base import Message
from protocol.messages.placement import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from protocol.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse


def refusal(request: Message, error: ErrorCode) -> Message:
    """The response with `error` to each part of the request.

    Raises ValueError for no request of the controller.
    """
    match request:
        case BrokerHeartbeatRequest():
            return BrokerHeartbeatResponse(error)
        case BrokerRegistrationRequest():
            return BrokerRegistrationResponse(error)
        case UnregisterBrokerRequest():
            return UnregisterBrokerResponse(error)
        case AlterIsrRequest():
            return AlterIsrResponse(error)
        case AllocateProducerIdsRequest():
            return AllocateProducerIdsResponse(error)
        case CreateTopicsRequest(topics=topics):
            return CreateTopicsResponse([TopicResult(one.topic, error) for one in topics])
        case CreatePartitionsRequest(topics=grown):
            return CreatePartitionsResponse([TopicResult(one.topic, error) for one in grown])
        case DeleteTopicsRequest(topics=names):
            return DeleteTopicsResponse([TopicResult(name, error) for name in names])
        case IncrementalAlterConfigsRequest(resources=resources):
            return IncrementalAlterConfigsResponse(_resources(resources, error))
        case AlterConfigsRequest(resources=resources):
            return AlterConfigsResponse(_resources(resources, error))
        case ElectLeadersRequest():
            return ElectLeadersResponse([], error)
        case AlterPartitionReassignmentsRequest():
            return AlterPartitionReassignmentsResponse([], error)
        case ListPartitionReassignmentsRequest():
            return ListPartitionReassignmentsResponse([], error)
        case _:
            raise ValueError(f"{type(request).__name__}: no request of the controller; send it to a broker")


def _resources(resources: list[AlteredResource], error: ErrorCode) -> list[AlterResult]:
    return [AlterResult(one.kind, one.name, error) for one in resources]
