"""The table of docs/kafka-clients.md is what the tests say, and every client is in it."""

from tests.kafka_clients.capabilities import CLIENTS, PAGE, declared, parts, table


def test_the_page_states_what_the_tests_prove() -> None:
    """python -m tests.kafka_clients.capabilities writes it."""
    _, shown, _ = parts(PAGE.read_text(encoding="utf-8"))
    assert shown == table(declared())
    assert {one.client for one in declared()} == set(CLIENTS)
