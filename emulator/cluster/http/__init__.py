"""The control server in HTTP and JSON, for every language: the same requests, token and bounds, on the same port.

    curl -H @header -d '{"fault": "cut", "places": ["az-0"]}' http://127.0.0.1:PORT/v1/faults

Reading order: `admission` (who is let in: token, Host, no browser), `link_bodies` (faults on links as JSON), `route`
(one operation, from a typed request), `routes` (the table of all), `reading` (a method, path and body become a
request), `replying` (an answer becomes a status and JSON), `description` (the table in OpenAPI), `conversation` (one
connection). It is imported when the first HTTP request comes.
"""
