"""Import of real brokers' files: their log lines and data folders become a run's events.

Reading order: `line_layouts` (layouts of lines, dates), `line_forms` and `line_table` (the table of lines that are
understood), `byte_lines` (files in bounded memory), `log_reader` (one file), `replica_contents` (segments, checkpoints,
the metadata log), `node_story` (one node's lines become events), `collected_nodes` (folders and their nodes),
`node_lines` (all files of a node), `metadata_states`, `append_places` (places of batches among events),
`clock_offsets`, `clients_file` and `client_events` (an application's sends), `event_spool`, `event_files`,
`evidence_limits` (evidence that checks need), `import_record`, `imported_run` (all of it).
"""
