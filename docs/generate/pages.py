"""Every generated page: its path from the project's root, and the function that writes it."""

from collections.abc import Callable
from pathlib import Path

from docs.generate import (
    campaigns,
    cap_choice,
    catalogue,
    checks,
    drawing,
    errors,
    events,
    figures,
    incident_remedies,
    isr_flapping,
    kafka_logs,
    layers,
    messages,
    openapi,
    promises,
    readme,
    report_picture,
    rules,
    schedules,
    settings,
    versions,
    views,
)
from docs.session import picture as session

PAGES: dict[str, Callable[[Path], str]] = {
    readme.README: readme.page,
    readme.FIRST_STEPS: readme.first_steps,
    "docs/settings.md": settings.page,
    "docs/errors.md": errors.page,
    "docs/versions.md": versions.page,
    "docs/protocol.md": messages.page,
    "docs/openapi.json": openapi.page,
    "docs/events.md": events.page,
    "docs/kafka-logs.md": kafka_logs.page,
    "docs/checks.md": checks.page,
    "docs/views.md": views.page,
    "docs/catalogue.md": catalogue.page,
    "docs/campaigns.md": campaigns.page,
    "docs/cap-choice.md": cap_choice.page,
    "docs/settings-for-promises.md": promises.page,
    "docs/isr-flapping.md": isr_flapping.page,
    "docs/incident-remedies.md": incident_remedies.page,
    "docs/figures.md": figures.page,
    "docs/rules.md": rules.page,
    "docs/random-schedules.md": schedules.page,
    "docs/architecture.svg": drawing.page,
    "docs/layers.svg": layers.page,
    "docs/report.svg": report_picture.page,
    "docs/tutorial-kip101.svg": report_picture.lost,
    "docs/session.svg": session.page,
}


def outdated(root: Path) -> dict[str, str]:
    """{path: its right content} of missing and outdated pages."""
    stale: dict[str, str] = {}
    for name, page in PAGES.items():
        text = page(root)
        path = root / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale[name] = text
    return stale
