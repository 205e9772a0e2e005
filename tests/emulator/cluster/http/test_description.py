"""The OpenAPI description: valid, and whole."""

import msgspec
from openapi_spec_validator import validate

from emulator.cluster.http.description import REFUSALS, description
from emulator.cluster.http.routes import ROUTES
from tests.emulator.cluster.http.samples import SAMPLES


def test_it_is_valid_and_describes_every_operation() -> None:
    reported = msgspec.json.decode(msgspec.json.encode(description()))
    validate(reported)
    operations = {(method.upper(), path): one for path, by in reported["paths"].items() for method, one in by.items()}
    assert set(operations) == {(route.method, route.path) for route in ROUTES}
    assert len({one["operationId"] for one in operations.values()}) == len(operations) == len(SAMPLES)
    for (method, path), one in operations.items():
        in_path = [field["name"] for field in one["parameters"] if field["in"] == "path"]
        assert in_path == [part[1:-1] for part in path.split("/") if part.startswith("{")]
        assert ("requestBody" in one) == (method in ("POST", "PATCH")) and one["summary"].endswith(".")
        assert set(REFUSALS) < set(one["responses"])


def test_a_body_has_the_types_and_bounds_of_the_request() -> None:
    produce = description()["components"]["schemas"]["Produce"]
    assert produce["required"] == ["values"] and produce["additionalProperties"] is False
    assert "topic" not in produce["properties"]
    assert produce["properties"]["retries"] == {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 0}
