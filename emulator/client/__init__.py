"""Clients: of the session service, and of the brokers.

Reading order:

- `session_client`, `retrying_session`: the session service's client.
- `operations`: what clients of brokers write down about what they do.
- `exchange`: one request over a connection of its own; `fetched`: what a fetch answer holds.
- `direct` (with `direct_write`, `direct_results`): asks the broker it is told to ask, as the recordings do.
"""
