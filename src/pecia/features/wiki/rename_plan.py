"""Plans a rename under the lock of the space, beside programs that take none: what they write
meanwhile is planned again, and nothing else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_any_charset, decode_utf8
from pecia.features.wiki.core.graph import LinkGraph
from pecia.features.wiki.core.rename import (
    LinkRewrite,
    RenamePlan,
    find_affected,
    plan_rewrites,
)
from pecia.features.wiki.space import OpenSpace, WikiDocument
from pecia.features.wiki.storage import disk
from pecia.kernel.errors import PeciaError
from pecia.kernel.layered_dict import LayeredDict

MAX_PASSES = 5
"""More often than this, a document that is written all the time is not planned again: the write
finds that it changed, and the call is tried again."""

ChooseRename: TypeAlias = Callable[[OpenSpace], RenamePlan]


@dataclass(frozen=True, slots=True)
class PlannedRename:
    """What moves, and the documents to rewrite: those that the caller sees, and `hidden` ones."""

    opened: OpenSpace
    """As its files were."""
    renaming: RenamePlan
    seen: Sequence[LinkRewrite] = ()
    hidden: Sequence[LinkRewrite] = ()
    """Links in them follow too, locked or not. No answer says so: a refusal would tell that they
    are there."""
    unwritable: Sequence[str] = ()
    """Documents with affected links that are not UTF-8, and so are not rewritten."""

    def merge(self, news: "PlannedRename", changed: set[str]) -> "PlannedRename":
        """This, with what was planned again for documents that changed."""
        return PlannedRename(
            news.opened,
            news.renaming,
            _merge_rewrites(self.seen, news.seen, changed),
            _merge_rewrites(self.hidden, news.hidden, changed),
            sorted({*self.unwritable} - changed | {*news.unwritable}),
        )


async def plan_rename(opened: OpenSpace, choose: ChooseRename) -> PlannedRename:
    """Plan for the files as they are by now. `choose` says what moves."""
    opened = await opened.look_again()
    plan = await _plan(opened, choose(opened))
    for _ in range(MAX_PASSES):
        opened = await opened.look_again()
        before, now = _all_documents(plan.opened), _all_documents(opened)
        changed = now.changed_keys(before)
        if not changed:
            break
        renaming = choose(opened)
        are_there = all(
            it in before and it in now and before[it].path == now[it].path for it in changed
        )
        if are_there and renaming == plan.renaming:
            plan = plan.merge(await _plan(opened, renaming, changed), changed)
        else:
            # A name that comes or goes may change what links in any document mean.
            plan = await _plan(opened, renaming)
    return plan


async def _plan(
    opened: OpenSpace, renaming: RenamePlan, among: set[str] | None = None
) -> PlannedRename:
    if not renaming.documents and not renaming.folder:
        return PlannedRename(opened, renaming)
    # By what the caller sees: a link must not be rewritten to a name that is hidden from them.
    graph = await opened.graph()
    seen, unwritable = await run_sync(
        _plan_link_rewrites, opened, opened.documents, graph, renaming, among
    )
    hidden: Sequence[LinkRewrite] = ()
    if opened.hidden:
        graph = await opened.wiki.graph_of_all(opened, _all_documents(opened))
        hidden, _ = await run_sync(
            _plan_link_rewrites, opened, opened.hidden, graph, renaming, among
        )
    return PlannedRename(opened, renaming, seen, hidden, unwritable)


def _all_documents(opened: OpenSpace) -> LayeredDict[str, WikiDocument]:
    """Visible to the caller or not: links in hidden ones must not break either."""
    if not opened.hidden:
        return opened.documents
    every = opened.documents.copy()
    every.update(opened.hidden)
    return every


def _plan_link_rewrites(
    opened: OpenSpace,
    some: Mapping[str, WikiDocument],
    graph: LinkGraph,
    renaming: RenamePlan,
    among: set[str] | None,
) -> tuple[list[LinkRewrite], list[str]]:
    """Of some documents those to rewrite, and those that cannot be because they are not UTF-8."""
    foreign: set[str] = set()
    affected = find_affected(renaming, graph)
    names = sorted(it for it in affected if it in some and (among is None or it in among))
    texts = _texts(opened, [some[it] for it in names], foreign)
    every = plan_rewrites(renaming, graph.names, texts, graph.rules, opened.has_place)
    unwritable = sorted(it.name for it in every if it.name in foreign)
    return [it for it in every if it.name not in foreign], unwritable


def _texts(
    opened: OpenSpace, documents: Sequence[WikiDocument], foreign: set[str]
) -> Iterator[tuple[str, str]]:
    for it in documents:
        try:
            body = disk.read(opened.root, it.path)
        except PeciaError:
            continue
        text = decode_any_charset(body)
        if text is not None:
            if decode_utf8(body) is None:
                foreign.add(it.name)
            yield it.name, text


def _merge_rewrites(
    old: Sequence[LinkRewrite], new: Sequence[LinkRewrite], changed: set[str]
) -> list[LinkRewrite]:
    kept = [it for it in old if it.name not in changed]
    return sorted([*kept, *new], key=lambda it: it.name)
