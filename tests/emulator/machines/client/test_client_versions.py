"""Defaults of producers by the version of their client (KIP-679)."""

from typing import Any

import pytest

from emulator.machines.client.client_settings import UnusableSetting
from emulator.machines.client.client_versions import client_version_named, ways_of
from emulator.machines.client.workload_settings import library_settings
from emulator.machines.client.workload_specs import producers_settings
from protocol.gates import gates_for
from protocol.versions import LADDER, UnknownVersion

MAX = (1 << 31) - 1


def made(kafka: str, client: str = "", *, acks: int | None = None, retries: int | None = None, **given: Any) -> Any:
    own = {name.replace("_", "."): value for name, value in given.items()}
    idempotent = own.pop("idempotent", None)
    settings = producers_settings(
        {}, acks=acks, own=own, retries=retries, idempotent=idempotent, kafka_version=kafka, client_version=client
    )
    return library_settings("java", kafka, settings, client)


@pytest.mark.parametrize("kafka", ["0.8.2", "0.10.2", "0.11", "1.1", "2.0", "2.1", "2.8", "3.0", "3.9"])
@pytest.mark.parametrize("client", ["", "3.0", "3.9"])
def test_a_producer_of_no_version_is_the_newest_and_idempotent_where_brokers_have_producer_ids(
    kafka: str, client: str
) -> None:
    settings = made(kafka, client)
    assert (settings.acks, settings.retries, settings.delivery_timeout_ms) == (-1, MAX, 120_000)
    assert settings.enable_idempotence is gates_for(kafka).idempotence
    assert settings.magic == gates_for(kafka).record_magic


@pytest.mark.parametrize(("client", "retries"), [("0.10.2", 0), ("2.0", 0), ("2.1", MAX), ("2.8", MAX)])
def test_an_older_client_has_its_own_defaults(client: str, retries: int) -> None:
    settings = made("2.8", client)
    assert (settings.acks, settings.retries, settings.enable_idempotence) == (1, retries, False)
    assert settings.magic == gates_for(client).record_magic


@pytest.mark.parametrize(
    "given",
    [{"acks": 1}, {"acks": 0}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}, {"idempotent": False}],
)
def test_what_contradicts_idempotence_switches_it_off_and_is_an_error_beside_it(given: dict[str, Any]) -> None:
    """ProducerConfig.postProcessAndValidateIdempotenceConfigs."""
    assert made("2.8", **given).enable_idempotence is False
    if "idempotent" not in given:
        with pytest.raises(UnusableSetting, match=r"^enable\.idempotence=true needs "):
            made("2.8", idempotent=True, **given)


def test_what_is_given_to_all_producers_wins_over_the_clients_defaults() -> None:
    about: dict[str, Any] = {"kafka_version": "2.8", "client_version": "", "own": {}, "acks": None, "retries": None}
    for given, acks, idempotent in (
        ({"acks": "1"}, "1", None),
        ({"enable.idempotence": False}, "all", False),
        ({"acks": "all"}, "all", True),
    ):
        settings = producers_settings(given, idempotent=None, **about)
        assert (settings["acks"], settings.get("enable.idempotence")) == (acks, idempotent)


def test_idempotence_that_brokers_cannot_have_is_refused() -> None:
    with pytest.raises(UnusableSetting, match=r"needs Kafka 0\.11 or later, not 0\.10\.2$"):
        made("0.10.2", "3.9", idempotent=True)


def test_a_version_that_no_client_has_is_an_unusable_setting() -> None:
    with pytest.raises(UnusableSetting, match=r"^unknown version of a Kafka client 't'"):
        library_settings("java", "2.8", {}, "t")


def test_versions_of_clients_are_named_as_releases_are() -> None:
    assert [client_version_named(name) for name in ("3.9.1", "3.9", "2.6.3", "0.10.2.2")] == [
        "3.9", "3.9", "2.6", "0.10.2",
    ]  # fmt: skip
    assert ways_of("", "1.1") == "1.1" and ways_of("3.4", "1.1") == "3.4"
    for unknown in ("3.10", "5.0", "newest", ""):
        with pytest.raises(UnknownVersion, match=r"^unknown version of a Kafka client"):
            client_version_named(unknown)
    assert all(client_version_named(name) == name for name in LADDER)
