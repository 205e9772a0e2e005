"""Import of real brokers' files: their log lines and data folders become a run's events.

Reading order: `line_layouts` (layouts of lines, dates), `line_forms`, `broker_line_table`, `controller_line_table` and
`line_table` (the lines that are understood), `byte_lines` (files in bounded memory), `log_reader` (one file),
`replica_contents` (segments, checkpoints, the metadata log). Lines become events: `line_events` (common parts),
`replica_lines`, `controller_lines`, `node_story` (one node). Then `collected_nodes` (folders and their nodes),
`node_lines` (all files of a node), `metadata_states`, `append_places` (places of batches among events),
`clock_offsets`, `clients_file` and `client_events` (an application's sends), `replica_events`, `event_spool`,
`event_files`, `folder_copies`, `evidence_limits` (evidence that checks need), `import_record`, `imported_run` (all of
it). Beside these `segment_differences` compares two replicas.

The incident: `incident_facts`, `incident_evidence`, `log_facts`, `forgotten_logs`, `isolation_finding`, `fact_finding`,
`incident` (in ten lines), `incident_scenario` (to play it again), `incident_run` (of a run's directory).
"""
