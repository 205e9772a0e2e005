"""An end of a connection applies the rules in force to frames: times are exact here."""

from typing import Any

import msgspec

from emulator.faults.enforcement import LinkState
from emulator.faults.link_paths import Path, Stopped
from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.faults.links import DATA, ORPHAN_TRIES, SEGMENTS, SYN, given_up_at, retransmission_at
from emulator.topology import three_azs
from protocol.events import FaultHealed, FaultInForce, FaultLasted, FaultTraffic, FaultTried
from protocol.link_rules import KERNEL, LinkRule
from protocol.machine import Loss

TOPOLOGY = three_azs()


def rule(words: str, name: str = "r") -> LinkRule:
    made = rule_of(TOPOLOGY, name, parse(words.split()))
    return made


def link(node: str = "broker-0", peer: str = "broker-1", purpose: str = "fetcher") -> tuple[LinkState, Path, Path]:
    links = LinkState(node, seed=1)
    out, back = links.connect(0.0, peer, purpose, opened_here=True)
    return links, out, back


def test_without_rules_everything_passes_and_is_calm() -> None:
    _, out, back = link()
    assert out.calm and back.calm
    assert out.offer(0.0, "a") is None and out.next_ms is None


def test_a_cut_holds_and_the_retransmission_after_the_heal_releases_in_order() -> None:
    links, out, _ = link()
    links.apply(100.0, rule("cut az-0"))
    assert out.offer(150.0, "a", "Fetch") == Stopped("r", "held")
    assert out.offer(900.0, "b", "Fetch") == Stopped("r", "held")
    assert out.take(1_000.0) == []
    links.heal(1_000.0, "r")
    assert out.next_ms == 1_824.0, "356, 564, 992, 1824 ms: 204, 204, 408, 816 ms and what is left of a slot"
    assert out.offer(1_200.0, "c", "Fetch") == Stopped("", "queued"), "TCP sends nothing new before"
    assert out.take(1_823.0) == []
    assert out.take(1_824.0) == ["a", "b", "c"]
    assert out.calm and out.offer(1_825.0, "d") is None
    assert links.frames_stopped == {"r": 2}


def test_instant_recovery_and_hold_flow_at_the_heal() -> None:
    for words in ("cut az-0 --recovery instant", "hold az-0"):
        links, out, _ = link()
        links.apply(0.0, rule(words))
        out.offer(10.0, "a")
        links.heal(5_000.0, "r")
        assert out.next_ms == 5_000.0 and out.take(5_000.0) == ["a"]


def test_a_second_cut_before_the_retransmission_keeps_the_first_loss() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("cut az-0", "r1"))
    out.offer(0.0, "a")
    links.heal(500.0, "r1")
    links.apply(550.0, rule("cut az-0", "r2"))
    assert out.take(640.0) == []
    links.heal(3_500.0, "r2")
    assert out.next_ms == 6_656.0 and out.take(6_656.0) == ["a"], "208, 416 ... 3328 ms, 3264 ms and a whole slot"


def test_of_two_rules_both_must_be_healed() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("cut az-0", "r1"))
    links.apply(0.0, rule("cut broker-0 broker-1", "r2"))
    out.offer(0.0, "a")
    links.heal(100.0, "r1")
    assert out.take(50_000.0) == []
    links.heal(50_000.0, "r2")
    assert out.next_ms is not None and out.take(out.next_ms) == ["a"]


def test_what_was_under_way_is_caught_at_the_receivers_gate() -> None:
    links, _, back = link("broker-1", "broker-0")
    links.apply(100.0, rule("cut az-0"))
    assert back.offer(101.0, "a") == Stopped("r", "held")
    links.heal(200.0, "r")
    assert back.take(307.0) == [] and back.take(308.0) == ["a"]
    assert [type(event).__name__ for event in links.take_events()] == ["FaultInForce", "FaultHealed", "FaultTraffic"]


def test_a_heal_is_proved_once_by_the_first_traffic_received() -> None:
    links, out, back = link()
    links.apply(0.0, rule("cut az-0"))
    links.heal(10.0, "r")
    links.take_events()
    assert out.offer(11.0, "a") is None
    assert links.take_events() == [FaultTried(rule="r", peer="broker-1")], "sending proves nothing"
    assert out.calm and out.offer(11.5, "b") is None and links.take_events() == []
    assert back.offer(12.0, "b") is None
    (event,) = links.take_events()
    assert (event.NAME, event.rule, event.peer) == ("fault_traffic", "r", "broker-1")  # type: ignore[attr-defined]
    assert back.calm and back.offer(13.0, "c") is None and links.take_events() == []


def test_an_ending_node_reports_what_lasting_rules_have_stopped() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("cut az-0"))
    links.apply(0.0, rule("cut az-1", "healed"))
    links.heal(1.0, "healed")
    links.apply(0.0, msgspec.structs.replace(rule("cut az-0", "kernel"), driver=KERNEL))
    out.offer(2.0, "a")
    assert links.last_words() == [FaultLasted(rule="r", what="cut az-0", frames_stopped=1)]


def test_a_restarted_node_reports_what_was_stopped_since() -> None:
    """A process has counts of its own; a simulated node has one book for all its lives."""
    links, out, _ = link()
    links.apply(0.0, rule("cut az-0"))
    links.take_events()
    out.offer(1.0, "a")
    assert links.last_words() == [FaultLasted(rule="r", what="cut az-0", frames_stopped=1)]
    out.offer(2.0, "b")
    out.offer(2.0, "c")
    assert links.last_words() == [FaultLasted(rule="r", what="cut az-0", frames_stopped=2)]
    out.offer(3.0, "d")
    links.heal(4.0, "r")
    assert links.take_events() == [FaultHealed(rule="r", what="cut az-0", frames_stopped=1)]
    assert links.frames_stopped == {"r": 4}


def test_a_new_connection_can_prove_a_heal_too() -> None:
    links, _, _ = link()
    links.apply(0.0, rule("cut az-0"))
    links.heal(10.0, "r")
    links.take_events()
    _, back = links.connect(0.0, "broker-1", "session", opened_here=False)
    assert back.offer(12.0, "b") is None and len(links.take_events()) == 1


def test_a_connection_attempt_counts_as_tried() -> None:
    """A link that a kernel still cuts is asked for, and never stands."""
    links, _, _ = link()
    links.apply(0.0, rule("cut az-0"))
    opening = links.opening(*links.connect(0.0, "broker-1", "session", opened_here=True))
    assert opening.attempt(5.0) is not None
    links.heal(10.0, "r")
    links.take_events()
    assert opening.attempt(1_010.0) is None
    assert links.take_events() == [FaultTried(rule="r", peer="broker-1")]


def test_tcp_gives_up_at_the_sender_only() -> None:
    links, out, back = link()
    links.apply(0.0, rule("cut az-0"))
    out.offer(0.0, "a")
    back.offer(0.0, "b")
    gives_up_ms = given_up_at(0.0)
    assert out.next_ms == gives_up_ms and 924_600.0 < gives_up_ms < 940_000.0, "tcp_retries2 = 15"
    assert not out.given_up(gives_up_ms - 1.0) and out.given_up(gives_up_ms)
    assert back.next_ms is None and not back.given_up(10_000_000.0)


def test_a_syn_is_repeated_and_given_up() -> None:
    links, out, back = link()
    links.apply(0.0, rule("cut az-0"))
    opening = links.opening(out, back)
    assert opening.attempt(500.0) == Stopped("r", "held")
    assert opening.next_ms == given_up_at(500.0, SYN) == 135_168.0 and opening.given_up(135_168.0)
    links.heal(2_000.0, "r")
    assert opening.next_ms == 2_528.0 and opening.attempt(2_528.0) is None
    assert links.frames_stopped == {"r": 1}


def test_a_syn_whose_answer_is_cut_does_not_open() -> None:
    links, out, back = link()
    links.apply(0.0, rule("cut broker-1 -> broker-0"))
    assert links.opening(out, back).attempt(0.0) is not None
    assert out.offer(0.0, "a") is None, "frames to broker-1 would pass"


def test_delay_keeps_the_order_and_a_cut_meanwhile_holds_what_is_delayed() -> None:
    links, out, back = link()
    links.apply(0.0, rule("delay az-0 az-1 100ms", "d"))
    assert out.offer(0.0, "a") == Stopped("d", "delayed")
    assert out.offer(30.0, "b") == Stopped("d", "delayed")
    assert back.offer(0.0, "x") is None, "delay is the sender's"
    assert out.take(100.0) == ["a"]
    links.apply(110.0, rule("cut az-0", "c"))
    assert out.take(130.0) == []
    links.heal(200.0, "c")
    assert out.take(335.0) == [] and out.take(336.0) == ["b"]
    assert links.frames_stopped == {"d": 2, "c": 1}


def test_jitter_never_reorders() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("delay az-0 az-1 10ms 500ms"))
    for number in range(100):
        out.offer(float(number), number)
    taken: list[Any] = []
    while out.next_ms is not None:
        taken += out.take(out.next_ms)
    assert taken == list(range(100))


def test_loss_is_a_retransmission_later() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("loss az-0 0.5"))
    delays = set()
    for number in range(200):
        at_ms = number * 1_000_000.0
        if out.offer(at_ms, number) is not None:
            assert out.next_ms is not None
            delays.add(out.next_ms - at_ms)
            assert out.take(out.next_ms) == [number]
    assert min(delays) == 208.0 and {416.0, 832.0} < delays
    assert links.frames_stopped["r"] > 100


def test_frames_picked_out_of_a_stream_are_dropped_and_others_pass() -> None:
    links, out, back = link()
    links.apply(0.0, rule("cut broker-0 broker-1 --only fetch"))
    assert out.offer(0.0, "a", "Fetch") == Stopped("r", "dropped")
    assert out.offer(0.0, "b", "Produce") is None
    assert back.offer(0.0, "c", "Fetch") == Stopped("r", "dropped")
    links.heal(10.0, "r")
    assert out.take(10_000.0) == []


def test_frames_held_by_name_come_at_the_heal() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("hold broker-0 broker-1 --only fetch"))
    out.offer(0.0, "a", "Fetch")
    assert out.offer(0.0, "b", "Produce") is None
    links.heal(10.0, "r")
    assert out.next_ms == 10.0 and out.take(10.0) == ["a"] and out.calm


def test_control_is_never_stopped() -> None:
    links, out, _ = link("broker-0", "broker-1", "control")
    links.apply(0.0, rule("cut az-0"))
    assert out.calm and out.offer(0.0, "a") is None


def test_applying_twice_changes_nothing_and_healing_the_unknown_is_reported() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("cut az-0"))
    out.offer(0.0, "a")
    links.apply(5.0, rule("cut az-0"))
    assert len(links.take_events()) == 1 and links.frames_stopped == {"r": 1}
    assert links.heal(10.0, "r") and not links.heal(10.0, "r")


def test_what_the_kernel_stops_is_noted_and_not_stopped_here() -> None:
    links, out, back = link()
    links.apply(0.0, msgspec.structs.replace(rule("cut az-0"), driver=KERNEL))
    assert out.offer(10.0, "a") is None and back.offer(11.0, "b") is None
    assert links.heal(20.0, "r", packets_dropped=7)
    assert links.frames_stopped == {"r": 7}
    assert back.offer(30.0, "c") is None
    assert links.take_events() == [
        FaultInForce(rule="r", what="cut az-0"),
        FaultHealed(rule="r", what="cut az-0", frames_stopped=7),
        FaultTraffic(rule="r", peer="broker-1"),
    ]


def test_the_first_lost_segment_determines_the_retransmission() -> None:
    """Several segments are probed at once, so their retransmissions begin sooner."""
    for first, then, at_ms in ((SEGMENTS, DATA, 640.0), (DATA, SEGMENTS, 832.0)):
        links, out, _ = link()
        links.apply(0.0, rule("cut az-0"))
        out.offer(0.0, "a", "Fetch", first)
        out.offer(1.0, "b", "Fetch", then)
        links.heal(500.0, "r")
        assert out.next_ms == at_ms
        assert out.take(at_ms) == ["a", "b"] and out.calm


def test_all_that_a_node_sends_over_a_link_shares_its_bandwidth() -> None:
    """100 bytes take a second at 100 bytes a second, on any connection.

    Waiting data passes at a heal.
    """
    links = LinkState("broker-0", seed=1)
    (one, _), (other, _) = (links.connect(0.0, "broker-1", one, opened_here=True) for one in ("fetcher", "client"))
    away, _ = links.connect(0.0, "broker-2", "fetcher", opened_here=True)
    links.apply(0.0, rule("bandwidth broker-0 broker-1 100B"))
    assert one.offer(0.0, "a", size_bytes=100) == Stopped("r", "delayed")
    assert other.offer(0.0, "b", size_bytes=50) == Stopped("r", "delayed")
    assert one.offer(200.0, "c", size_bytes=100) == Stopped("r", "delayed")
    assert away.offer(0.0, "z", size_bytes=1_000) is None
    assert (one.next_ms, other.next_ms) == (1_000.0, 1_500.0)
    assert one.take(1_000.0) == ["a"] and one.next_ms == 2_500.0 and other.take(1_500.0) == ["b"]
    links.heal(1_600.0, "r")
    assert one.next_ms == 1_600.0
    assert one.offer(1_600.0, "d", size_bytes=100) == Stopped("", "queued"), "the stream stays in order"
    assert one.take(1_600.0) == ["c", "d"] and links.frames_stopped["r"] == 3
    assert one.offer(1_700.0, "e", size_bytes=100) is None and other.offer(1_700.0, "f", size_bytes=100) is None


def test_what_comes_in_is_its_senders_to_slow_down() -> None:
    links, _, back = link()
    links.apply(0.0, rule("bandwidth broker-0 broker-1 1B"))
    assert back.offer(0.0, "a", size_bytes=100) is None


# --- ends of streams, and rules that are lifted while frames wait ---


def test_the_end_of_a_stream_waits_for_what_is_held_aside() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("hold az-0 --only Fetch", "fetches"))
    links.apply(0.0, rule("hold az-0 --only Produce", "produces"))
    out.offer(1.0, "a", "Fetch")
    out.offer(2.0, "b", "Produce")
    assert out.offer(3.0, "c", "Metadata") is None, "other messages pass what is held"
    assert out.offer(4.0, "end", ends=True) == Stopped("", "queued") and out.waiting == 3
    links.heal(10.0, "produces")
    assert out.take(10.0) == ["b"]
    links.heal(20.0, "fetches")
    assert out.take(20.0) == ["a", "end"] and out.waiting == 0
    assert out.calm


def test_an_orphans_end_is_given_up_sooner() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("cut az-0"))
    out.offer(100.0, "a")
    assert given_up_at(100.0) > 900_000.0
    out.orphan(200.0)
    gives_up_ms = given_up_at(100.0, DATA._replace(tries=ORPHAN_TRIES))
    assert out.next_ms == gives_up_ms and 102_200.0 < gives_up_ms < 109_000.0
    assert not out.given_up(gives_up_ms - 1.0) and out.given_up(gives_up_ms)


def test_what_was_tried_for_longer_than_an_orphan_is_tried_once_more() -> None:
    links, out, _ = link()
    links.apply(0.0, rule("cut az-0"))
    out.offer(0.0, "a")
    out.orphan(300_000.0)
    assert out.next_ms == retransmission_at(0.0, 300_000.0) > 300_000.0


def lossy() -> tuple[LinkState, Path]:
    """Everything is lost as often as TCP tries it."""
    links, out, _ = link()
    links.apply(0.0, rule("loss az-0 0.999999", "loss"))
    assert out.offer(0.0, "a") == Stopped("loss", "lost") and out.offer(1.0, "b") == Stopped("loss", "lost")
    assert out.next_ms is not None and out.next_ms > 800_000.0
    return links, out


def test_what_was_lost_comes_with_the_next_retransmission_after_the_heal() -> None:
    links, out = lossy()
    links.heal(1_000.0, "loss")
    assert out.next_ms == retransmission_at(0.0, 1_000.0) < 2_000.0
    assert out.take(2_000.0) == ["a", "b"]


def test_a_cut_in_between_changes_nothing_of_what_rules_did_before() -> None:
    """The rule that stops a frame now is not the one that made it late."""
    links, out = lossy()
    links.apply(10.0, rule("cut az-0", "cut"))
    links.heal(20.0, "cut")
    links.heal(1_000.0, "loss")
    assert out.take(2_000.0) == ["a", "b"]
    links, out, _ = link()
    links.apply(0.0, rule("bandwidth az-0 1B", "narrow"))
    out.offer(0.0, "a", size_bytes=500)
    out.offer(0.0, "b", size_bytes=500)
    links.apply(10.0, rule("cut az-0", "cut"))
    links.heal(20.0, "cut")
    links.heal(30.0, "narrow")
    assert out.take(30.0) == ["a", "b"]


def test_the_accepting_end_resets_a_connection_once() -> None:
    links = LinkState("broker-1", seed=1)
    out, back = links.connect(0.0, "broker-0", "fetcher", opened_here=False)
    opened, _ = links.connect(0.0, "broker-0", "fetcher", opened_here=True)
    links.apply(100.0, rule("reset broker-0 broker-1"))
    assert back.next_ms == 100.0 and (out.next_ms, opened.next_ms) == (None, None)
    assert back.loss(99.0) is None and back.loss(100.0) is Loss.RESET and back.loss(101.0) is None
    assert links.frames_stopped == {"r": 1}
    _, later = links.connect(200.0, "broker-0", "fetcher", opened_here=False)
    assert later.next_ms is None


def test_a_reset_of_an_age_is_over_with_the_heal() -> None:
    links = LinkState("broker-1", seed=1)
    links.apply(0.0, rule("reset broker-1 -> broker-0 500ms"))
    out, back = links.connect(200.0, "broker-0", "fetcher", opened_here=False)
    assert (out.next_ms, back.next_ms) == (700.0, None)
    links.heal(300.0, "r")
    assert out.next_ms is None and out.loss(700.0) is None


def test_a_reset_by_client_id_begins_when_the_client_id_is_known() -> None:
    links = LinkState("broker-1", seed=1)
    links.apply(0.0, rule("reset az-0 500ms --client-id orders"))
    out, back = links.connect(100.0, "client-0", "client", opened_here=False)
    assert back.next_ms is None
    links.called(150.0, "orders", out, back)
    assert back.next_ms == 650.0
