"""Clusters on a container engine: the machines come from a compose file, their nodes from the agents in them.

Reading order: `tool` (Docker's compose tool, whichever there is), `images` (those that a cluster needs), `project` (the
containers of one run: made, found), `doors` (Kafka's ports of them), `removal`, `cluster` (a Cluster on them).
"""
