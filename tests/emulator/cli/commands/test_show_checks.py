"""`faultline checks`: the list, one check with its tables, and unknown names."""

import json

import pytest

from audit.check_tables import MEANINGS, tables_read
from audit.checks.check_registry import CHECKS
from emulator.cli.app import app
from emulator.cli.commands.show_checks import list_command, show_command


def test_the_list_has_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_command() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[: len(CHECKS)]] == list(CHECKS)
    assert list_command(json=True) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)][: len(CHECKS)] == list(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_is_printed_with_its_tables_and_its_sql(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check = CHECKS[name]
    assert show_command(name) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: {check.title}\n") and check.definition.strip() in out
    queries = [query.strip("\n") for query in (check.violations, check.evidence, check.counted) if query]
    assert all(query in out for query in queries)
    assert show_command(name, json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tables"] and list(found["tables"]) == tables_read(*queries)
    assert found["violations"] == queries[0]


def test_an_unknown_check_is_one_line_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["checks", "show", "dual-leaders"], result_action="return_value") == 2
    assert capsys.readouterr().err == (
        "faultline checks show: no check is called 'dual-leaders'; nearest: dual-leader\n"
    )
    assert show_command("xyz") == 2
    assert "`faultline checks` lists them" in capsys.readouterr().err


def test_tables_read_are_those_of_from_and_join() -> None:
    query = """
    WITH cte AS (SELECT * FROM rest), other AS (
      SELECT 1 FROM operations)
    SELECT * FROM cte JOIN other ON true -- FROM reads
    --big LEFT SEMI JOIN lost USING (run)
    """
    assert tables_read(query) == ["operations", "rest", "lost"]
    assert set(tables_read(*(f"SELECT 1 FROM {name}" for name in MEANINGS))) == set(MEANINGS)
