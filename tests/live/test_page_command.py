"""`faultline page`, and the story that `up` gives the page."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from emulator.cli.app import app
from emulator.cli.command_options import UpOptions
from emulator.cli.commands.live_up import prepared
from emulator.cli.play_options import Settings
from emulator.cluster.attached import PAGE, serves_page
from emulator.cluster.specification import LIVE_FILE, read_specification
from emulator.runs.deployment_options import UnusableOption
from tests.live.conftest import bring_up


@pytest.mark.network
@pytest.mark.parametrize("page", [True, False])
def test_the_addresses_are_printed_again_or_the_cluster_has_no_page(
    home: Path, capsys: pytest.CaptureFixture[str], page: bool
) -> None:
    live = bring_up(home / "runs" / "page", page=page)
    try:
        code = app(["page", "--json"], result_action="return_value")
        printed = capsys.readouterr()
        if page:
            document = msgspec.json.decode(printed.out)
            assert code == 0 and document["page"].startswith(f"{live.registration.http}/#token=")
            assert document["page"] != document["read_only"]
        else:
            assert code == 2 and "serves no page; start it with `faultline up --page`" in printed.err
    finally:
        live.down()


@pytest.mark.parametrize(("version", "mode"), [(None, "zookeeper"), ("4.4", "kraft")])
def test_a_story_brings_its_version_settings_and_steps(tmp_path: Path, version: str | None, mode: str) -> None:
    options = UpOptions(story="az-isolated-leader", out=tmp_path / "run", settings=Settings(kafka_version=version))
    prepared(options)
    spec = read_specification(tmp_path / "run")
    assert spec.page and "cut az-0" in [one["text"] for one in spec.story]
    assert (spec.run.topology.metadata, spec.run.kafka_version) == (mode, version or "2.6")
    assert b"replica.lag.time.max.ms" in (tmp_path / "run" / LIVE_FILE).read_bytes()


def test_a_story_needs_its_own_brokers(tmp_path: Path) -> None:
    with pytest.raises(UnusableOption, match=r"--story az-isolated-leader: it needs broker-0 in az-0, .*; give a"):
        prepared(UpOptions(story="az-isolated-leader", out=tmp_path / "run"), "six-brokers")


def test_a_container_serves_the_page_where_its_variable_is_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, serves in (("", False), ("no", False), ("yes", True)):
        monkeypatch.setenv(PAGE, given)
        assert serves_page() is serves
    monkeypatch.setenv(PAGE, "maybe")
    with pytest.raises(ValueError, match="FAULTLINE_PAGE='maybe': give yes or no"):
        serves_page()
