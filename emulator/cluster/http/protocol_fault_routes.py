"""Protocol faults over HTTP. Pure."""

from typing import Final

from emulator.cluster import control_requests as r
from emulator.cluster.http.route import Route, route_of

PATH: Final = "/v1/protocol-faults"

PROTOCOL_FAULT_ROUTES: Final[tuple[Route, ...]] = (
    route_of(
        r.AddProtocolFault, "POST", PATH,
        "A fault of the Kafka listeners: an error, a delay, a dropped response, a closed connection.", status=201,
    ),
    route_of(
        r.ProtocolFaultStatus, "GET", PATH, "Those in force and their hits.", name="ProtocolFaults", without=("fault",),
    ),
    route_of(
        r.ProtocolFaultStatus, "GET", f"{PATH}/{{fault}}",
        "One of them; with `wait_hits` once it has hit so many requests, or at the time limit (`reached`).",
    ),
    route_of(r.RemoveProtocolFault, "DELETE", f"{PATH}/{{fault}}", "Removes one."),
    route_of(r.RemoveProtocolFault, "DELETE", PATH, "Removes all.", name="RemoveProtocolFaults", without=("fault",)),
)  # fmt: skip
