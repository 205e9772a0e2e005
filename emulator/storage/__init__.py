"""A broker's log directories: Kafka's file operations, and the files that Kafka keeps there.

Reading order:

- `files`: the interface, its paths and its errors.
- `storage_faults`: folders that are full, or fail, on purpose.
- `memory_files`: files in memory for the simulated world, with the size that each fsync made durable; power loss.
- `disk`: the same over real files; `synced_journal`: the durable sizes of these files.
- `subdirectory_files`: one of several log directories on a disk.
- `log_directory`: the names of the files that Kafka keeps there.
- `checkpoints`: Kafka's checkpoint files and meta.properties as text; `metadata_text`: records of the metadata log.
- `inspect`: the content of a replica, read from its files alone, whether its node runs or not.
- `batch_entries`: batches with producers' numbers and markers, as observations show them.
- `power_loss`: the bytes of a stopped node's logs that survive a power loss.
"""
