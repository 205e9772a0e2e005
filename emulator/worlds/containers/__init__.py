"""Clusters on a container engine: machines from a compose file, with an agent in each.

Reading order: `tool` (Docker's compose tool of either version), `images` (those that a cluster needs), `project` (the
containers of one run), `kafka_ports` (their Kafka ports), `removal`, `container_cluster` (a Cluster on them).
"""
