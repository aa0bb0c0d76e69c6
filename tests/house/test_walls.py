"""The walls: no file over 600 lines, no function over 60, no banned names, every query used."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.house.source_tree import ROOT, SOURCE, modules, parsed, source_text

FILE_WALL = 600
FUNCTION_WALL = 60
LARGE_BYTES = 200_000
BANNED = {"utils", "helpers", "common", "misc", "manager", "service"}


def python_files() -> list[Path]:
    return [it for folder in ("src", "tests", "bench", "scripts") for it in modules(ROOT / folder)]


def long_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > FUNCTION_WALL:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {lines} lines"


def test_no_file_is_over_the_wall() -> None:
    web = [it for it in (ROOT / "web" / "src").rglob("*") if it.suffix in (".ts", ".svelte")]
    tall = {
        str(it.relative_to(ROOT)): lines
        for it in [*python_files(), *SOURCE.rglob("*.sql"), *web]
        if (lines := len(source_text(it).splitlines())) > FILE_WALL
    }
    assert tall == {}


def test_no_function_is_over_the_wall() -> None:
    assert [it for path in python_files() for it in long_functions(path)] == []


def test_no_module_has_a_name_that_means_nothing() -> None:
    assert [it for it in modules() if it.stem in BANNED or it.parent.name in BANNED] == []


def test_nothing_is_large_but_the_models_and_their_words() -> None:
    """What somebody downloaded beside the code is seen here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = [ROOT / it for it in listed.stdout.decode().split("\0") if it]
    large = [it for it in paths if it.is_file() and it.stat().st_size > LARGE_BYTES]
    assert {it.parent.name for it in large} <= {"pecia_minilm", "pecia_polyglot"}


def test_every_named_query_is_used() -> None:
    text = "\n".join(source_text(it) for it in modules())
    unused: list[str] = []
    for path in SOURCE.rglob("*.sql"):
        for name in re.findall(r"^-- name: (\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            if f'["{name}"]' not in text and not _is_built(name, text):
                unused.append(f"{path.relative_to(ROOT)}: {name}")
    assert unused == []


def _is_built(name: str, text: str) -> bool:
    """Some names are put together from a word and a suffix: `SQL[f"remove_{what}"]`."""
    head, _, tail = name.partition("_")
    return f'SQL[f"{head}_{{' in text or f'}}_{tail}"]' in text


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(it.relative_to(ROOT))
        for it in modules()
        if source_text(it).strip() and ast.get_docstring(parsed(it)) is None
    ]
    assert silent == []
