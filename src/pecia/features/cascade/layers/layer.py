"""The content of a layer, and the Protocol of all layer kinds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from pecia.features.cascade.core.concept_id import id_of_path, is_id, is_reserved
from pecia.features.cascade.manifest import LayerSpec
from pecia.features.cascade.model import ConceptDocument, LayerProblem
from pecia.features.cascade.okf.document import UnreadableDocument, decode_leniently, parse_document

ReportProgress: TypeAlias = Callable[[int, int], None]
"""Progress callback: documents read, and in total."""


def no_progress(done: int, total: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class LayerContent:
    """Concepts of a layer, and files without one. `degraded`: why it is incomplete."""

    documents: Mapping[str, ConceptDocument] = field(default_factory=dict[str, ConceptDocument])
    problems: tuple[LayerProblem, ...] = ()
    degraded: str | None = None


class CascadeLayer(Protocol):
    """Where concepts come from."""

    @property
    def spec(self) -> LayerSpec: ...

    async def read(self, report: ReportProgress = no_progress) -> LayerContent:
        """The current content. Never raises for bad content: it reports a problem."""
        ...


@dataclass(frozen=True, slots=True)
class LayerFile:
    """A file of a layer that was read whole."""

    path: str
    body: bytes
    git_day: str | None = None


def parse_files(
    layer: str, files: Iterable[LayerFile], total: int, report: ReportProgress = no_progress
) -> LayerContent:
    """The concepts among these files, by path; a duplicate id is a problem."""
    documents: dict[str, ConceptDocument] = {}
    problems: list[LayerProblem] = []
    for number, it in enumerate(files, start=1):
        found = parse_file(layer, it)
        if isinstance(found, ConceptDocument):
            if found.id in documents:
                found = _duplicate_problem(layer, it.path, documents[found.id])
            else:
                documents[found.id] = found
        if isinstance(found, LayerProblem):
            problems.append(found)
        elif found and found.fault:
            problems.append(fault_problem(layer, found))
        if number % 500 == 0:
            report(number, total)
    report(total, total)
    return LayerContent(documents, tuple(problems))


def parse_file(layer: str, file: LayerFile) -> ConceptDocument | LayerProblem | None:
    """The concept in a file, or its problem; None where it is not a concept."""
    if not file.path.lower().endswith(".md") or is_reserved(file.path):
        return None
    concept = id_of_path(file.path)
    if not is_id(concept):
        return LayerProblem(layer, file.path, "invalid-id", "the path is not a valid concept id")
    try:
        text, fault = decode_leniently(file.body)
        found = parse_document(concept, file.path, text, file.git_day)
    except UnreadableDocument as error:
        return LayerProblem(layer, file.path, error.code, error.message, concept)
    return replace(found, fault=fault) if fault else found


def fault_problem(layer: str, document: ConceptDocument) -> LayerProblem:
    """The fault of a usable document, as a problem of its layer."""
    assert document.fault is not None
    fault = document.fault
    return LayerProblem(layer, document.path, fault.code, fault.message, document.id)


def _duplicate_problem(layer: str, path: str, first: ConceptDocument) -> LayerProblem:
    message = f"{first.path} is the concept {first.id!r} already"
    return LayerProblem(layer, path, "duplicate-id", message, first.id)
