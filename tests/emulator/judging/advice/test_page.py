"""Advice as a page: complete, without foreign resources, and without dead links."""

import re
from html.parser import HTMLParser

from msgspec.structs import replace

from emulator.judging.advice.advice_page import page_of
from emulator.judging.advice.advice_text import pairs_verdicts, verdicts
from emulator.judging.advice.summary import Broken
from tests.emulator.judging.advice.sample_advice import LOST, READ, sample_advice, sample_pair_advice

VOID = {"meta", "br"}


class Elements(HTMLParser):
    """Checks that what is opened is closed, in order.
    `cells`: the text of each row's cells, by its head.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.styled: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if "href" in found else []
        self.styled += [name for name in found if name == "style" or name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open[-1] not in ("style", "script"):
            self.texts.append(data.strip())


def test_the_page_has_each_promise_each_fault_and_of_what_breaks_all_that_is_known() -> None:
    page = page_of(sample_advice())
    elements = Elements(page)
    assert elements.open == [] and len(set(elements.ids)) == len(elements.ids) == 2
    assert elements.links == [f"#{name}" for name in elements.ids], "a broken cell leads to why"
    text = " | ".join(elements.texts)
    assert text.startswith("Advice: which faults break which promise | 2 of 8 promises are broken")
    assert "3 single faults with 3 seeds each: 9 simulated runs, and 40 to try changes" in text
    assert "broken by 1 of 3 faults, in up to 33% of the runs | a=1 | and | b=2 | ends 1 of 1" in text
    lost = f"{LOST}: <b>broker-0</b> loses power while no client writes"
    assert f"{lost} | share | 1 of 3 runs | why | its <tail>" in text
    assert "replay | faultline run 'x y.yaml' --seed 2 | change | a=1 | and | b=2" in text
    assert f"{READ}: <b>broker-0</b> loses power" in text and "no tried change ends it" in text
    assert "18.9 | 4 failed" in text and "61.0 | 1 stopped" in text
    assert "1 of 3 | a wait was not reached" in text
    assert "1 of 3 faults break nothing and delay no client by a second" in text
    assert "producer.acks | 1 | not set: Kafka's default" in text and "a & b" in text


def test_a_cause_of_pairs_is_there_once_by_the_first_of_them_and_the_others_are_named() -> None:
    page = page_of(sample_pair_advice())
    elements = Elements(page)
    assert elements.open == [] and len(set(elements.ids)) == len(elements.ids) == 4
    text = " | ".join(elements.texts)
    assert "Pairs of faults, 8, drawn at random, of 4680 runs; violations of one fault alone are left out" in text
    assert "8 of 8 pairs lose acknowledged records, and neither of the two does." in text
    assert "why | record-0 went | replay" in text and "record-1 went" not in text
    assert "change | c=3 | ends 6 of 7 | 6 other pairs do, for the same cause" in text
    assert "an <unknown> cause" in text and "--seed 1 | change | no tried change ends it" in text


def test_the_head_has_no_more_than_was_seen() -> None:
    broken = sample_advice()
    whole = [replace(one, broken=()) for one in broken.advice.summaries]
    kept = replace(broken, advice=replace(broken.advice, summaries=whole))
    silent = replace(kept, advice=replace(kept.advice, summaries=[replace(one, conclusive=0) for one in whole]))
    pairs = replace(kept, pairs=sample_pair_advice().pairs, replays=sample_pair_advice().replays)
    heads = [Elements(page_of(one)).texts[1] for one in (kept, silent, pairs)]
    assert heads[0] == "Every promise was kept" and heads[1].startswith("No promise was broken, and some")
    assert heads[2] == "1 of 8 promises are broken"


def test_faults_of_unknown_runs_are_not_among_those_that_break_nothing() -> None:
    """Not in the summary, nor in what the table leaves out, nor as kept promises."""
    first, second, third = sample_advice().advice.summaries
    silent = replace(third, conclusive=0, inconclusive="a wait was not reached")
    assert verdicts([first, second, silent]) == [
        "With these settings, 1 of 2 faults lose acknowledged records.",
        "With these settings, 1 of 2 faults lose records that were read.",
        "All runs of 1 more fault are inconclusive.",
    ]
    assert verdicts([second, silent, silent]) == [
        "With these settings, none of 1 faults loses, doubles or reorders records.",
        "All runs of 2 more faults are inconclusive.",
    ]
    assert verdicts([silent]) == ["All runs of 1 fault are inconclusive."]
    page = page_of(replace(sample_advice(), advice=replace(sample_advice().advice, summaries=[silent])))
    text = " | ".join(Elements(page).texts)
    assert "break nothing" not in text and "| kept |" not in text and "Nothing breaks" not in text
    assert "no acknowledged record is lost | lost-acknowledged | unknown" in text
    pairs = sample_pair_advice(2).pairs
    assert pairs is not None
    whole = [replace(one, broken=(), conclusive=number) for number, one in enumerate(pairs.advice.summaries)]
    silent_pairs = replace(pairs, advice=replace(pairs.advice, summaries=whole))
    assert pairs_verdicts(silent_pairs)[1:] == [
        "No pair breaks a promise that single faults leave whole.", "All runs of 1 pair are inconclusive.",
    ]  # fmt: skip


def test_a_share_is_never_all_of_less_than_all() -> None:
    """As in the table's cells."""
    advice = sample_advice().advice
    first, *others = advice.summaries
    most = replace(first, runs=300, conclusive=300, broken=(Broken(LOST, 299, 300, 2, "its tail went"),))
    page = page_of(replace(sample_advice(), advice=replace(advice, summaries=[most, *others])))
    assert "broken by 1 of 3 faults, in up to >99% of the runs" in " | ".join(Elements(page).texts)


def test_nothing_in_it_is_from_elsewhere_or_styles_or_runs_by_itself() -> None:
    page = page_of(sample_advice())
    assert not re.search(r"src=|url\(|@import|https?:", page)
    assert Elements(page).styled == []
    assert "default-src 'none'; style-src 'sha256-" in page
