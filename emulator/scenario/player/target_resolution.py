"""Resolves targets of steps (`leader of t-0`) to nodes, by the session service's znodes."""

from collections.abc import Mapping

import msgspec

from emulator.faults.link_fault_kinds import ends_of, with_ends
from emulator.faults.targets import shown, target_in
from emulator.scenario import scenario_model as m
from emulator.scenario.client_steps import OF_BROKER
from emulator.scenario.player.metadata_view import MetadataView
from emulator.topology import identifier_named


class TargetResolution:
    """Resolves the targets of one player's steps.

    `in_force`: {rule: its links and kind} of the player's rules, which it goes on changing. A heal with a target ends
    the rules that the same words put in force, also after a change of leader. Where there is none, the
    words mean the node of the moment, as everywhere else."""

    def __init__(self, seen: MetadataView, in_force: Mapping[str, tuple[m.Links, str]]) -> None:
        self._seen = seen
        self._in_force = in_force
        self._meant: dict[m.Links, list[m.Links]] = {}
        """{links as written: what they meant when a rule was put in force}"""

    def of_step(self, step: m.AnyStep) -> tuple[m.AnyStep, dict[str, str]]:
        """The step with nodes in the place of its targets, and {target: its node}.

        A heal keeps its words, which may mean several nodes. Raises NoTarget."""
        found: dict[str, str] = {}

        def node(name: str) -> str:
            target = target_in(name)
            if target is None:
                return name
            found[shown(target)] = self._seen.node_of(target)
            return found[shown(target)]

        match step:
            case m.MachineStep(node=name) if target_in(name):
                return msgspec.structs.replace(step, node=node(name)), found
            case m.Together(steps=steps) if any(target_in(one.node) for one in steps):
                named = [msgspec.structs.replace(one, node=node(one.node)) for one in steps]
                once = {one.node: one for one in reversed(named)}  # a target may be a node that is named, too
                return m.Together(steps=tuple(one for one in named if once[one.node] is one), at_s=step.at_s), found
            case m.LinkFault(links=links) if _has_target(links):
                meant = with_ends(links, node)
                self._meant.setdefault(links, [])
                if meant not in self._meant[links]:
                    self._meant[links].append(meant)
                return msgspec.structs.replace(step, links=meant), found
            case m.Heal(links=links, kind=kind) if links is not None and _has_target(links):
                for one in self.links_of_heal(links, kind):
                    for word, name in zip(ends_of(links), ends_of(one), strict=True):
                        if target := target_in(word):
                            before = found.get(shown(target))
                            found[shown(target)] = name if before in (None, name) else f"{before}, {name}"
                return step, found
            case m.Background(step=inner):
                of_inner, found = self.of_step(inner)
                return (msgspec.structs.replace(step, step=of_inner) if found else step), found
            case _ if isinstance(step, OF_BROKER) and isinstance(step.broker, str) and target_in(step.broker):
                broker = identifier_named(node(step.broker))
                return msgspec.structs.replace(step, broker=broker), found
        return step, found

    def links_of_heal(self, links: m.Links, kind: str) -> list[m.Links]:
        """The links whose rules of that kind ("": every kind) a heal ends. Raises NoTarget."""
        if not _has_target(links):
            return [links]
        in_force = [of for of, of_kind in self._in_force.values() if kind in ("", of_kind)]
        meant = [one for one in self._meant.get(links, ()) if one in in_force]
        return meant or [with_ends(links, self._now)]

    def _now(self, name: str) -> str:
        target = target_in(name)
        return name if target is None else self._seen.node_of(target)


def _has_target(links: m.Links) -> bool:
    return any(map(target_in, ends_of(links)))
