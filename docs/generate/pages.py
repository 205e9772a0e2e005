"""Every generated page: its path from the project's root, and the function that writes it."""

from collections.abc import Callable
from pathlib import Path

from docs.generate import (
    campaigns,
    cap_choice,
    catalogue,
    checks,
    data_source_page,
    drawing,
    errors,
    events_page,
    figures_page,
    imported_lines,
    incident_remedies,
    isr_flapping,
    kafka_logs,
    layers,
    modes_side_by_side,
    names_page,
    openapi,
    protocol_page,
    readme,
    report_picture,
    rules_page,
    schedules_page,
    settings,
    settings_for_promises_page,
    versions_page,
    views_page,
)
from docs.session import session_svg as session

PAGES: dict[str, Callable[[Path], str]] = {
    readme.README: readme.page,
    readme.FIRST_STEPS: readme.first_steps,
    "docs/settings.md": settings.page,
    "docs/errors.md": errors.page,
    "docs/versions.md": versions_page.page,
    "docs/protocol.md": protocol_page.page,
    "docs/openapi.json": openapi.page,
    "docs/names.md": names_page.page,
    "docs/events.md": events_page.page,
    "docs/kafka-logs.md": kafka_logs.page,
    "docs/imported-lines.md": imported_lines.page,
    "docs/checks.md": checks.page,
    "docs/views.md": views_page.page,
    "docs/spark-data-source.md": data_source_page.page,
    "docs/catalogue.md": catalogue.page,
    "docs/campaigns.md": campaigns.page,
    "docs/cap-choice.md": cap_choice.page,
    "docs/settings-for-promises.md": settings_for_promises_page.page,
    "docs/isr-flapping.md": isr_flapping.page,
    "docs/incident-remedies.md": incident_remedies.page,
    "docs/modes-side-by-side.md": modes_side_by_side.page,
    "docs/figures.md": figures_page.page,
    "docs/rules.md": rules_page.page,
    "docs/random-schedules.md": schedules_page.page,
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
