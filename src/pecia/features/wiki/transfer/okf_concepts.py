"""Documents as OKF concepts: a type, and links that every reader of Markdown follows. Pure."""

from collections.abc import Mapping

from pecia.features.wiki.core.text.frontmatter import patch_frontmatter
from pecia.features.wiki.transfer.exported_space import (
    ExportedDocument,
    ExportedSpace,
    ExportReport,
    free_path,
)
from pecia.features.wiki.transfer.standard_links import LinkTargets, standardize_links
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.text.markdown.frontmatter import split_document

RESERVED = frozenset(("index.md", "log.md"))
"""Names of files that are no concepts, at every level of a bundle."""
DOCUMENT_TYPE = "document"


def make_concepts(space: ExportedSpace, report: ExportReport) -> dict[str, str]:
    """The concept files of a bundle, by path."""
    pages = _name_concepts(space, report)
    targets = space.targets(pages)
    return {
        pages[name]: _make_concept(it, pages[name], targets, report)
        for name, it in space.documents.items()
    }


def _name_concepts(space: ExportedSpace, report: ExportReport) -> dict[str, str]:
    pages: dict[str, str] = {}
    taken = {*space.files}
    for name, it in space.documents.items():
        wanted = f"{name}.md"
        leaf = wanted.rpartition("/")[2]
        if leaf.casefold() in RESERVED:
            stem = name.rpartition("/")[0]
            wanted = f"{stem}/{leaf[:-3]}-page.md" if stem else f"{leaf[:-3]}-page.md"
        pages[name] = free_path(wanted, taken)
        taken.add(pages[name])
        if pages[name] != it.path:
            why = f"{leaf} has another meaning in OKF" if leaf.casefold() in RESERVED else "renamed"
            report.change(it.path, f"it is {pages[name]} in the bundle: {why}")
    return pages


def _make_concept(
    document: ExportedDocument, page: str, targets: LinkTargets, report: ExportReport
) -> str:
    made = standardize_links(document.text, document.name, page, targets)
    for problem in made.problems:
        report.change(document.path, problem)
    patch = _missing_fields(document)
    try:
        return patch_frontmatter(made.text, patch) if patch else made.text
    except PeciaError as error:
        report.change(document.path, f"its frontmatter is kept as text: {error.message}")
        split = split_document(made.text)
        head = made.text[: split.block.end].strip("\ufeff")
        fields = {"type": DOCUMENT_TYPE, "title": document.title}
        shown = f"```yaml\n{head.strip().strip('-').strip()}\n```\n\n"
        return patch_frontmatter(shown + made.text[split.block.end :], fields)


def _missing_fields(document: ExportedDocument) -> Mapping[str, Json]:
    """What OKF requires or recommends, and the document lacks."""
    found = document.facts.frontmatter
    missing: dict[str, Json] = {}
    kind = found.get("type")
    if not isinstance(kind, str) or not kind.strip():
        missing["type"] = DOCUMENT_TYPE if kind in (None, "", [], {}) else str(kind)
    if not document.facts.title and document.title != document.name.rpartition("/")[2]:
        missing["title"] = document.title
    if document.facts.problem:
        # It cannot be changed in place: the error says why.
        missing.setdefault("type", DOCUMENT_TYPE)
    return missing
