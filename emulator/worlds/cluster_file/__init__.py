"""The compose file: source of a cluster's topology and settings, in containers or not.

Reading order: `interpolation` (`${NAME:-default}` in its values), `networks` (a node's networks, and its names on
them), `services` (the services that are nodes), `settings` (variables to Kafka's and ZooKeeper's settings),
`cluster_model` (the result), `compose_parsing` (from a document to it, every error with line and column),
`compose_files` (the shipped files, and reading one).

    cluster_file = read_cluster_file(named_topology("three-az"))
"""
