"""Clusters on a container engine: machines from a compose file, with an agent in each.

Reading order: `tool` (Docker's compose tool of either version), `images` (images of a cluster), `project` (the
containers of one run), `kafka_ports` (their Kafka ports), `removal`, `container_cluster` (a `Cluster` in containers).
"""
