"""Names and syntax of queries, checked without Spark, and Spark's own refusals."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from audit.campaign_views import CAMPAIGN_VIEWS, ROWS_COLUMNS, ROWS_TABLE
from audit.checks.check_registry import CHECKS
from audit.derived_tables import FLOORS
from audit.input import read_directory
from audit.line_store import lines_in_files
from audit.prepared import prepare
from audit.query_names import QUERY_CHARACTERS_MAX, checked
from audit.query_syntax import KEYWORDS
from audit.questions import How, parts_of, questions
from audit.views import EVENT_COLUMNS, EVENTS, HIDDEN, VIEWS
from tests.audit.sql_corpus import ODD
from tests.audit.trace import dual_leader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = Path(__file__).parents[2] / "docs"
TABLES = {EVENTS: EVENT_COLUMNS, **{view.name: view.types() for view in VIEWS}}
CAMPAIGN_TABLES = {ROWS_TABLE: ROWS_COLUMNS, **{view.name: view.types(ROWS_COLUMNS) for view in CAMPAIGN_VIEWS}}


def refusal(query: str) -> str | None:
    """The refusal with its place, as `|index`."""
    found = checked(query, TABLES, HIDDEN).problem
    return None if found is None else f"{found.text}|{found.start}"


@pytest.mark.parametrize(
    ("query", "output"),
    [
        ("SELECT valu FROM operations", "no column valu; nearest: value|7"),
        ("SELECT 1,\n o.valu FROM operations o", "no column o.valu; nearest: o.value|11"),
        ("SELECT oo.value FROM operations o", "no column oo.value; nearest: o.value|7"),
        ("SELECT operations.value FROM operations o", "no column operations.value; nearest: o.value|7"),
        ("SELECT 1 FROM opertions", "no table opertions; nearest: operations|14"),
        ("SELECT 1 FROM q", "no table q|14"),
        ("SELECT oo.* FROM operations o", "no table oo; nearest: o|7"),
        ("SELECT value FROM operations WHERE EXISTS (SELECT 1 FROM raeds)", "no table raeds; nearest: reads|57"),
        ("SELECT value FROM operations o WHERE EXISTS (SELECT 1 FROM reads r WHERE r.digest = o.digst)",
         "no column o.digst; nearest: o.digest|84"),
        ("WITH a AS (SELECT value AS v FROM reads) SELECT w FROM a", "no column w|48"),
        ("WITH a AS (SELECT value FROM reads) SELECT value FROM aa", "no table aa; nearest: a|54"),
        ("WITH a (x) AS (SELECT value FROM reads) SELECT value FROM a", "no column value|47"),
        ("SELECT value FROM (SELECT value AS v, count(*) FROM reads GROUP BY ALL)", "no column value|7"),
        ("SELECT vlue FROM (SELECT value, count(*) FROM reads GROUP BY ALL)", "no column vlue; nearest: value|7"),
        ("SELECT * EXCEPT (valu) FROM reads", "no column valu; nearest: value|17"),
        ("SELECT acks FROM (SELECT * EXCEPT (acks) FROM operations)", "no column acks|7"),
        ("SELECT run FROM operations JOIN reads USING (run, operatin)", "no column operatin; nearest: operation|50"),
        ("SELECT run FROM operations UNION ALL SELECT rn FROM reads", "no column rn; nearest: run|44"),
        ("SELECT run FROM operations UNION ALL SELECT run FROM reads ORDER BY value", "no column value|68"),
        ("SELECT sum(acks) OVER v FROM operations WINDOW w AS (PARTITION BY run)", "no window v|22"),
        ("SELECT sum(acks) OVER (PARTITION BY rn) FROM operations", "no column rn; nearest: run|36"),
        ("SELECT transform(cut_by, x -> x.node || y) FROM lost", "no column y|40"),
        ("SELECT transform(cut_by, x -> x.nod) FROM lost", "no field nod of x; nearest: node|32"),
        ("SELECT cut_by[0].reson FROM lost", "no field reson of cut_by[0]; nearest: reason|17"),
        ("SELECT cut_by.reson FROM lost", "no field reson of cut_by; nearest: reason|7"),
        ("SELECT c.reson FROM lost LATERAL VIEW explode(cut_by) AS c", "no field reson of c; nearest: reason|7"),
        ("SELECT d FROM lost LATERAL VIEW explode(cut_by) AS c", "no column d|7"),
        ("SELECT value FROM operations WHERE a = 1 OR b = 2", "no column a|35"),
        ("selct 1 a", "Syntax error at or near 'selct'; nearest: SELECT|0"),
        ("SELECT value FORM operations", "Syntax error at or near 'operations'; nearest: FROM|18"),
        ("SELECT value FROM operations WERE x = 1", "Syntax error at or near 'x'; nearest: WHERE|34"),
        ("SELECT value FROM operations GROUP run", "Syntax error at or near 'run'|35"),
        ("SELECT value FROM operations GROPU BY run", "Syntax error at or near 'run'; nearest: GROUP|38"),
        ("SELECT value FROM operations LIMT 3", "Syntax error at or near '3'; nearest: LIMIT|34"),
        ("SELECT 1 FROM reads WHERE a = 1 ADN b = 2", "Syntax error at or near 'b'; nearest: AND|36"),
        ("SELECT 1 FROM operations o JION reads r USING (run)", "Syntax error at or near 'JION'; nearest: JOIN|27"),
        ("SELECT value acks kind FROM operations", "Syntax error at or near 'kind'|18"),
        ("SELECT count(* FROM operations", "Syntax error: ( has no end|12"),
        ("SELECT count(*)) FROM operations", "Syntax error at or near ')'|15"),
        ("SELECT 'a FROM operations", "Syntax error: ' has no end|7"),
        ("SELECT value,, acks FROM operations", "Syntax error at or near ','|13"),
        ("SELECT value FROM operations WHERE kind =", "Syntax error at the query's end|41"),
        ("SELECT value FROM operations WHERE (kind = )", "Syntax error at or near ')'|43"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_place_and_the_nearest_name(query: str, output: str) -> None:
    assert refusal(query) == output


@pytest.mark.parametrize(
    "query",
    [
        "SHOW TABLES",
        "DESCRIBE TABLE opertions",
        "EXPLAIN SELECT valu FROM operations",
        "SET spark.sql.ansi.enabled = false",
        "CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x + 1",
        "SELECT * FROM opertions |> WHERE valu = 1",
        "SELECT * FROM parquet.`/nowhere`",
        "SELECT TRANSFORM (valu) USING 'cat' AS (x) FROM operations",
        "SELECT valu FROM operations, range(3)",
        "SELECT 1 FROM operations PIVOT (count(*) FOR outcome IN ('ok')) WHERE valu = 1",
        "",
        ";",
        f"SELECT valu FROM operations WHERE value IN ({', '.join(['1'] * QUERY_CHARACTERS_MAX)})",
        f"SELECT {'(' * 400}valu{')' * 400} FROM operations",
    ],
)
def test_an_unknown_statement_is_left_to_spark(query: str) -> None:
    assert refusal(query) is None


def test_shipped_queries_pass() -> None:
    for view in VIEWS:
        assert refusal(view.query) is None, view.name
    for view in CAMPAIGN_VIEWS:
        assert checked(view.query, CAMPAIGN_TABLES).problem is None, view.name


def test_queries_of_the_documents_pass() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*DOCS.glob("*.md"), DOCS.parent / "README.md")]
    found = [query for text in texts for query in re.findall(r'faultline sql [^"\n]*"([^"]+)"', text)]
    queries = [query.replace("\\`", "`") for query in found]
    notebook = (DOCS / "notebook" / "five-questions.ipynb").read_text(encoding="utf-8").replace('\\"', '"')
    queries += re.findall(r'ask\("\w+", "(SELECT [^"]+)"', notebook)
    assert len(queries) > 3
    for query in queries:
        of_campaign = " broken " in query or " cells " in query
        assert checked(query, CAMPAIGN_TABLES if of_campaign else TABLES, HIDDEN).problem is None, query


def test_old_and_hidden_tables_are_reported() -> None:
    found = checked("SELECT x FROM records JOIN (SELECT * FROM final_logs)", TABLES, ("records", *HIDDEN))
    assert found.problem is None and found.hidden == {"records", "final_logs"}
    found = checked("WITH records AS (SELECT 1 AS x) SELECT x FROM records", TABLES, ("records",))
    assert found.problem is None and not found.hidden


# ------------------------------------------------------------------------------------------------------- with Spark


@pytest.fixture(scope="module")
def with_tables(spark: SparkSession) -> SparkSession:
    """A session with the tables, empty, but with their columns."""
    for name, columns in TABLES.items():
        schema = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
        spark.createDataFrame([], schema).createOrReplaceTempView(name)
    return spark


def spark_refusal(spark: SparkSession, query: str) -> str | None:
    """The condition for which Spark's parser or analyzer refuses a query; None: it accepts it."""
    from pyspark.errors import PySparkException

    try:
        spark.sql(query)
    except PySparkException as error:
        return error.getCondition() or str(error)
    return None


WORDS = re.compile(r"\s+|--[^\n]*\n|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"[^\"]*\"|`[^`]*`|\w+|[<>=!|]+|.", re.DOTALL)
INSERTED = ("SELECT", "FROM", "WHERE", "BY", "AND", "AS", "ORDER", "value", "operations", *",()=.*1")


def mutant(query: str, rng: random.Random) -> str:
    """The query with a name misspelt or replaced, or a word inserted, removed or swapped."""
    words = WORDS.findall(query)
    solid = [index for index, word in enumerate(words) if word.strip()]
    names = [index for index in solid if re.fullmatch(r"[A-Za-z_]\w+", words[index])] or solid
    name, place = rng.choice(names), rng.choice(solid)
    match rng.randrange(7):
        case 0 | 1:
            cut = rng.randrange(len(words[name]))
            words[name] = words[name][:cut] + rng.choice("etaoinz_") + words[name][cut + rng.randrange(2) :]
        case 2:
            words[name] = rng.choice([*TABLES, *EVENT_COLUMNS])
        case 3:
            words.pop(place)
        case 4:
            words.insert(place, f" {rng.choice(INSERTED)} ")
        case 5:
            words.insert(place, words[place] + " ")
        case _:
            other = rng.choice(solid)
            words[place], words[other] = words[other], words[place]
    return "".join(words)


@pytest.mark.spark
def test_no_query_is_refused_that_spark_accepts(with_tables: SparkSession) -> None:
    """Queries with odd parts of Spark's SQL, and mutants of them."""
    rng = random.Random(7)
    queries = dict.fromkeys((*ODD, *(mutant(rng.choice(ODD), rng) for _ in range(300))))
    refused = [query for query in queries if refusal(query)]
    assert len(refused) > 60, "mutants are refused"
    assert [query for query in refused if spark_refusal(with_tables, query) is None] == []


@pytest.mark.spark
def test_odd_queries_are_mostly_accepted(with_tables: SparkSession) -> None:
    """They show something only if Spark accepts them."""
    accepted = [query for query in ODD if spark_refusal(with_tables, query) is None]
    assert len(accepted) > 0.9 * len(ODD)


MISSPELT = {
    "SELECT value, acks FROM operations WHERE kind = 'produce' ORDER BY invoked_ms": "acks kind operations invoked_ms",
    "WITH one AS (SELECT run, min(at_ms) AS began FROM steps GROUP BY run) SELECT began FROM one": "at_ms steps began",
    "SELECT c.node, r.role FROM controllers c JOIN leadership r ON c.run = r.run": "controllers role leadership",
    "SELECT transform(cut_by, one -> one.reason) AS reasons FROM lost": "cut_by reason lost",
    "SELECT value FROM operations o WHERE EXISTS (SELECT 1 FROM reads r WHERE r.digest = o.digest)": "reads digest",
    "SELECT leader FROM led UNION ALL SELECT node FROM controllers WHERE active": "leader node active led",
}


@pytest.mark.spark
@pytest.mark.parametrize("query", MISSPELT)
def test_a_misspelt_name_is_refused_by_both(with_tables: SparkSession, query: str) -> None:
    assert refusal(query) is None and spark_refusal(with_tables, query) is None
    for name in MISSPELT[query].split():
        misspelt = re.sub(rf"\b{name}\b", f"{name[:-1]}zz", query, count=1)
        assert refusal(misspelt) is not None and spark_refusal(with_tables, misspelt) is not None, misspelt


@pytest.mark.spark
def test_keywords_are_those_of_spark(spark: SparkSession) -> None:
    """A keyword that is missing here could make a query refused that Spark accepts."""
    assert {row["keyword"] for row in spark.sql("SELECT keyword FROM sql_keywords()").collect()} - KEYWORDS == set()


@pytest.mark.spark
def test_queries_of_the_audit_pass(spark: SparkSession, tmp_path: Path) -> None:
    """The checks' queries, over the tables that they read."""
    run = read_directory(dual_leader().write(tmp_path))
    prepare(spark, [run], lines_in_files(spark, [run], str(tmp_path / "lines")))
    names = [row["tableName"] for row in spark.sql("SHOW TABLES").collect()]
    tables = {name: dict(spark.table(name).dtypes) for name in names}
    checks = tuple(CHECKS.values())
    queries = [text for check in checks for text in (check.violations, check.evidence, check.counted) if text]
    queries += [query for floor in FLOORS for query in floor.values()]
    queries += questions(parts_of(checks, How(tallied=True, wire=False)), 20)
    assert len(queries) > 40
    for query in queries:
        assert checked(query, tables).problem is None, query
