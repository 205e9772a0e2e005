"""The controller of KRaft: the state of the cluster, decided by the quorum's leader.

- `metadata_image`: the state that the records of the metadata log describe; brokers have one, too.
- `controller_log`: what the controller needs of its quorum's node.
"""
