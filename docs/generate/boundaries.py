"""Places in Kafka's source that show the gates' boundaries from 2.0.0 to 2.3.

Read at the tags on both sides. A release line is emulated as its last patch release, and in two lines the tag matters:
2.0.0 and 2.0.1 differ, and 2.2.0 and 2.2.2 were both read (no gate falls between them).
"""

TAGS = ("1.1.1", "2.0.0", "2.0.1", "2.1.1", "2.2.0", "2.2.2", "2.3.1")
STEPS = ("1.1", "2.0.0", "2.0.1", "2.1", "2.2", "2.3")
"""Neighbours on the ladder whose boundary was read."""

READ: dict[str, str] = {
    # 2.0.0
    "epoch_request_version": "ReplicaFetcherThread.offsetForLeaderEpochRequestVersion",
    "fetch_version": "ReplicaFetcherThread.fetchRequestVersion",
    "old_consumer": "kafka.consumer.ZookeeperConsumerConnector is there or not",
    "metadata_repeats_deletions": "ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers",
    "enables_unclean_election_of_all_at_once": "DynamicLogConfig.reconfigure",
    "unknown_topics_have_no_settings": "AdminManager.describeConfigs",
    "loading_coordinator_reports_loading": "GroupCoordinator.validateGroupStatus",
    "unknown_replica_answers_not_leader": "ReplicaManager.getPartitionAndLeaderReplicaIfLocal",
    "client_join_waits_for_rebalance": "AbstractCoordinator.sendJoinGroupRequest",
    "client_retries_commits_to_unknown_topics": "ConsumerCoordinator.OffsetCommitResponseHandler",
    "unled_replicas_stay_online": "ReplicaStateMachine.doHandleStateChanges, OfflineReplica",
    "growth_while_deleted_taken_back": "KafkaController.PartitionModifications",
    # 2.0.1
    "leaders_balanced_one_by_one": "KafkaController.checkAndTriggerAutoLeaderRebalance",
    "assigns_epoch_on_election": "Partition.makeLeader",
    "epoch_entry_below_first_answered": "LeaderEpochFileCache.endOffsetFor",
    "epoch_cache_strict_assign": "LeaderEpochFileCache.assign",
    "expand_needs_epoch_start": "Partition.maybeExpandIsr",
    "fetcher_restart": "Partition.makeFollower",
    "out_of_range_exits": "ReplicaFetcherThread.handleOffsetOutOfRange",
    # 2.1
    "fences_by_epoch": "AbstractFetcherThread.fetchTruncatingPartitions",
    "truncates_without_epoch_request": "AbstractFetcherThread.maybeTruncate",
    "drops_answers_of_older_epochs": "AbstractFetcherThread.truncateToEpochEndOffsets",
    "caught_up_replica_not_shrunk": "Partition.getOutOfSyncReplicas",
    "fetch_blocks_on_partition_lock": "Partition.readRecords, fetchOffsetForTimestamp",
    "recovery_skips_epoch_zero": "LogSegment.recover",
    "controller_epoch_multi": "KafkaZkClient.registerControllerAndIncrementControllerEpoch",
    "unsent_batch_stays": "ReplicaStateMachine.handleStateChanges, ControllerBrokerRequestBatch.newBatch",
    "leader_and_isr_skips_leaving_leader": "PartitionStateMachine.leaderForControlledShutdown",
    "shutdown_leaves_deletions_alone": "KafkaController.doControlledShutdown",
    "failure_waits_for_sender_thread": "RequestSendThread.initiateShutdown",
    "enables_unclean_election_at_once": "KafkaController.TopicUncleanLeaderElectionEnable",
    "metadata_has_leader_epoch": "MetadataCache.getPartitionMetadata",
    "unknown_replica_answers_epochs_not_leader": "ReplicaManager.lastOffsetForLeaderEpoch",
    "new_members_wait_at_most_five_minutes": "GroupCoordinator.addMemberAndRebalance",
    "offset_commit_value_version": "GroupMetadataManager.offsetCommitValue",
    "group_metadata_value_version": "GroupMetadataManager.groupMetadataValue",
    # 2.2
    "cut_checkpoints_all_directories": "LogManager.truncateTo",
    "broker_epochs": "KafkaApis.isBrokerEpochStale",
    "registration_retries_node_exists": "KafkaZkClient.CheckedEphemeral.reCreate",
    "preferred_election_moves_leader_to_itself": "KafkaController.PreferredReplicaLeaderElection",
    "metadata_updates_brokers_only": "KafkaController.onBrokerStartup, addUpdateMetadataRequestForBrokers",
    "leader_and_isr_version": "ControllerBrokerRequestBatch.sendRequestsToBrokers",
    "new_members_are_named_first": "GroupCoordinator.doUnknownJoinGroup",
    "update_metadata_version": "ControllerBrokerRequestBatch.sendRequestsToBrokers",
    "stop_replica_version": "ControllerBrokerRequestBatch.sendRequestsToBrokers",
    "client_ignores_older_epochs": "Metadata.lastSeenLeaderEpochs",
    "metadata_without_epoch_forgets_all": "Metadata.updatePartitionInfo",
    "ignored_metadata_hides_leader": "Metadata.updatePartitionInfo, partitionInfoIfCurrent",
    "first_epoch_may_come_with_an_offset": "Metadata.updateLastSeenEpoch",
    "listed_offsets_have_epochs": "Log.fetchOffsetByTimestamp, KafkaApis.handleListOffsetRequestV1AndAbove",
    "consumer_list_offsets_version": "ListOffsetRequest.schemaVersions",
    "offset_not_available": "Partition.fetchOffsetForTimestamp",
    # 2.3
    "append_error_fails_partition": "AbstractFetcherThread.markPartitionFailed",
    "startup_offlines_dead_replicas": "ReplicaStateMachine.startup",
    "consumer_epoch_validation": "Fetcher.validateOffsetsIfNeeded",
    "client_prefers_connected_brokers": "NetworkClient.leastLoadedNode",
    "static_members": "GroupMetadata.hasStaticMember",
    "full_groups_forget_instances": "GroupCoordinator.handleJoinGroup, removeStaticMember",
    # errors of brokers: 2.0.0, 2.1, 2.2
    "failing_directory_ends_start": "LogManager.createAndValidateLogDirs",
    "refused_deletion_forgets_offline": "ReplicaManager.stopReplica",
    "removed_partition_ends_fetcher": "AbstractFetcherThread.truncateToHighWatermark",
    "long_names_fail_deletion": "Log.logDeleteDirName",
    "newer_broker_epoch_fails_orders": "KafkaApis.isBrokerEpochStale",
}
