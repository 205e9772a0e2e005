"""Clusters on a container engine: the machines come from a compose file, their nodes from the keepers in them.

Reading order: `tool` (Docker's compose tool, whichever there is), `project` (the containers of one run: made, found,
removed), `cluster` (a Cluster on them).
"""
