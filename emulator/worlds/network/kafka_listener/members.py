"""Translation of requests about groups and their members.

Subscriptions and assignments pass through as bytes.
"""

from emulator.worlds.network.kafka_listener.codec import KafkaRequest
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from protocol.messages import membership as m

NO_HOST = "/127.0.0.1"
"""Kafka shows the client's address, with its slash."""


def join_group(request: KafkaRequest) -> m.JoinGroupRequest:
    """Version 0 has one timeout for session and rebalance."""
    body = request.body
    return m.JoinGroupRequest(
        body.group_id,
        body.member_id,
        max(0, body.session_timeout_ms),
        max(0, body.rebalance_timeout_ms if request.version >= 1 else body.session_timeout_ms),
        body.protocol_type,
        [m.GroupProtocol(one.name, bytes(one.metadata)) for one in body.protocols],
        body.group_instance_id,
        request.client_id,
    )


def join_group_answer(request: KafkaRequest, answer: m.JoinGroupResponse) -> Fields:
    members = [
        {"member_id": one.member, "group_instance_id": one.instance, "metadata": one.metadata} for one in answer.members
    ]
    return {
        "error_code": answer.error,
        "generation_id": answer.generation,
        "protocol_type": answer.protocol_type or None,
        "protocol_name": answer.protocol or (None if request.version >= 7 else ""),
        "leader": answer.leader,
        "member_id": answer.member,
        "members": members,
    }


def sync_group(request: KafkaRequest) -> m.SyncGroupRequest:
    return m.SyncGroupRequest(
        request.body.group_id,
        request.body.generation_id,
        request.body.member_id,
        [m.MemberAssignment(one.member_id, bytes(one.assignment)) for one in request.body.assignments],
        request.body.group_instance_id,
    )


def sync_group_answer(request: KafkaRequest, answer: m.SyncGroupResponse) -> Fields:
    return {
        "error_code": answer.error,
        "protocol_type": answer.protocol_type or None,
        "protocol_name": answer.protocol or None,
        "assignment": answer.assignment,
    }


def heartbeat(request: KafkaRequest) -> m.HeartbeatRequest:
    return m.HeartbeatRequest(
        request.body.group_id, request.body.generation_id, request.body.member_id, request.body.group_instance_id
    )


def heartbeat_answer(request: KafkaRequest, answer: m.HeartbeatResponse) -> Fields:
    return {"error_code": answer.error}


def leave_group(request: KafkaRequest) -> m.LeaveGroupRequest:
    body = request.body
    if request.version < 3:
        return m.LeaveGroupRequest(body.group_id, [m.LeavingMember(body.member_id)])
    return m.LeaveGroupRequest(
        body.group_id, [m.LeavingMember(one.member_id, one.group_instance_id) for one in body.members]
    )


def leave_group_answer(request: KafkaRequest, answer: m.LeaveGroupResponse) -> Fields:
    """Up to version 2 the response carries the error of its one member."""
    if request.version < 3:
        return {"error_code": answer.error or max([0, *(one.error for one in answer.members)])}
    members = [
        {"member_id": one.member, "group_instance_id": one.instance, "error_code": one.error} for one in answer.members
    ]
    return {"error_code": answer.error, "members": members}


def list_groups(request: KafkaRequest) -> m.ListGroupsRequest:
    return m.ListGroupsRequest(list(request.body.states_filter or ()))


def list_groups_answer(request: KafkaRequest, answer: m.ListGroupsResponse) -> Fields:
    groups = [
        {"group_id": one.group, "protocol_type": one.protocol_type, "group_state": one.state} for one in answer.groups
    ]
    return {"error_code": answer.error, "groups": groups}


def describe_groups(request: KafkaRequest) -> m.DescribeGroupsRequest:
    return m.DescribeGroupsRequest(list(request.body.groups))


def describe_groups_answer(request: KafkaRequest, answer: m.DescribeGroupsResponse) -> Fields:
    groups = [
        {
            "error_code": one.error,
            "group_id": one.group,
            "group_state": one.state,
            "protocol_type": one.protocol_type,
            "protocol_data": one.protocol,
            "members": [
                {
                    "member_id": member.member,
                    "group_instance_id": member.instance,
                    "client_id": member.client,
                    "client_host": NO_HOST,
                    "member_metadata": member.metadata,
                    "member_assignment": member.assignment,
                }
                for member in one.members
            ],
        }
        for one in answer.groups
    ]
    return {"groups": groups}


def delete_groups(request: KafkaRequest) -> m.DeleteGroupsRequest:
    return m.DeleteGroupsRequest(list(request.body.groups_names))


def delete_groups_answer(request: KafkaRequest, answer: m.DeleteGroupsResponse) -> Fields:
    results = [{"group_id": one.group, "error_code": one.error} for one in answer.groups]
    return {"results": results}
