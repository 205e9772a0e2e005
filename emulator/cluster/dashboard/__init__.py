"""A cluster's status drawn for a terminal.

Pure: from a status to renderables of `rich`.

Reading order: `contradictions` (nodes that claim the same role), `rates` (clients since the last look), `canvas` (cells
of one character), `az_box` and `az_map` (zones and the links between them), `partitions` (every node's own view of
each), `dashboard_figures` (brokers beside each other, under Kafka's metric names), `view` (the whole picture, for a
number of columns and lines), `keys` (input below it).
"""
