"""A broker's log directories: the few file operations Kafka relies on, and the files Kafka keeps with them.

Reading order:

- `files`: the interface, its paths and its errors.
- `faults`: folders that are full, or fail, on purpose.
- `memory`: files in memory that know what was synced, for the simulated world; power loss.
- `disk`: the same over real files; `synced_journal`: what of them was synced, where power losses are played.
- `within`: one of several log directories on a disk.
- `log_directory`: the files that Kafka keeps there, by name.
- `checkpoints`: its checkpoint files and meta.properties as text.
- `inspect`: what a replica holds, read from its files alone, dead or alive.
- `power_loss`: what one leaves of a dead node's logs.
"""
