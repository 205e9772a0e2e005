"""Every way to change a run (`changed_run`), drawn from a seed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Final

from protocol.chance import Chance
from verification import changed_fields as fields
from verification import changed_lines as lines
from verification.changed_run import Change, Files

KINDS: Final[tuple[Callable[[Files, Chance], Change | None], ...]] = (
    lines.dropped, lines.dropped_everywhere, lines.cut_tail, lines.torn, lines.removed, lines.doubled, lines.moved,
    lines.renumbered, lines.exchanged, lines.swapped_with_the_next, lines.of_another_run, lines.of_another_life,
    lines.renamed, lines.exchanged_files, fields.without_field, fields.without_field, fields.without_field,
    fields.of_another_type, fields.ended_twice, fields.denied, fields.clock_back, fields.clock_shifted,
    fields.loaded_longer, fields.dropped_and_renumbered, fields.dropped_and_renumbered, fields.offset_twice,
)  # fmt: skip
"""Changes; the most common kinds occur repeatedly."""


def changes(files: Files, seed: int) -> Iterator[Change]:
    """Without end; each from the run as it was."""
    chance = Chance(seed)
    while True:
        made = KINDS[chance.below(len(KINDS))](copy.deepcopy(files), chance)
        if made is not None:
            yield made
