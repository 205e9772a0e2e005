"""Commands to rules: the nodes of each side, the purposes, and the error for a wrong word."""

import pytest

from emulator.faults.link_fault_kinds import RuleError
from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.topology import KRAFT, three_azs
from protocol.link_rules import LinkRule
from protocol.purposes import BROKER_PORT

TOPOLOGY = three_azs()
AZ_0 = ("broker-0", "session-0", "client-0")


def parsed(command: str) -> LinkRule:
    rule = rule_of(TOPOLOGY, "r", parse(command.split()))
    return rule


def test_one_rule_cuts_a_broker_off_the_whole_session_service() -> None:
    found = rule_of(TOPOLOGY, "r", parse(["cut", "broker-0", "session"]))
    assert (found.a, found.b) == (("broker-0",), ("session-0", "session-1", "session-2"))
    assert (found.purposes, found.what) == ((), "cut broker-0 session"), "everything between them"
    opened = rule_of(TOPOLOGY, "r", parse(["cut", "opened_by", "broker-0", "to", "session"]))
    assert opened.opened_by_a and len(opened.b) == 3


def test_an_az_is_cut_from_nodes_of_other_azs_and_the_player_from_no_node() -> None:
    rule = parsed("cut az-0")
    assert rule.a == AZ_0
    assert rule.b == ("broker-1", "broker-2", "session-1", "session-2", "client-1", "client-2")
    assert rule.purposes == () and not rule.one_way and rule.kind == "cut"


def test_a_link_between_brokers_means_their_ports() -> None:
    rule = parsed("cut broker-0 broker-1")
    assert (rule.a, rule.b, rule.purposes) == (("broker-0",), ("broker-1",), BROKER_PORT)
    assert rule.matches("broker-1", "broker-0", "broker-1", "fetcher")
    assert not rule.matches("broker-1", "broker-0", "broker-1", "session")


def test_a_link_to_a_session_server_means_everything() -> None:
    assert parsed("cut broker-0 session-1").purposes == ()


@pytest.mark.parametrize("command", ["cut broker-0 -> broker-1", "cut broker-0->broker-1"])
def test_an_arrow_is_one_way(command: str) -> None:
    rule = parsed(command)
    assert rule.one_way and rule.what == "cut broker-0 -> broker-1"
    assert rule.matches("broker-0", "broker-1", "broker-1", "fetcher")
    assert not rule.matches("broker-1", "broker-0", "broker-1", "fetcher")


def test_opened_by_spares_the_other_sides_connections() -> None:
    rule = parsed("cut opened_by broker-0 to broker-1")
    assert rule.matches("broker-0", "broker-1", "broker-0", "fetcher")
    assert not rule.matches("broker-1", "broker-0", "broker-0", "fetcher"), "the answers' way is open"
    assert not rule.matches("broker-0", "broker-1", "broker-1", "fetcher"), "what broker-1 opened works"


def test_a_node_alone_is_cut_from_everyone_in_an_az() -> None:
    rule = parsed("cut broker-0")
    assert rule.a == ("broker-0",) and "client-0" in rule.b and "observer" not in rule.b


def test_amounts_and_options() -> None:
    assert parsed("delay az-0 az-1 50ms 10ms").delay_ms == 50.0
    assert parsed("delay az-0 az-1 50 10").jitter_ms == 10.0
    assert parsed("loss az-0 5%").loss == 0.05
    for text, bytes_per_s in (("500", 500.0), ("500B", 500.0), ("10kB", 10_000.0), ("1.5MB/s", 1_500_000.0)):
        assert parsed(f"bandwidth az-0 {text}").bytes_per_s == bytes_per_s
    assert parsed("bandwidth az-0 -> az-1 1500B").what == "bandwidth az-0 -> az-1 1.5kB/s"
    assert (parsed("reset broker-0 broker-1").every_ms, parsed("reset az-0 500ms").every_ms) == (0.0, 500.0)
    assert parsed("reset broker-0 -> broker-1 500").what == "reset broker-0 -> broker-1 500ms"
    assert parsed("cut az-0 --recovery instant").recovery == "instant"
    assert parsed("cut az-0 --only=session").purposes == ("session",)
    assert not parsed("cut az-0 --expects-nothing").expects_traffic
    named = parsed("cut az-0 --client-id orders,billing")
    assert named.client_ids == ("orders", "billing") and named.what == "cut az-0 (clients orders, billing only)"
    assert named.matches("client-0", "broker-1", "client-0", "client", client_id="orders")
    assert not named.matches("client-0", "broker-1", "client-0", "client", client_id="other")
    assert not named.matches("broker-0", "broker-1", "broker-0", "fetcher"), "no node is a Kafka client"
    only = parsed("cut broker-0 broker-1 --only fetch,produce")
    assert only.apis == ("Fetch", "Produce") and "not physical" in only.what


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "a fault starts with cut, hold, delay, loss, bandwidth or reset"),
        ("cutt az-0", "no fault 'cutt'; did you mean cut?"),
        ("cut broker-9", "no node or AZ 'broker-9'; did you mean broker-"),
        ("cut xyz", "no node or AZ 'xyz'; there is broker-0, "),
        ("cut observer", "observer is outside every AZ and is never cut"),
        ("cut broker-0 az-0", "broker-0 is on both sides"),
        ("cut broker-0 broker-0", "broker-0 is on both sides"),
        ("cut az-0 --only fetsch", "no purpose or message type 'fetsch'; did you mean fetch?"),
        ("cut az-0 --onyl fetch", "no option '--onyl'; did you mean --only?"),
        ("cut az-0 --only", "--only needs a value"),
        ("cut az-0 --client-id", "--client-id needs a value"),
        ("cut az-0 --client orders", "no option '--client'; did you mean --client-id?"),
        ("cut az-0 --recovery slow", "no recovery 'slow'; there is rto, instant"),
        ("cut az-0 --only control", "no purpose or message type 'control'"),
        ("cut", "cut takes PLACE"),
        ("cut a b c", "cut takes PLACE"),
        ("cut az-0 5%", "cut takes no amount, not 5%"),
        ("delay az-0", "delay takes milliseconds"),
        ("delay az-0 0", "a delay needs milliseconds above 0"),
        ("delay az-0 1x", "'1x' is no number"),
        ("delay az-0", ", such as 50ms 10ms, and none is given"),
        ("delay az-0 abc", "delay ends with milliseconds, then jitter if any, such as 50ms 10ms; 'abc' is no number"),
        ("loss az-0 az-1 some", "loss ends with one share such as 0.05 or 5%; 'some' is no number"),
        ("cut broker-0 sesion", "no node or AZ 'sesion'; did you mean session"),
        ("cut session-0 session", "session-0 is on both sides"),
        ("bandwidth az-0 fast", "bandwidth ends with bytes a second such as 500B, 10kB or 1MB; 'fast' is no number"),
        ("bandwidth az-0", "bandwidth takes bytes a second such as 500B, 10kB or 1MB, and none is given"),
        ("bandwidth az-0 0B", "a bandwidth is at least 1 byte a second, not 0"),
        ("bandwidth az-0 1GB", "'1GB' is no number (of B)"),
        ("reset az-0 0.1", "a reset is every 1 ms to a day, not 0.1 ms"),
        ("reset az-0 1 2", "reset takes milliseconds at most once, such as 500ms, not 1 2"),
        ("reset az-0 --only fetch,fetcher", "a reset ends whole connections, not frames of Fetch; name a purpose"),
        ("loss az-0 150%", "a loss is a share of frames above 0 and below 1, not 1.5"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest_right_one(command: str, message: str) -> None:
    with pytest.raises(RuleError) as error:
        rule_of(TOPOLOGY, "r", parse(command.split()))
    assert message in str(error.value)


def test_with_kraft_a_link_between_brokers_leaves_the_controllers_port_open() -> None:
    """Brokers reach controllers at a port of theirs; a link to a controller means everything."""
    kraft = three_azs(metadata=KRAFT)
    combined = three_azs(metadata=KRAFT, combined=True)
    assert rule_of(kraft, "r", parse(["cut", "broker-0", "broker-1"])).purposes == BROKER_PORT
    assert rule_of(combined, "r", parse(["cut", "broker-0", "broker-1"])).purposes == BROKER_PORT
    for pair in (["broker-0", "controller-1"], ["controller-0", "controller-1"]):
        assert rule_of(kraft, "r", parse(["cut", *pair])).purposes == ()
    rule = rule_of(kraft, "r", parse(["cut", "az-0"]))
    assert rule.a == ("broker-0", "controller-0", "client-0")
    with pytest.raises(RuleError, match="no node or AZ 'session'"):
        rule_of(kraft, "r", parse(["cut", "broker-0", "session"]))
