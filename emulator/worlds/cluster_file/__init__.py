"""The compose file as the one source of a cluster's topology and settings, whether containers or processes run it.

Reading order: `interpolation` (`${NAME:-default}` in its values), `networks` (which networks a node is on, and what it
is called there), `services` (the services that are nodes), `settings` (variables to Kafka's and ZooKeeper's settings),
`cluster` (what comes of it), `reading` (a document to that, every fault with line and column), `files` (the files:
where they are, and reading one).

    cluster_file = read_cluster_file(named_topology("three-az"))
"""
