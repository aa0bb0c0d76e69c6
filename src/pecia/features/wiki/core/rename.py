"""Plans a rename: which documents move, and which links are rewritten. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pecia.features.wiki.core.graph import LinkGraph
from pecia.features.wiki.core.names import FoldedNames, fold_name, require_no_twin
from pecia.kernel.errors import Conflict, InvalidInput, Json, NotFound
from pecia.kernel.text.diff.diff import diff_edits
from pecia.kernel.text.links.candidates import may_need_rewrite
from pecia.kernel.text.links.name_index import NameIndex, folder_of
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
    below: frozenset[str] = frozenset()
    """The folders in the folder."""

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
    old: str,
    new: str,
    names: Iterable[str],
    files: Iterable[str] = (),
    folders: Iterable[str] = (),
) -> RenamePlan:
    """Rename every document below a folder. Empty if there is nothing in it, or it stays.

    `files` are those that are no documents, `folders` those that may have no file.
    """
    known = {*names}
    if old == new:
        return RenamePlan({})
    _require_other_than_case(old, new, "toFolder")
    if f"{new}/".startswith(f"{old}/"):
        raise InvalidInput(
            f"the folder {old!r} cannot move into itself: {new[:200]!r}",
            field="toFolder",
            got=new[:200],
        )
    moved = {it: new + it[len(old) :] for it in sorted(known) if it.startswith(f"{old}/")}
    _require_free(moved, known)
    inside = [*moved, *(it for it in files if it.startswith(f"{old}/"))]
    if not inside:
        return RenamePlan({})
    empty = (it for it in folders if it.startswith(f"{old}/"))
    return RenamePlan(moved, (old, new), frozenset((*empty, *_folders_below(old, inside))))


def _folders_below(folder: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        while len(path := folder_of(path)) > len(folder):
            yield path


def find_affected(renaming: RenamePlan, graph: LinkGraph) -> set[str]:
    """The only documents that `plan_rewrites` can change. A folder takes files of other kinds
    along, which links name too, as they name the folders."""
    pairs = [
        (it, graph.names.labels(old))
        for old, new in renaming.documents.items()
        for it in (old, new)
    ]
    affected = {*renaming.documents}
    if renaming.folder:
        pairs += [(it, ()) for it in (*renaming.folder, *renaming.below)]
        affected |= graph.find_referring_below(renaming.folder[0])
    return affected | graph.find_referring(pairs)


def plan_rewrites(
    renaming: RenamePlan,
    names: NameIndex,
    texts: Iterable[tuple[str, str]],
    rules: LinkRules = WIKI_RULES,
    is_place: Callable[[str], bool] = lambda path: False,
) -> list[LinkRewrite]:
    """The documents whose links must be rewritten to keep their targets. `is_place`: a path that
    is no document is a folder or a file."""
    rename = DocumentRename.of(renaming.moves, names, rules, is_place)
    found: list[LinkRewrite] = []
    for name, text in texts:
        if not may_need_rewrite(text, name, rename):
            continue
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
    if fold_name(old) == fold_name(new):
        raise InvalidInput(
            "names that differ only in case are equal on many disks: rename via a third name",
            field=field,
            got=new[:200],
        )


def _require_free(moved: Mapping[str, str], known: set[str]) -> None:
    taken = known - moved.keys()
    folded = FoldedNames.of(taken)
    colliding: list[Json] = [
        {"existing": folded.documents[fold_name(new)], "incoming": old, "to": new}
        for old, new in moved.items()
        if fold_name(new) in folded.documents
    ]
    if colliding:
        first = colliding[0]
        assert isinstance(first, dict)
        raise Conflict(f"a document {first['to']!r} exists already", colliding=colliding)
    for old, new in moved.items():
        twin = folded.find_twin(new)
        require_no_twin(new, twin, colliding=[{"existing": twin, "incoming": old, "to": new}])
