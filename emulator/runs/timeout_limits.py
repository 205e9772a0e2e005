"""Limit of timers' lateness for a judged run: a tenth of its shortest relevant timeout.

Such a timeout makes a node count as dead, out of sync or silent. It is a setting of a broker or of the ensemble, or a
step's limit for a response. Times that only pace work (a fetch's wait, a back-off, a pause of the script) do not count:
if they are late, the nodes only act later.
"""

from collections.abc import Iterable, Iterator

from emulator.runs.resolve import Resolved
from emulator.runs.run_limits import in_force
from emulator.runs.starts import specs_of
from emulator.scenario import scenario_model as m
from emulator.settings.timeout_settings import KRAFT_TIMEOUT_SETTINGS, SESSION, TIMEOUT_SETTINGS
from emulator.topology import ZOOKEEPER

SHARE = 0.1
IN_KRAFT = tuple(name for name in (*TIMEOUT_SETTINGS, *KRAFT_TIMEOUT_SETTINGS) if name != SESSION)


def timer_limit_ms(resolved: Resolved) -> float:
    """Limit at p99.9, in scenario ms."""
    return SHARE * _shortest_ms(resolved)


def _shortest_ms(resolved: Resolved) -> float:
    spec, steps = resolved.spec, resolved.scenario.steps
    names = TIMEOUT_SETTINGS if spec.topology.metadata == ZOOKEEPER else IN_KRAFT
    nodes = [in_force(one, node) for one in specs_of(spec, steps) for node in one.settings]
    time_outs = [float(own[name]) for own in nodes for name in names if name in own]
    ensemble = [float(spec.tick_time_ms * spec.sync_limit)] if spec.topology.metadata == ZOOKEEPER else []
    return min([*ensemble, *time_outs, *of_steps(steps)])


def of_steps(steps: Iterable[m.AnyStep]) -> Iterator[float]:
    """Timeouts of steps in ms.

    A broker waits `timeout_ms` only with acks=all. A client's limit counts always, and so does that of the script,
    which notes whether a condition was reached in time.
    """
    for step in m.plain_steps(steps):
        match step:
            case m.Produce(acks=acks, timeout_ms=timeout_ms, socket_timeout_s=socket_timeout_s):
                yield socket_timeout_s * 1000.0
                if acks == m.ALL_ACKS:
                    yield float(timeout_ms)
            case m.ProduceMessageSet(acks=m.ALL_ACKS, timeout_ms=timeout_ms):
                yield float(timeout_ms)
            case m.Wait(limit_s=limit_s) | m.Settle(limit_s=limit_s):
                yield limit_s * 1000.0
            case m.Consume(limit_s=limit_s) | m.Commit(limit_s=limit_s) | m.LookCommitted(limit_s=limit_s):
                yield limit_s * 1000.0
            case _:
                pass
