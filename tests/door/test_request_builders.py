"""Requests of the Python API."""

from faultline.request_builders import link_fault


def test_client_ids_and_messages_may_be_one_text_with_commas() -> None:
    fault = link_fault("cut", ["client-1", "broker-0"], ["Fetch, Produce"], "orders, others").fault
    assert fault.client_ids == ("orders", "others")
    assert fault.apis == link_fault("cut", ["client-1", "broker-0"], ["Fetch", "Produce"]).fault.apis
    assert len(fault.apis) == 2
