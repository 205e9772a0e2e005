"""Syntax errors that every reading of a query has: found without an engine.

Most of Spark's keywords may also be names, so few texts are certainly wrong. These are: a first word that begins no
statement, a quote or a bracket without its end, an operator without its right side, a comma without an item, and three
names in a row. All else is left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from sqlglot import Token, TokenType

from audit.query_relations import Problem, nearest

STARTERS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "SHOW", "DESCRIBE", "EXPLAIN")
"""Keywords that a message proposes at the beginning."""
STRUCTURE = (
    *("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "LEFT", "USING", "UNION", "EXCEPT"),
    *("AND", "LIKE", "BETWEEN", "LATERAL"),
)
"""Keywords that a message proposes inside a query."""
_WORDS = """
    ADD AFTER AGGREGATE ALIGN ALL ALTER ALWAYS ANALYZE AND ANTI ANY ANY_VALUE APPLY APPROX ARCHIVE ARRAY AS ASC
    ASENSITIVE ASOF AT ATOMIC AUTHORIZATION AUTO BEGIN BERNOULLI BETWEEN BIGINT BIN BINARY BINDING
    BIN_DISTRIBUTE_RATIO BIN_END BIN_START BOOLEAN BOTH BUCKET BUCKETS BY BYTE CACHE CALL CALLED CASCADE CASE CAST
    CATALOG CATALOGS CDC CHANGE CHANGES CHAR CHARACTER CHECK CLEAR CLOSE CLUSTER CLUSTERED CODEGEN COLLATE COLLATION
    COLLATIONS COLLECTION COLUMN COLUMNS COMMENT COMMIT COMPACT COMPACTIONS COMPENSATION COMPUTE CONCATENATE
    CONDITION CONSTRAINT CONTAINS CONTINUE COST CREATE CROSS CUBE CURRENT CURRENT_DATABASE CURRENT_DATE CURRENT_PATH
    CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATA DATABASE DATABASES DATE DATEADD DATEDIFF
    DATE_ADD DATE_DIFF DAY DAYOFYEAR DAYS DBPROPERTIES DEC DECIMAL DECLARE DEFAULT DEFAULT_PATH DEFINED DEFINER
    DELAY DELETE DELIMITED DESC DESCRIBE DETERMINISTIC DFS DIRECTORIES DIRECTORY DISTANCE DISTINCT DISTRIBUTE DIV DO
    DOUBLE DROP ELSE ELSEIF END ENFORCED ERROR ESCAPE ESCAPED EVOLUTION EXACT EXCEPT EXCHANGE EXCLUDE EXCLUSIVE
    EXECUTE EXISTS EXIT EXPLAIN EXPORT EXTEND EXTENDED EXTERNAL EXTRACT FALSE FETCH FIELDS FILEFORMAT FILTER FIRST
    FLOAT FLOW FOLLOWING FOR FOREIGN FORMAT FORMATTED FOUND FROM FULL FUNCTION FUNCTIONS GENERATED GEOGRAPHY
    GEOMETRY GLOBAL GRANT GROUP GROUPING HANDLER HAVING HISTORY HOUR HOURS IDENTIFIED IDENTIFIER IDENTITY IF IGNORE
    ILIKE IMMEDIATE IMPORT IN INCLUDE INCLUSIVE INCREMENT INDEX INDEXES INNER INPATH INPUT INPUTFORMAT INSENSITIVE
    INSERT INT INTEGER INTERSECT INTERVAL INTO INVOKER IS ITEMS ITERATE JOIN JSON JSON_TABLE KEY KEYS LANGUAGE LAST
    LATERAL LAZY LEADING LEAVE LEFT LEVEL LIKE LIMIT LINES LIST LOAD LOCAL LOCALTIME LOCATION LOCK LOCKS LOGICAL
    LONG LOOP MACRO MAP MATCHED MATCH_CONDITION MATERIALIZED MAX MEASURE MERGE METRICS MICROSECOND MICROSECONDS
    MILLISECOND MILLISECONDS MINUS MINUTE MINUTES MODIFIES MONTH MONTHS MSCK NAME NAMESPACE NAMESPACES NANOSECOND
    NANOSECONDS NATURAL NEAREST NEXT NO NONE NORELY NOT NULL NULLS NUMERIC OF OFFSET ON ONLY OPEN OPTION OPTIONS OR
    ORDER ORDINALITY OUT OUTER OUTPUTFORMAT OVER OVERLAPS OVERLAY OVERWRITE PARTITION PARTITIONED PARTITIONS PATH
    PERCENT PIVOT PLACING POSITION PRECEDING PRIMARY PRINCIPALS PROCEDURE PROCEDURES PROPERTIES PURGE QUALIFY
    QUARTER QUERY RANGE READ READS REAL RECORDREADER RECORDWRITER RECOVER RECURSION RECURSIVE REDUCE REFERENCES
    REFRESH RELY RENAME REPAIR REPEAT REPEATABLE REPLACE RESET RESPECT RESTRICT RETURN RETURNS REVOKE RIGHT ROLE
    ROLES ROLLBACK ROLLUP ROW ROWS SCD SCHEMA SCHEMAS SECOND SECONDS SECURITY SELECT SEMI SEPARATED SEQUENCE SERDE
    SERDEPROPERTIES SESSION_USER SET SETS SHORT SHOW SIMILARITY SINGLE SKEWED SMALLINT SOME SORT SORTED SOURCE
    SPECIFIC SQL SQLEXCEPTION SQLSTATE START STATISTICS STORED STRATIFY STREAM STREAMING STRING STRUCT SUBSTR
    SUBSTRING SYNC SYSTEM SYSTEM_PATH SYSTEM_TIME SYSTEM_VERSION TABLE TABLES TABLESAMPLE TARGET TBLPROPERTIES
    TERMINATED THEN TIME TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT TO TOUCH
    TRACK TRAILING TRANSACTION TRANSACTIONS TRANSFORM TRIM TRUE TRUNCATE TRY_CAST TYPE UNARCHIVE UNBOUNDED UNCACHE
    UNIFORM UNION UNIQUE UNKNOWN UNLOCK UNNEST UNPIVOT UNSET UNTIL UPDATE USE USER USING VALUE VALUES VAR VARCHAR
    VARIABLE VARIANT VERSION VIEW VIEWS VOID WATERMARK WEEK WEEKS WHEN WHERE WHILE WIDTH WINDOW WITH WITHIN WITHOUT
    X YEAR YEARS ZONE
"""
KEYWORDS = frozenset(_WORDS.split())
"""Keywords of Spark 4.3, as `SELECT keyword FROM sql_keywords()` lists them."""

NAMES = frozenset(
    ("CHECK", "DATA", "DIRECTORY", "ERROR", "KEY", "LEVEL", "NAME", "READS", "ROLE", "VALUE", "X")
)
"""Those that are no keywords in a query without definitions."""

_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*(?!\+).*?\*/)*(\w+|\S)?", re.DOTALL)
_ODD_BACKSLASH = re.compile(r"\br['\"]|\\\r?\n", re.IGNORECASE)
_OPERATORS = frozenset(
    (TokenType.EQ, TokenType.LT, TokenType.LTE, TokenType.GTE, TokenType.PLUS, TokenType.DASH, TokenType.SLASH)
).union((TokenType.MOD, TokenType.DPIPE, TokenType.DOT))
"""Those with a right side. Types end with `>` and `<>`, too."""
_OPENERS = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
_CLAUSE_WORDS = ("WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET", "WINDOW", "ON", "USING")
_JOIN_WORDS = ("NATURAL", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "JOIN", "LATERAL", *_CLAUSE_WORDS)
_SET_WORDS = ("UNION", "EXCEPT", "INTERSECT", "MINUS", "SETMINUS")
_WITH_BY = ("GROUP", "ORDER", "BY")
"""Words that are names if they are tokens of their own: `GROUP BY` is one token."""
_VALUES = (TokenType.NUMBER, TokenType.STRING)
_ENDS = frozenset((TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.COMMA))


def first_word(query: str) -> tuple[str, int]:
    """The first word or sign of a query behind blanks and comments, and its index."""
    found = _FIRST_WORD.match(query)
    assert found is not None, "every part of the pattern may be empty"
    return found[1] or "", found.start(1)


def is_query(query: str) -> bool:
    """Whether a text begins as a query whose names can be checked."""
    return first_word(query)[0].upper() in ("SELECT", "WITH", "FROM", "(") and "|>" not in query


def changes_nothing(query: str) -> bool:
    """Whether a statement certainly makes no names and no settings for later ones."""
    return is_query(query) or first_word(query)[0].upper() in ("SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "TABLE")


def has_odd_alias(tokens: Sequence[Token]) -> bool:
    """Whether Spark may read an alias in UNION before FROM, or in HAVING before JOIN."""
    words = [token.text.upper() for token in tokens]
    return any(
        (one in _SET_WORDS and two == "FROM") or (one in _CLAUSE_WORDS and two in _JOIN_WORDS)
        for one, two in pairwise(words)
    )


def is_odd(query: str) -> bool:
    """Whether Spark may read other words: variables, continued comments, raw strings."""
    return "${" in query or ("\\" in query and _ODD_BACKSLASH.search(query) is not None)


def has_odd_strings(query: str) -> bool:
    """Whether a query may have strings with rules of their own."""
    return "$" in query or "\\" in query


def statement_problem(query: str) -> Problem | None:
    """A first word that begins no statement."""
    word, start = first_word(query)
    near = nearest(word, STARTERS)
    if word.isidentifier() and word.upper() not in KEYWORDS and near and ":" not in query:
        return Problem(start, f"Syntax error at or near '{word}'{near}")
    return None


def syntax_problem(tokens: Sequence[Token]) -> Problem | None:
    """The first certain syntax error of a query; None: none is known."""
    return min(filter(None, (_bracket(tokens), _gap(tokens), _three_names(tokens))), default=None)


def quote_problem(query: str) -> Problem | None:
    """A quote without its end, in a query that cannot be divided into tokens."""
    if has_odd_strings(query) or "--" in query or "/*" in query:
        return None
    quote, start = "", 0
    for index, sign in enumerate(query):
        if not quote and sign in "'\"`":
            quote, start = sign, index
        elif sign == quote:
            quote = ""
    return Problem(start, f"Syntax error: {quote} has no end") if quote else None


def _bracket(tokens: Sequence[Token]) -> Problem | None:
    """A bracket without its partner."""
    waiting: list[Token] = []
    for token in tokens:
        if token.token_type in _OPENERS:
            waiting.append(token)
        elif token.token_type in _OPENERS.values() and (
            not waiting or _OPENERS[waiting.pop().token_type] != token.token_type
        ):
            return _near(token)
    return Problem(waiting[0].start, f"Syntax error: {waiting[0].text} has no end") if waiting else None


def _gap(tokens: Sequence[Token]) -> Problem | None:
    """An operator without its right side, or a comma without an item."""
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        ends = following is None or following.token_type in _ENDS
        if token.token_type in _OPERATORS and ends:
            return Problem(token.end + 1, "Syntax error at the query's end") if following is None else _near(following)
        opens = token.token_type in (TokenType.COMMA, TokenType.L_PAREN)
        if opens and following is not None and following.token_type == TokenType.COMMA:
            return _near(following)
        if token.token_type == TokenType.COMMA and following is not None and following.token_type in _ENDS:
            return _near(following)
    return None


def _near(token: Token) -> Problem:
    return Problem(token.start, f"Syntax error at or near '{token.text}'")


def _three_names(tokens: Sequence[Token]) -> Problem | None:
    """Three names or values in a row: a keyword among them is misspelt, or a comma is missing.

    Spark reads the second as an alias of the first, and no reading has a third.
    """
    for k in range(len(tokens) - 2):
        first, second, third = tokens[k : k + 3]
        middle = _is_name(second) or second.text.upper() in _WITH_BY
        if middle and all(_is_name(one) or one.token_type in _VALUES for one in (first, third)):
            near = next((found for one in (second, third, first) if (found := _misspelt(one))), "")
            return Problem(third.start, f"Syntax error at or near '{third.text}'{near}")
    return None


def _misspelt(token: Token) -> str:
    """The nearest keyword, if the token is none."""
    return nearest(token.text, STRUCTURE) if _is_name(token) and len(token.text) > 2 else ""


def _is_name(token: Token) -> bool:
    word = token.text.upper()
    return word in NAMES or (token.token_type == TokenType.VAR and word not in KEYWORDS)
