"""The floor plan of `src/pecia`: what modules and classes are called, and where things lie."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from pecia.kernel.tool.on_demand import FILE as RECORD
from tests.house.source_tree import SOURCE, modules, parsed, source_text

FEATURES = sorted(it.parent for it in (SOURCE / "features").glob("*/__init__.py"))
FOLDER_WALL = 16

NOUNS = {"heading", "keyring", "embedding"}
IRREGULAR = re.compile(
    "built|chosen|done|found|given|gone|heard|held|kept|known|left|lost|made|meant|said|seen|sent|"
    "shown|taken|thought|told|written"
)

# Functions that are nouns, verbs that end so, and names that a library calls.
FUNCTION_NOUNS = {
    *("embed", "_embed", "feed", "listing", "_listing", "_mapping", "_meaning", "setting"),
    *("spelling", "warning", "_nothing", "__missing__", "string", "ping"),
}
MAY_BE_VERBAL = re.compile(r"property|contextmanager|ContextManager")

# What does I/O: pure code has none of it.
IMPURE = ("psycopg", "anyio", "httpx", "pecia.kernel.store")
SQL = re.compile(
    r"\s*(SELECT|INSERT\s+INTO|UPDATE\s+[\w.]+\s+SET|DELETE\s+FROM|WITH\s+\w+\s+AS|CREATE|ALTER)\s"
)
MIGRATION = re.compile(r"\d{4}_\w+\.sql")

# Where a definition lies: the call or base class, and the module or folder that holds it.
PLACES = {"Tool": "tools", "Feature": "feature.py", "SettingsSection": "settings.py"}
EXCEPTIONS = {
    "discovery/feature.py": "its two tools are made for each view, and are no tools of a feature",
}
DATA_FOLDERS = {
    "wiki/workflows": "texts that are served as they are, by name",
}


def shown(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def is_verbal(name: str) -> bool:
    """Whether a name ends in a gerund or a participle. A plural, as `findings`, is a noun."""
    word = name.rsplit("_", 1)[-1]
    return word not in NOUNS and (
        word.endswith(("ing", "ed")) or IRREGULAR.fullmatch(word) is not None
    )


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (it.name for it in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{it.name}" for it in node.names)


def definitions(path: Path) -> Iterator[str]:
    """Names that are called, and names of base classes."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.ClassDef):
            yield from (it.id for it in node.bases if isinstance(it, ast.Name))


def test_no_module_or_package_is_named_by_a_gerund_or_participle() -> None:
    folders = [it.parent for it in modules() if it.name == "__init__.py"]
    assert [shown(it) for it in (*modules(), *folders) if is_verbal(it.stem)] == []


def test_no_function_is_named_by_a_gerund_or_participle_alone() -> None:
    """`_joined` says neither what is joined nor that something is done. A property and a context
    manager may: `with store.reading(…)`.
    """
    found = [
        f"{shown(path)}:{node.lineno} {node.name}"
        for path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and "_" not in node.name.strip("_")
        and node.name not in FUNCTION_NOUNS
        and is_verbal(node.name.strip("_"))
        and not MAY_BE_VERBAL.search(_signature(node))
    ]
    assert found == []


def test_no_public_class_name_is_defined_in_two_modules() -> None:
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                holders[node.name].append(shown(path))
    assert {name: held for name, held in holders.items() if len(held) > 1} == {}


def test_no_folder_has_more_modules_than_a_reader_takes_in() -> None:
    held = Counter(it.parent for it in modules() if it.name != "__init__.py")
    assert {shown(it): count for it, count in held.items() if count > FOLDER_WALL} == {}


@pytest.mark.parametrize("feature", FEATURES, ids=lambda it: it.name)
def test_a_feature_has_a_readme_and_its_declaration(feature: Path) -> None:
    assert [it for it in ("README.md", "feature.py") if not (feature / it).is_file()] == []


@pytest.mark.parametrize("feature", FEATURES, ids=lambda it: it.name)
def test_a_feature_holds_modules_packages_and_what_its_modules_load(feature: Path) -> None:
    """A text lies beside the module that names it; a folder is a package, or a listed one."""
    text = "\n".join(source_text(it) for it in feature.glob("*.py"))
    strays: list[str] = []
    for it in feature.iterdir():
        if it.is_dir():
            is_known = (it / "__init__.py").is_file() or _feature_path(it) in DATA_FOLDERS
            is_known = is_known or it.name == "__pycache__"
        elif it.suffix in (".py", ".sql"):
            # Whether a query lies beside its loader is another test's.
            is_known = True
        else:
            # `recorded.json`: `make docs` writes it, the kernel reads it.
            is_known = it.name in ("README.md", RECORD) or f'"{it.name}"' in text
        strays += [] if is_known else [shown(it)]
    assert strays == []


@pytest.mark.parametrize("name", sorted(PLACES))
def test_tools_settings_and_declarations_lie_where_the_plan_has_them(name: str) -> None:
    astray = [
        shown(it)
        for feature in FEATURES
        for it in modules(feature)
        if name in definitions(it)
        and PLACES[name] not in it.relative_to(feature).parts
        and _feature_path(it) not in EXCEPTIONS
    ]
    assert astray == []


def test_pure_code_imports_nothing_that_does_io() -> None:
    found = [
        f"{shown(it)} imports {name}"
        for feature in FEATURES
        for it in modules(feature)
        if "core" in it.relative_to(feature).parts
        for name in imports(it)
        if any(name == impure or name.startswith(f"{impure}.") for impure in IMPURE)
    ]
    assert found == []


def test_features_have_no_sql_in_python() -> None:
    found = [
        f"{shown(it)}:{node.lineno}"
        for feature in FEATURES
        for it in modules(feature)
        for node in ast.walk(parsed(it))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value)
    ]
    assert found == []


def test_queries_lie_beside_their_loader_and_migrations_in_a_schema() -> None:
    astray: list[str] = []
    for feature in FEATURES:
        for it in feature.rglob("*.sql"):
            in_schema = it.parent == feature / "schema"
            is_migration = MIGRATION.fullmatch(it.name) is not None
            if in_schema != is_migration or not (in_schema or _is_loaded_beside(it)):
                astray.append(shown(it))
    assert astray == []


def test_every_exception_is_still_needed() -> None:
    paths = [*EXCEPTIONS, *DATA_FOLDERS]
    assert [it for it in paths if not (SOURCE / "features" / it).exists()] == []
    names = {it for path in modules() for it in (path.stem, path.parent.name)}
    assert names >= NOUNS


def _feature_path(path: Path) -> str:
    return str(path.relative_to(SOURCE / "features"))


def _is_loaded_beside(query: Path) -> bool:
    package = ".".join(("pecia", *query.parent.relative_to(SOURCE).parts))
    calls = [f'load_queries("{package}", "{query.name}")']
    calls += [f'load_queries("{package}")'] if query.name == "queries.sql" else []
    texts = [source_text(it) for it in query.parent.glob("*.py")]
    return any(call in text for call in calls for text in texts)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The decorators and the type that is returned."""
    parts = [*node.decorator_list, *([node.returns] if node.returns else [])]
    return " ".join(map(ast.unparse, parts))
