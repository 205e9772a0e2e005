"""Faults of machines, each defined once: all that follows from a definition alone."""

import msgspec
import pytest

from emulator.faults.machine_fault_kinds import (
    LIVE_FAULTS,
    MACHINE_STEPS,
    ClockJump,
    HardwareFault,
    MachineStep,
    SlowDisk,
    unfit,
)
from emulator.scenario.load import ScenarioErrors, load_scenario
from emulator.scenario.recording import do_entry
from emulator.scenario.verbs import VERBS
from emulator.scenario.write import written
from protocol.hardware import SOUND, Hardware

HEAD = "id: x\ntitle: x\nkafka: [2.6]\nsteps:\n"


def steps(text: str) -> tuple[object, ...]:
    return load_scenario(f"{HEAD}  - {text}\n", "x.yaml").steps


@pytest.mark.parametrize("fault", MACHINE_STEPS)
def test_each_is_a_verb_and_its_fields_are_the_keys(fault: type[MachineStep]) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(fault)} - {"at_s"}
    assert set(VERBS[fault.VERB].keys) == fields


@pytest.mark.parametrize("fault", MACHINE_STEPS)
def test_each_but_one_is_a_command(fault: type[MachineStep]) -> None:
    assert (fault.VERB in LIVE_FAULTS) is (fault.VERB != "lose-unsynced")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("slow-disk: {node: 1, operation_ms: 20, fsync_ms: 100.5}", SlowDisk("broker-1", 20.0, 100.5)),
        ("slow-disk: session-0", SlowDisk("session-0")),
        ("clock-jump: {node: client-2, jump_ms: -5}", ClockJump("client-2", -5.0)),
    ],
)
def test_an_amount_is_read_and_written_and_shown(text: str, step: HardwareFault) -> None:
    scenario = load_scenario(f"{HEAD}  - {text}\n", "x.yaml")
    assert scenario.steps == (step,)
    assert load_scenario(written(scenario), "x.yaml").steps == (step,)
    entry = do_entry(step)
    assert entry is not None and entry["do"] == step.VERB


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("slow-disk: {node: 1, operation_ms: -1}", "5:40: expected operation_ms as a number, 0 to 60000, got -1"),
        ("slow-disk: {node: 1, operation_ms: 60001}", "5:40: expected operation_ms as a number, 0 to 60000, got 60001"),
        ("clock-jump: 1", "5:17: clock-jump needs 'jump_ms'"),
        ("slow-disk: {node: 1, fsyncs_ms: 1}", "nearest: fsync_ms"),
    ],
)
def test_an_amount_that_cannot_be_is_refused_at_its_place(text: str, why: str) -> None:
    with pytest.raises(ScenarioErrors) as refused:
        steps(text)
    assert why in str(refused.value)


def test_what_a_machine_is_like_is_added_up() -> None:
    jumped = ClockJump("n", 50.0).of(ClockJump("n", -20.0).of(SOUND))
    slow = SlowDisk("n", 3.0, 4.0).of(jumped)
    assert slow == Hardware(3.0, 4.0, 30.0) and slow.slow and not jumped.slow
    assert SlowDisk("n").of(slow) == jumped
    assert (slow.takes_ms("append"), slow.takes_ms("fsync"), slow.takes_ms("sync_directory")) == (3.0, 4.0, 4.0)
    assert slow.text == (
        "its disk takes 3 ms longer an operation, its disk takes 4 ms longer an fsync, its wall clock is 30 ms ahead"
    )
    assert (SOUND.text, Hardware(clock_ahead_ms=-1.0).text) == ("", "its wall clock is 1 ms behind")


@pytest.mark.parametrize("fault", [SlowDisk("n"), ClockJump("n", 1.0)])
def test_a_machine_is_changed_dead_or_alive_but_not_while_it_receives_nothing(fault: HardwareFault) -> None:
    assert not unfit(fault, alive=False, paused=False) and not unfit(fault, alive=True, paused=False)
    assert unfit(fault, alive=True, paused=True) == "n is paused and receives nothing; resume it first"
