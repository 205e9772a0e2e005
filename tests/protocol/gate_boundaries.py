"""Boundaries of gates outside `test_versions`' tables, with places in Kafka's source.

Places were read at the tags of the last patch releases on both sides of the boundary.
"""

from typing import NamedTuple


class Within(NamedTuple):
    """A gate that holds from `first` to `last` of the binary."""

    first: str
    last: str
    source: str


class Stepped(NamedTuple):
    """A gate with a value from each of `steps` on.

    `by_protocol`: of inter.broker.protocol.version.
    """

    steps: dict[str, object]
    source: str
    by_protocol: bool = False


OLDEST, NEWEST = "0.8.2", "2.8"

WITHIN: dict[str, Within] = {
    "fetch_start_at_log_end": Within("0.11", "1.0", "ReplicaFetcherThread.initialFetchState, maybeTruncate"),
    "no_epochs_end_at_log_end": Within("0.11", "0.11", "ReplicaManager.lastOffsetForLeaderEpoch"),
    "out_of_range_starts_over": Within(OLDEST, "0.8.2", "ReplicaFetcherThread.handleOffsetOutOfRange"),
    "fetcher_shutdown_waits": Within(OLDEST, "1.0", "AbstractFetcherThread.shutdown, ReplicaFetcherThread"),
    "deposed_leader_answers_parked": Within("0.10.2", NEWEST, "ReplicaManager.makeFollowers"),
    "leaders_known_by_metadata": Within("0.10.2", NEWEST, "ReplicaManager.makeFollowers, getAliveBrokers"),
    "fetcher_answer_within_request_timeout": Within("0.10.2", NEWEST, "ReplicaFetcherThread.sendRequest"),
    "leaders_new_epoch_forgets_followers": Within(OLDEST, "0.8.2", "Partition.makeLeader"),
    "completes_delayed_requests_last": Within("2.7", NEWEST, "ReplicaManager.tryCompleteActions"),
    "high_watermark_needs_moved_follower": Within("2.4", NEWEST, "Partition.updateFollowerFetchState"),
    "fetches_configuration_of_held_logs": Within(OLDEST, "2.5", "Partition.createLog, LogManager.getOrCreateLog"),
    "reassigns_to_live_brokers_only": Within(
        OLDEST, "0.8.2", "KafkaController.initiateReassignReplicasForTopicPartition"
    ),
    "ignores_reassignment_to_same_replicas": Within(OLDEST, "2.3", "KafkaController.maybeTriggerPartitionReassignment"),
    "needs_controller_to_try_shutdown_again": Within(OLDEST, "1.0", "KafkaServer.controlledShutdown"),
    "controlled_shutdown_occupies_handler": Within(OLDEST, "0.10.2", "KafkaApis.handleControlledShutdownRequest"),
    "live_brokers_to_all": Within("0.10.2", NEWEST, "KafkaController.onBrokerStartup"),
    "shutdown_elects_by_isr": Within(OLDEST, "0.8.2", "ControlledShutdownLeaderSelector.selectLeader"),
    "registration_waits_for_old_session": Within(
        OLDEST, "0.8.2", "ZkUtils.createEphemeralPathExpectConflictHandleZKBug"
    ),
    "batched_controller_writes": Within("1.1", NEWEST, "PartitionStateMachine.doElectLeaderForPartitions"),
    "failure_waits_for_sender_thread": Within("0.10.2", "2.0.1", "RequestSendThread.initiateShutdown"),
    "registers_rack": Within("0.10.2", NEWEST, "ZkUtils.registerBrokerInZk"),
    "settings_change_while_running": Within("1.1", NEWEST, "DynamicBrokerConfig"),
    "topic_config_lost_on_reload": Within(OLDEST, "2.3", "DynamicLogConfig.reconfigure, Log.updateConfig"),
    "keeps_flush_ms_that_was_removed": Within(OLDEST, "2.5", "DynamicLogConfig.reconfigure"),
    "unknown_topics_have_no_settings": Within("2.0.0", NEWEST, "AdminManager.describeConfigs"),
    "no_names_mean_all_settings": Within("2.7", NEWEST, "AdminManager.describeConfigs"),
    "altered_by_synonym": Within(OLDEST, "2.5", "AdminManager.createBrokerConfigEntry"),
    "names_settings_without_value": Within("2.6", NEWEST, "AdminManager.alterConfigs"),
    "altered_topics_are_looked_for": Within("2.7", NEWEST, "AdminZkClient.validateTopicConfig"),
    "reports_unneeded_elections": Within("2.4", NEWEST, "KafkaController.processReplicaLeaderElection"),
    "resigns_in_every_session": Within(OLDEST, "0.8.2", "SessionExpirationListener.handleNewSession"),
    "deposed_controller_goes_on": Within(OLDEST, "0.8.2", "ZookeeperLeaderElector.LeaderChangeListener"),
    "ephemerals_end_with_session": Within("0.10.2", "1.0", "ZKCheckedEphemeral.create"),
    "registers_before_election": Within("1.1", NEWEST, "KafkaController.RegisterBrokerAndReelect"),
    "registers_beside_controller": Within("0.11", "1.0", "KafkaHealthcheck.SessionExpireListener"),
    "offline_leaders_by_liveness": Within("1.0", NEWEST, "KafkaController.onReplicasBecomeOffline"),
    "watches_isr_changes": Within("0.10.2", NEWEST, "IsrChangeNotificationListener"),
    "preferred_election_moves_leader_to_itself": Within("1.1", "2.1", "KafkaController.PreferredReplicaLeaderElection"),
    "metadata_updates_brokers_only": Within("2.2", NEWEST, "KafkaController.onBrokerStartup"),
    "old_consumer": Within(OLDEST, "1.1", "ZookeeperConsumerConnector"),
    "group_coordinator": Within("0.10.2", NEWEST, "GroupCoordinator"),
    "loading_coordinator_reports_loading": Within("2.0.0", NEWEST, "GroupCoordinator.validateGroupStatus"),
    "offsets_loaded_to_log_end": Within("0.11", NEWEST, "GroupMetadataManager.loadGroupsAndOffsets"),
    "offsets_topic_needs_all_brokers": Within("0.11", NEWEST, "KafkaApis.createInternalTopic"),
    "first_rebalance_waits": Within("0.11", NEWEST, "InitialDelayedJoin"),
    "new_members_are_named_first": Within("2.2", NEWEST, "GroupCoordinator.doUnknownJoinGroup"),
    "new_members_wait_at_most_five_minutes": Within("2.1", NEWEST, "GroupCoordinator.addMemberAndRebalance"),
    "completing_rebalance_name": Within("1.1", NEWEST, "CompletingRebalance"),
    "static_members": Within("2.3", NEWEST, "GroupMetadata.hasStaticMember"),
    "full_groups_count_joining_members": Within("2.6", NEWEST, "GroupCoordinator.acceptJoiningMember"),
    "full_groups_forget_instances": Within("2.3", "2.7", "GroupCoordinator.handleJoinGroup, removeStaticMember"),
    "static_rejoin_is_stored": Within("2.6", NEWEST, "GroupCoordinator.updateStaticMemberAndRebalance"),
    "static_rejoin_while_assigning_rebalances": Within(
        "2.5", NEWEST, "GroupCoordinator.updateStaticMemberAndRebalance"
    ),
    "unsynced_members_are_removed": Within("2.8", NEWEST, "GroupCoordinator.onExpirePendingSync"),
    "commits_refused_while_assigning": Within(OLDEST, "2.3", "GroupCoordinator.doCommitOffsets"),
    "heartbeats_while_assigning": Within("2.6", NEWEST, "GroupCoordinator.handleHeartbeat"),
    "client_disconnects_lost_coordinator": Within("1.0", NEWEST, "AbstractCoordinator.markCoordinatorUnknown"),
    "client_join_waits_for_rebalance": Within("2.0.0", NEWEST, "AbstractCoordinator.sendJoinGroupRequest"),
    "client_retries_commits_to_unknown_topics": Within(
        "2.0.0", NEWEST, "ConsumerCoordinator.OffsetCommitResponseHandler"
    ),
    "client_stays_member_when_commit_meets_rebalance": Within(
        "2.4", NEWEST, "ConsumerCoordinator.OffsetCommitResponseHandler"
    ),
    "client_reports_lost_partitions": Within("2.4", NEWEST, "ConsumerCoordinator.onJoinPrepare"),
    "client_heartbeats_while_rebalancing": Within("2.6", NEWEST, "AbstractCoordinator.JoinGroupResponseHandler"),
    "client_ignores_refusals_of_old_generations": Within(
        "2.6", NEWEST, "AbstractCoordinator.CoordinatorResponseHandler.generationUnchanged"
    ),
    "delete_records": Within("0.11", NEWEST, "KafkaApis.handleDeleteRecordsRequest"),
    "deletes_records_before_policy": Within(OLDEST, "0.11", "Partition.deleteRecordsOnLeader"),
    "broker_loggers": Within("2.4", NEWEST, "AdminManager.describeConfigs, BROKER_LOGGER"),
    "serves_after_registration": Within("1.0", NEWEST, "KafkaServer.startup, SocketServer.startProcessors"),
    "metadata_refuses_invalid_names": Within("2.8", NEWEST, "KafkaApis.getTopicMetadata"),
    "deleted_records_forget_producers": Within(OLDEST, "2.3", "ProducerStateManager.truncateHead"),
}

STEPPED: dict[str, Stepped] = {
    "consumer_fetch_version": Stepped({OLDEST: 0, "0.10.2": 12}, "Fetcher.createFetchRequests, ConsumerFetcherThread"),
    "consumer_list_offsets_version": Stepped({OLDEST: 4, "2.2": 5}, "ListOffsetRequest.schemaVersions"),
    "resends_after_ms": Stepped({OLDEST: 300, "0.10.2": 100}, "RequestSendThread.doWork"),
    "config_change_form": Stepped({OLDEST: 0, "0.10.2": 2}, "AdminUtils.changeEntityConfig"),
    "update_metadata_version": Stepped(
        {OLDEST: 0, "0.10.2": 3, "1.0": 4, "2.2": 5, "2.4": 6},
        "ControllerBrokerRequestBatch.sendRequestsToBrokers",
        by_protocol=True,
    ),
    "offset_commit_value_version": Stepped(
        {OLDEST: 1, "2.1": 3}, "GroupMetadataManager.offsetCommitValue", by_protocol=True
    ),
    "group_metadata_value_version": Stepped(
        {OLDEST: 1, "2.1": 2, "2.3": 3}, "GroupMetadataManager.groupMetadataValue", by_protocol=True
    ),
}

OF_BOTH_VERSIONS = {
    "assigns_epoch_on_election",
    "stuck_zk_version_pends",
    "shutdown_answer_within_request_timeout",
    "notifies_isr_changes",
    "refuses_static_members",
}
"""Gates that need the binary and the protocol.

`test_gates_that_need_both_versions` pins them.
"""

IN_STRETCHES = {"unled_replicas_stay_online"}
"""Gates that hold in more than one stretch of versions; a test of their own pins them."""
