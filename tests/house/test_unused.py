"""Every function, class and constant of a module is used in src, not only by its tests."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.house.source_tree import ROOT, modules, parsed

SOURCE = ROOT / "src"

# Found by name at run time: commands by `cli/command_table.py`, words by the language's name.
LOADED_BY_NAME = re.compile(
    r"pecia\.interfaces\.cli\..*:(add_to|COMMANDS)|pecia\.features\.ckf\.heuristic\.cues\.\w+:[A-Z_]+"
)

# What is imported with its first use: builders of features and of tools, as `module:function`.
QUOTED = re.compile(r'"([\w.]+:\w+)"')

ALLOWED = {
    # What a caller sees of the queue, cancels and retries: rights are tested, no tool has it yet.
    "pecia.kernel.jobs": {
        "JobState",
        "JobStatus",
        "cancel_job",
        "get_job",
        "list_jobs",
        "retry_job",
    },
    # Erases one file with its keys in the audit log: tested, no tool has it yet.
    "pecia.kernel.corpus.catalog.texts": {"purge"},
    # Measured by benchmarks and tests; the search itself does without.
    "pecia.kernel.corpus.search.explain": {"rank_moves"},
}


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement at the top of a module."""

    defines: frozenset[str]
    reads: frozenset[str]
    """Names, `name.attribute`, and words of quoted annotations."""
    imports: tuple[tuple[str, str, str], ...]
    """Module, name in it, name here."""


def test_nothing_in_src_is_there_for_its_tests_alone() -> None:
    known = {_name(it): [*_read(it)] for it in modules()}
    scripts = [[*_read(it)] for it in (ROOT / "scripts").glob("*.py")]
    used = {it for found in (*known.values(), *scripts) for it in _references(found, known)}
    unused = {
        f"{module}:{name}"
        for module, found in known.items()
        for own in found
        for name in own.defines - ALLOWED.get(module, set())
        if (module, name) not in used
        and not any(name in it.reads for it in found if it is not own)
        and not name.startswith("__")
    }
    # What is imported on demand, and the programs that the package installs.
    listed = (*modules(), ROOT / "pyproject.toml")
    registered = {name for it in listed for name in QUOTED.findall(it.read_text(encoding="utf-8"))}
    assert {it for it in unused - registered if not LOADED_BY_NAME.fullmatch(it)} == set()


def _name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _read(path: Path) -> Iterator[Statement]:
    is_package = path.name == "__init__.py"
    for statement in _statements(parsed(path).body):
        reads: set[str] = set()
        imports: list[tuple[str, str, str]] = []
        for node in ast.walk(statement):
            reads |= _reads(node)
            if isinstance(node, ast.ImportFrom):
                imports += [(node.module or "", it.name, it.asname or it.name) for it in node.names]
        # What a package imports, it offers to others.
        offers = {it[2] for it in imports} if is_package else set[str]()
        defines = frozenset({*_defined(statement)} | offers)
        yield Statement(defines, frozenset(reads), tuple(imports))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for it in body:
        if isinstance(it, ast.If | ast.Try):
            yield from _statements([*it.body, *it.orelse])
        else:
            yield it


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    for target in targets:
        yield from (it.id for it in ast.walk(target) if isinstance(it, ast.Name))


def _reads(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return {node.id}
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return {f"{node.value.id}.{node.attr}"}
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 100:
        return {*re.findall(r"\b[A-Z]\w+", node.value)}
    return set()


def _references(
    found: list[Statement], modules: dict[str, list[Statement]]
) -> Iterator[tuple[str, str]]:
    """What the module takes of others: by import, or as an attribute of an imported module."""
    imports = [it for statement in found for it in statement.imports]
    yield from ((module, name) for module, name, _ in imports)
    aliases = {here: f"{module}.{name}" for module, name, here in imports}
    for name, _, attribute in (it.partition(".") for one in found for it in one.reads):
        if attribute and aliases.get(name) in modules:
            yield aliases[name], attribute
