"""Settings files of a start: what a broker that is started again can be given."""

import pytest

from emulator.cluster.control_requests import Refused
from emulator.cluster.start_files import settings_from
from emulator.settings.properties_files import SettingsFile, settings_file, wanted

SERVER = b"broker.id=0\nlog.dirs=/a,/b\nreplica.lag.time.max.ms=12000\nconfluent.metrics.enable=true\n"


def file(word: str, data: bytes) -> SettingsFile:
    return settings_file(wanted(word), wanted(word).path, data)


def test_what_the_emulator_sets_and_what_is_not_kafkas_is_left_out_and_later_files_win() -> None:
    files = [file("broker:server.properties", SERVER), file("broker:b.properties", b"replica.lag.time.max.ms=7\n")]
    assert settings_from(files[:1], ["broker-1"]) == {"replica.lag.time.max.ms": "12000"}
    assert settings_from(files, ["broker-1"]) == {"replica.lag.time.max.ms": "7"}


@pytest.mark.parametrize(
    ("word", "data", "why"),
    [
        ("producer:p.properties", b"acks=all\n", "p.properties: its settings are a producer's"),
        ("broker-0:s.properties", SERVER, "s.properties is broker-0's; for others: --settings broker:s.properties"),
        ("broker:s.properties", b"min.insync.replica=2\n", "s.properties:1: .* nearest: min.insync.replicas"),
    ],
)
def test_what_cannot_be_used_is_refused(word: str, data: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        settings_from([file(word, data)], ["broker-1"])
