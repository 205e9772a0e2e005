"""The live page of a cluster, and the stream of states that it shows.

Reading order: `state_deltas` (changes between two states), `stream_history` (the newest changes, as server-sent
events), `state_stream` (one sampler for all readers), `page_state` (the state that a page shows, from a cluster's
status), `log_windows` (the newest batches of each replica), `live_page_state` (looks at a live cluster),
`static_files` (the page's files), `saved_page` (the same page in one file, which plays a recording without a server),
`page_files` (the files as replies, with their security headers), `log_fold` and `run_recording` (a finished run as a
recording), `story_requests` and `story_steps` (a scenario's steps for the reader).

`static` has the page: plain ES modules, SVG and style sheets without a build. `live_page.js` starts it.
"""
