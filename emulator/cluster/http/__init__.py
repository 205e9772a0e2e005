"""The control server's protocol: HTTP and JSON.

    curl -H @header -d '{"fault": "cut", "places": ["az-0"]}' http://127.0.0.1:PORT/v1/faults

Reading order: `access_tokens` (the read-only token and the run's id), `admission` (authorization: token, Host, no
foreign page), `link_bodies` (faults on links as JSON), `route` (one operation, from a typed request), `metrics_route`
(the one for Prometheus), `protocol_fault_routes`, `routes` (the table of all), `request_parsing` (from method, path and
body to a request), `replying` (from an answer to a status and JSON, and back), `description` (the table in OpenAPI),
`conversation` (one connection of the server), `request_exchange` (a client's request and its answer as bytes).
"""
