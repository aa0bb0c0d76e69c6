"""What reading a layer gives, and the one Protocol every kind of layer fits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from pecia.rooms.cascade.identity import id_of_path, is_id, is_reserved
from pecia.rooms.cascade.manifest import LayerSpec
from pecia.rooms.cascade.model import Document, Problem
from pecia.rooms.cascade.okf.document import Unreadable, decode_leniently, read_document

Report: TypeAlias = Callable[[int, int], None]
"""Told how many of how many documents have been read."""


def quiet(done: int, total: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Every concept of a layer, and every file that gave none. `degraded`: why it is not whole."""

    documents: Mapping[str, Document] = field(default_factory=dict[str, Document])
    problems: tuple[Problem, ...] = ()
    degraded: str | None = None


class Layer(Protocol):
    """Where concepts come from."""

    @property
    def spec(self) -> LayerSpec: ...

    async def read(self, report: Report = quiet) -> Reading:
        """All of it, as it is now. Never raises for what a layer may hold: it names the problem."""
        ...


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file of a layer that was read whole."""

    path: str
    body: bytes
    git_day: str | None = None


def read_files(layer: str, files: Iterable[RawFile], total: int, report: Report = quiet) -> Reading:
    """The concepts among these files, in order of path; the second of one name is a problem."""
    documents: dict[str, Document] = {}
    problems: list[Problem] = []
    for number, it in enumerate(files, start=1):
        found = document_of(layer, it)
        if isinstance(found, Document):
            if found.id in documents:
                found = _taken(layer, it.path, documents[found.id])
            else:
                documents[found.id] = found
        if isinstance(found, Problem):
            problems.append(found)
        elif found and found.fault:
            problems.append(fault_of(layer, found))
        if number % 500 == 0:
            report(number, total)
    report(total, total)
    return Reading(documents, tuple(problems))


def document_of(layer: str, file: RawFile) -> Document | Problem | None:
    """The concept in a file, what is wrong with it, or nothing where it is no concept."""
    if not file.path.lower().endswith(".md") or is_reserved(file.path):
        return None
    concept = id_of_path(file.path)
    if not is_id(concept):
        return Problem(layer, file.path, "invalid-id", "the path is not a name of a concept")
    try:
        text, fault = decode_leniently(file.body)
        found = read_document(concept, file.path, text, file.git_day)
    except Unreadable as error:
        return Problem(layer, file.path, error.code, error.message, concept)
    return replace(found, fault=fault) if fault else found


def fault_of(layer: str, document: Document) -> Problem:
    """What is wrong with a document that counts, as a problem of its layer."""
    assert document.fault is not None
    fault = document.fault
    return Problem(layer, document.path, fault.code, fault.message, document.id)


def _taken(layer: str, path: str, first: Document) -> Problem:
    message = f"{first.path} is the concept {first.id!r} already"
    return Problem(layer, path, "duplicate-id", message, first.id)
