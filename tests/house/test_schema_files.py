"""Schema files: every function, table, type and view is defined once, where it is created.

This holds for one release. A later release adds files that may redefine what a released one has.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "pecia"
FILES = sorted(SOURCE.rglob("schema/*.sql"))

_COMMENT = re.compile(r"--[^\n]*")
_CREATED = re.compile(
    r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:UNLOGGED\s+)?"
    r"(FUNCTION|PROCEDURE|TABLE|TYPE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.]+)",
    re.IGNORECASE,
)
# What a file may not do to an object of the same release: its definition says it instead.
_REDEFINED = re.compile(
    r"\bCREATE\s+OR\s+REPLACE\b|\bDROP\s+(?:FUNCTION|TABLE|TYPE|VIEW|TRIGGER|POLICY|INDEX)\b"
    r"|\bALTER\s+TYPE\b|\bALTER\s+TABLE\s+[\w.]+\s+(?:ADD|DROP|ALTER|RENAME)\b",
    re.IGNORECASE,
)
# The queue's functions are procrastinate's own and overload names.
OWN = [it for it in FILES if it.name != "0008_queue_functions.sql"]


def definitions(sql: str) -> list[str]:
    return [f"{kind} {name}".lower() for kind, name in _CREATED.findall(_COMMENT.sub("", sql))]


def test_every_object_is_defined_once() -> None:
    found = Counter(it for file in OWN for it in definitions(file.read_text(encoding="utf-8")))
    assert len(found) > 200
    assert [it for it, times in found.items() if times > 1] == []


@pytest.mark.parametrize("file", OWN, ids=lambda it: f"{it.parents[1].name}/{it.name}")
def test_no_file_changes_what_an_earlier_one_created(file: Path) -> None:
    assert _REDEFINED.findall(_COMMENT.sub("", file.read_text(encoding="utf-8"))) == []


def test_files_are_numbered_without_gaps() -> None:
    for folder in {it.parent for it in FILES}:
        numbers = [int(it.name[:4]) for it in sorted(folder.glob("*.sql"))]
        assert numbers == [*range(1, len(numbers) + 1)], folder
