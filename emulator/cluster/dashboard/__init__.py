"""A cluster's status as a picture for a terminal. Pure: a status goes in, something that `rich` prints comes out.

Reading order: `contradictions` (who says the same of itself), `rates` (clients since the last look), `canvas` (cells of
one character), `az_box` and `az_map` (zones and the links between them), `partitions` (every node's own idea of each),
`figures` (brokers beside each other, under Kafka's metric names), `view` (all of it, for so many columns and lines),
`keys` (what is typed below it).
"""
