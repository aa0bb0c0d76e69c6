"""Plans a rename: which documents move, and which links are rewritten. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pecia.features.wiki.core.graph import LinkGraph
from pecia.kernel.errors import Conflict, InvalidInput, Json, NotFound
from pecia.kernel.text.diff.diff import diff_edits
from pecia.kernel.text.links.name_index import NameIndex
from pecia.kernel.text.links.resolver import WIKI_RULES, LinkRules
from pecia.kernel.text.links.rewrite import (
    DocumentMoves,
    DocumentRename,
    RewrittenDocument,
    rewrite_links,
)
from pecia.kernel.text.span import Edit, Span, apply_edits


@dataclass(frozen=True, slots=True)
class RenamePlan:
    """Old names to new ones. `folder` is the folder that moves, if any."""

    documents: Mapping[str, str]
    folder: tuple[str, str] | None = None

    @property
    def moves(self) -> DocumentMoves:
        return DocumentMoves(self.documents, dict([self.folder]) if self.folder else {})


@dataclass(frozen=True, slots=True)
class LinkRewrite:
    """One document, by its old name, with its old and new text."""

    name: str
    old_text: str
    text: str
    count: int
    unresolved: int


def plan_document_rename(old: str, new: str, names: Iterable[str]) -> RenamePlan:
    """Rename one document. Empty if the name is the same."""
    known = {*names}
    if old not in known:
        raise NotFound(f"no document {old!r}", field="docName", docName=old)
    if old == new:
        return RenamePlan({})
    _require_other_than_case(old, new, "newDocName")
    _require_free({old: new}, known)
    return RenamePlan({old: new})


def plan_folder_rename(
    old: str, new: str, names: Iterable[str], *, has_files: bool = False
) -> RenamePlan:
    """Rename every document below a folder. Empty if there is nothing in it, or it stays.

    `has_files`: there are files in it that are no documents.
    """
    known = {*names}
    if old == new:
        return RenamePlan({})
    _require_other_than_case(old, new, "toFolder")
    if f"{new}/".startswith(f"{old}/"):
        raise InvalidInput("a folder cannot move into itself", field="toFolder", got=new[:200])
    moved = {it: new + it[len(old) :] for it in sorted(known) if it.startswith(f"{old}/")}
    _require_free(moved, known)
    return RenamePlan(moved, (old, new) if moved or has_files else None)


def find_affected(renaming: RenamePlan, graph: LinkGraph) -> set[str] | None:
    """The only documents that `plan_rewrites` can change; None: any. A folder takes files of other
    kinds along, which links name too."""
    if renaming.folder:
        return None
    pairs = [
        (it, graph.names.labels(old))
        for old, new in renaming.documents.items()
        for it in (old, new)
    ]
    return {*renaming.documents} | graph.find_referring(pairs)


def plan_rewrites(
    renaming: RenamePlan,
    names: NameIndex,
    texts: Iterable[tuple[str, str]],
    rules: LinkRules = WIKI_RULES,
) -> list[LinkRewrite]:
    """The documents whose links must be rewritten to keep their targets."""
    rename = DocumentRename.of(renaming.moves, names, rules)
    found: list[LinkRewrite] = []
    for name, text in texts:
        done: RewrittenDocument = rewrite_links(text, name, rename)
        if done.edits or done.stranded:
            found.append(LinkRewrite(name, text, done.text, len(done.edits), len(done.stranded)))
    return found


def undo_rewrites(before: str, after: str, now: str) -> str:
    """The text of now, which somebody made from `after`, with its links as they were `before`.

    All links of a line go back, or none: none if the edit touches what is between them.
    """
    edits = diff_edits(after, now)
    kept = [*edits]
    for line in _group_by_line(after, diff_edits(after, before)):
        span = Span(line[0].span.start, line[-1].span.end)
        if not any(it.span.start <= span.end and span.start <= it.span.end for it in edits):
            kept += line
    return apply_edits(after, kept)


def _group_by_line(text: str, edits: Iterable[Edit]) -> list[list[Edit]]:
    groups: list[list[Edit]] = []
    for it in edits:
        if groups and "\n" not in text[groups[-1][-1].span.end : it.span.start]:
            groups[-1].append(it)
        else:
            groups.append([it])
    return groups


def _require_other_than_case(old: str, new: str, field: str) -> None:
    if old.casefold() == new.casefold():
        raise InvalidInput(
            "names that differ only in case are equal on many disks: rename via a third name",
            field=field,
            got=new[:200],
        )


def _require_free(moved: Mapping[str, str], known: set[str]) -> None:
    taken = known - moved.keys()
    by_fold = {it.casefold(): it for it in taken}
    colliding: list[Json] = [
        {"existing": by_fold[new.casefold()], "incoming": old, "to": new}
        for old, new in moved.items()
        if new.casefold() in by_fold
    ]
    if colliding:
        raise Conflict("a document of that name exists already", colliding=colliding)
