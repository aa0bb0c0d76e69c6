"""What the references promise, which tests claim to prove it, and every way the two can disagree.

Tests are read as text: none is imported, collected or run.
"""

import ast
import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypeGuard

from tests.contract import requirements
from tests.contract.requirement import Requirement

TESTS = Path(__file__).parent.parent

# A reference may take several modules: `ckf_llm` is about the reference `ckf`.
LINES_BY_REFERENCE = {
    "cipher": 549,
    "ckf": 151,
    "klake": 120,
    "okf_cascade": 113,
    "open_knowledge": 211,
}

_ID = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[a-z0-9][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Promise:
    """A requirement, its id, and the module that holds it."""

    module: str
    id: str
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class Claim:
    """A test, by its path under the tests and its name, and the ids that it says it proves."""

    path: str
    test: str
    ids: tuple[str, ...]


Check: TypeAlias = Callable[[Sequence[Promise], Sequence[Claim]], list[str]]


@cache
def every_promise() -> Sequence[Promise]:
    """All modules' requirements. An id that a module writes twice is there twice."""
    found: list[Promise] = []
    for info in pkgutil.iter_modules(requirements.__path__):
        module = importlib.import_module(f"{requirements.__name__}.{info.name}")
        written: dict[str, Requirement] = module.REQUIREMENTS
        keys = keys_written(Path(str(module.__file__)).read_text("utf-8"))
        found += [
            Promise(info.name, key, written[key]) for key in [*keys, *(written.keys() - keys)]
        ]
    return tuple(found)


def keys_written(source: str) -> list[str]:
    """The literal keys of REQUIREMENTS in the order written, repeated ones included."""
    tables = [
        node.value
        for node in ast.parse(source).body
        if _assigns(node, "REQUIREMENTS") and isinstance(node.value, ast.Dict)
    ]
    keys = [key for table in tables for key in table.keys if isinstance(key, ast.Constant)]
    return [key.value for key in keys if isinstance(key.value, str)]


@cache
def every_claim() -> Sequence[Claim]:
    """All tests in the files that pytest collects, marked or not. Read once: there are hundreds."""
    return tuple(
        claim
        for path in sorted(TESTS.rglob("test_*.py"))
        for claim in claims_in(path.relative_to(TESTS).as_posix(), path.read_text("utf-8"))
    )


def claims_in(path: str, source: str) -> list[Claim]:
    """The tests of one file, with the ids of their own marks, their class's and their module's."""
    return list(_claims(path, ast.parse(source).body, ()))


def unproved(promises: Sequence[Promise], claims: Sequence[Claim]) -> list[str]:
    """Promises with neither a test nor a reason to wait."""
    claimed = _claimed(claims)
    return [
        f"{it.id}: no test proves it, and it waits for nothing"
        for it in promises
        if it.id not in claimed and not it.requirement.deferred.strip()
    ]


def proved_but_deferred(promises: Sequence[Promise], claims: Sequence[Claim]) -> list[str]:
    """Promises that still say what they wait for although a test proves them."""
    claimed = _claimed(claims)
    return [
        f"{it.id}: a test proves it, yet it says that it waits for {it.requirement.deferred}"
        for it in promises
        if it.id in claimed and it.requirement.deferred
    ]


def unknown_ids(promises: Sequence[Promise], claims: Sequence[Claim]) -> list[str]:
    """Claims of an id that no reference has, or that is not a plain string."""
    known = {it.id for it in promises}
    return [
        f"{claim.path}::{claim.test}: there is no requirement {name}"
        for claim in claims
        for name in claim.ids
        if name not in known
    ]


def claims_of_nothing(promises: Sequence[Promise], claims: Sequence[Claim]) -> list[str]:
    """Contract tests that name no promise."""
    return [
        f"{claim.path}::{claim.test}: a contract test that proves no requirement"
        for claim in claims
        if _is_contract(claim.path) and not claim.ids
    ]


def repeated_ids(promises: Sequence[Promise], claims: Sequence[Claim]) -> list[str]:
    """Ids that two promises share, in one module or in two."""
    times = Counter(it.id for it in promises)
    return [f"{name}: written {count} times" for name, count in times.items() if count > 1]


def malformed_ids(promises: Sequence[Promise], claims: Sequence[Claim]) -> list[str]:
    """Ids that are not feature.topic.truth in lower snake case."""
    return [
        f"{it.id}: an id reads feature.topic.truth" for it in promises if not _ID.fullmatch(it.id)
    ]


def empty_sentences(promises: Sequence[Promise], claims: Sequence[Claim]) -> list[str]:
    """Promises that say nothing."""
    return [f"{it.id}: says nothing" for it in promises if not it.requirement.says.strip()]


def lines_outside(promises: Sequence[Promise], claims: Sequence[Claim]) -> list[str]:
    """Promises whose line is not one of their reference's."""
    return [
        f"{it.id}: line {it.requirement.line} of {it.module}, which has {last}"
        for it in promises
        for last in [_last_line(it.module)]
        if not 1 <= it.requirement.line <= last
    ]


CHECKS: tuple[Check, ...] = (
    unproved,
    proved_but_deferred,
    unknown_ids,
    claims_of_nothing,
    repeated_ids,
    malformed_ids,
    empty_sentences,
    lines_outside,
)


def _claims(path: str, body: Sequence[ast.stmt], inherited: tuple[str, ...]) -> Iterator[Claim]:
    shared = inherited + tuple(
        name for node in body if _assigns(node, "pytestmark") for name in _ids_in(node)
    )
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _claims(path, node.body, shared + _marks_on(node))
        elif _is_function(node) and node.name.startswith("test"):
            yield Claim(path, node.name, shared + _marks_on(node))


def _is_function(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _marks_on(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    return tuple(name for mark in node.decorator_list for name in _ids_in(mark))


def _ids_in(node: ast.AST) -> Iterator[str]:
    """The arguments of every `requirement(...)` below the node; what is no string, as its code."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _called(call) == "requirement":
            for given in call.args:
                match given:
                    case ast.Constant(value=str(name)):
                        yield name
                    case _:
                        yield ast.unparse(given)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _assigns(node: ast.stmt, name: str) -> TypeGuard[ast.Assign | ast.AnnAssign]:
    match node:
        case ast.Assign(targets=[ast.Name(id=target)]) | ast.AnnAssign(target=ast.Name(id=target)):
            return target == name
        case _:
            return False


def _claimed(claims: Sequence[Claim]) -> set[str]:
    return {name for claim in claims for name in claim.ids}


def _is_contract(path: str) -> bool:
    # The test of the manifest proves the manifest, not a reference.
    return path.startswith("contract/") and path != "contract/test_manifest.py"


def _last_line(module: str) -> int:
    """The number of lines in the module's reference; 0, so that no line fits, if there is none."""
    return max(
        (
            lines
            for reference, lines in LINES_BY_REFERENCE.items()
            if module == reference or module.startswith(f"{reference}_")
        ),
        default=0,
    )
