"""The control server in HTTP and JSON: same requests, token, bounds and port.

    curl -H @header -d '{"fault": "cut", "places": ["az-0"]}' http://127.0.0.1:PORT/v1/faults

Reading order: `admission` (authorization: token, Host, no browser), `link_bodies` (faults on links as JSON), `route`
(one operation, from a typed request), `routes` (the table of all), `request_parsing` (from method, path and body to a
request), `replying` (from an answer to a status and JSON), `description` (the table in OpenAPI), `conversation` (one
connection). It is imported when the first HTTP request comes.
"""
