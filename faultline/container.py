"""A cluster in one container, for test suites with Testcontainers.

Needs the extra `[testcontainers]`.

    from faultline.container import FaultlineContainer

    with FaultlineContainer(kafka_version="3.9") as cluster:
        ...  # any Kafka client: bootstrap.servers=cluster.bootstrap_servers("az-0")
        cluster.cut("az-0")
        cluster.heal()

docs/single-container.md says how its image is built, and what else a request over HTTP can do.
"""

import json
import secrets
from collections.abc import Mapping
from time import monotonic, sleep
from typing import Any, Final, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from faultline.errors import NotStarted, Refused

try:
    from testcontainers.core.container import DockerContainer
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "faultline.container: Testcontainers is missing; run pip install 'kafka-faultline[testcontainers]'",
        name=error.name,
    ) from error

IMAGE: Final = "faultline:single"
HTTP_PORT: Final = 9400
PORTS: Final = 95
BROKERS: Final = 3
AZS: Final = 3
HOST: Final = "127.0.0.1"
STARTS_S: Final = 120
REQUEST_S: Final = 90.0
LOOKS_S: Final = 0.2
"""Time between two looks at a container's health."""


class FaultlineContainer(DockerContainer):
    """A container with all nodes of a cluster, ready when it has started.

    `topology`: a topology's name, or the path of a compose file in the container; with others than three AZs and three
    brokers also give `azs` and `brokers`. `kafka_ports`: first figures of Kafka's ports, which are published on
    loopback under the same numbers; clusters at the same time need different ones. `settings`: Kafka's, by their names.

    Raises NotStarted from `start`, Refused from every request.
    """

    def __init__(
        self,
        image: str = IMAGE,
        *,
        kafka_version: str = "",
        metadata: str = "",
        topology: str = "",
        settings: Mapping[str, Any] | None = None,
        kafka_ports: int = PORTS,
        azs: int = AZS,
        brokers: int = BROKERS,
        **about: Any,
    ) -> None:
        super().__init__(image, **about)
        self.token = secrets.token_hex(16)
        assignments = " ".join(f"'{name}={value}'" for name, value in (settings or {}).items())
        given = {
            "FAULTLINE_TOKEN": self.token, "FAULTLINE_KAFKA_VERSION": kafka_version, "FAULTLINE_METADATA": metadata,
            "FAULTLINE_TOPOLOGY": topology, "FAULTLINE_SETTINGS": assignments,
            "FAULTLINE_KAFKA_PORTS": str(kafka_ports),
        }  # fmt: skip
        self.with_envs(**{name: value for name, value in given.items() if value})
        self.with_exposed_ports(HTTP_PORT)
        published: dict[str, Any] = self.ports  # an address with the port: nothing but loopback may connect
        for az in range(azs + 1):  # the last figure is of clients outside every AZ
            for broker in range(brokers):
                port = kafka_ports * 100 + az * 10 + broker
                published[str(port)] = (HOST, port)
        self.with_kwargs(init=True)

    def start(self) -> Self:
        """Start the container; return when it is healthy. Raises NotStarted."""
        super().start()
        container = self.get_wrapped_container()
        until_s = monotonic() + STARTS_S
        while container.health != "healthy":
            if container.status == "exited" or monotonic() > until_s:
                lines = container.logs().decode(errors="replace").strip().splitlines()
                raise NotStarted(f"the container is {container.status}: {lines[-1] if lines else 'it printed nothing'}")
            sleep(LOOKS_S)
            container.reload()
        return self

    @property
    def url(self) -> str:
        """Address of the control server."""
        return f"http://{HOST}:{self.get_exposed_port(HTTP_PORT)}"

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request of docs/http.md: `request("POST", "/v1/nodes/broker-0/kill", {})`.

        Raises Refused.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}"}
        try:
            with urlopen(Request(f"{self.url}{path}", data, headers, method=method), timeout=REQUEST_S) as reply:
                result: dict[str, Any] = json.loads(reply.read())
        except HTTPError as error:
            try:
                why = str(json.loads(error.read())["error"])
            except (ValueError, KeyError):
                why = str(error)
            raise Refused(why, unknown=error.code >= 500) from error
        return result

    def bootstrap_servers(self, az: str = "") -> str:
        """Addresses of the brokers for a Kafka client in `az`; "": outside every AZ."""
        by_az: dict[str, str] = self.request("GET", "/v1/ready")["bootstrap"]
        if az not in by_az:
            raise Refused(f"az {az!r}: not in the topology; one of {', '.join(filter(None, sorted(by_az)))}")
        return by_az[az]

    def cut(self, *places: str) -> None:
        """Cut links: of an AZ, or between two places."""
        self.request("POST", "/v1/faults", {"fault": "cut", "places": places})

    def heal(self) -> None:
        """End all faults of links."""
        self.request("DELETE", "/v1/faults")

    def break_node(self, node: str, fault: str) -> None:
        """Apply a fault of docs/http.md to a node: kill, pause, resume, stop, start, power-loss."""
        self.request("POST", f"/v1/nodes/{node}/{fault}", {})
