"""Renames: documents move, and links to and from them are rewritten to the same targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from anyio.to_thread import run_sync

from pecia.features.wiki.config.folder_rules import matches_rule
from pecia.features.wiki.config.merge import rename_templates
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.core.guard import (
    LOCK_KEY,
    find_locked,
    require_unlocked,
    require_version,
)
from pecia.features.wiki.core.names import (
    parse_folder_name,
    require_new_name,
    split_extension,
)
from pecia.features.wiki.core.rename import (
    LinkRewrite,
    RenamePlan,
    plan_document_rename,
    plan_folder_rename,
)
from pecia.features.wiki.core.summary import EditSummary, parse_summary
from pecia.features.wiki.rename_plan import PlannedRename, plan_rename
from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.space_write import MergeBase, SpaceWrite, begin_rename_write
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.obstacle import require_folders
from pecia.features.wiki.suggestion.policy import is_held, require_direct
from pecia.features.wiki.tools.config import write_config_patch
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.edits import require_free_path
from pecia.features.wiki.tools.schemas import RenameDocument, RenamedOut, RenameFolder
from pecia.kernel.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    Json,
    NotFound,
    PeciaError,
)
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.links.name_index import folder_of
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult

MAX_NAMED = 20
MOVE_HINT = "Write its text there instead, as a suggestion: write_document. Or ask a person."
UNLOCK_HINT = "Unlock them first (patch_frontmatter, or the folder rule), then rename."


@dataclass(frozen=True, slots=True)
class RenameTools:
    """The handlers."""

    wiki: Wiki

    async def rename_document(self, call: Call, ask: RenameDocument) -> ToolResult:
        """Rename or move a document, and rewrite every link to it, and its own."""
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        old, new = opened.parse_name(ask.docName), opened.parse_name(ask.newDocName, "newDocName")
        require_new_name(new, "newDocName")
        found = opened.find(old)
        summary = parse_summary(ask.summary) or EditSummary(f"Renamed {old} → {new}")
        async with begin_rename_write(opened) as writer:
            if old != new:
                # Before what is there: it may be hidden.
                await writer.require_may_write(found.path, new + found.extension)
            plan = await plan_rename(
                opened, lambda now: plan_document_rename(old, new, now.documents)
            )
            body = await writer.read(plan.opened.find(old).path)
            require_version(old, body, ask.expected_version)
            await _rename(writer, plan)
            if plan.renaming.documents:
                await writer.record(f"rename: {old} -> {new}", [old, new], summary)
        fields = _rename_fields(plan, summary if plan.renaming.documents else None)
        fields |= {**opened.preview.link(new), "previousPreviewUrl": opened.preview.url(old)}
        rules = await self._update_rules(opened, plan.renaming)
        text = _format_text(f"{old} is {new}", plan) + _format_rules(rules)
        text += _format_rights(opened, old, new)
        return ToolResult({**fields, **rules}, (TextContent(text),))

    async def rename_folder(self, call: Call, ask: RenameFolder) -> ToolResult:
        """Rename or move a folder with everything in it, and rewrite all links, atomically."""
        old, new = (
            parse_folder_name(ask.fromFolder, "fromFolder"),
            parse_folder_name(ask.toFolder, "toFolder"),
        )
        require_new_name(new, "toFolder")
        summary = parse_summary(ask.summary)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        is_seen = opened.space.is_whole or opened.has_place(old)
        if is_seen:
            await run_sync(require_folders, opened.root, old, "fromFolder")
        if not is_seen or not await run_sync(disk.is_folder, opened.root, old):
            raise NotFound(f"no folder {old!r}", field="fromFolder")
        async with begin_rename_write(opened) as writer:
            await writer.require_may_write(f"{old}/")
            await writer.require_may_write(f"{new}/")
            plan = await plan_rename(opened, partial(_choose_folder, old, new))
            await _rename(writer, plan)
            names = plan.renaming.documents
            if names or any(it.count for it in plan.seen):
                # Both names are in the message: who may not see one must not read it.
                docs = [*names, *names.values()] or [old, new]
                await writer.record(f"rename: {old} -> {new}", docs, summary)
        fields = _rename_fields(plan, summary)
        files = sum(it.startswith(f"{old}/") for it in plan.opened.other_files)
        if plan.renaming.folder and files:
            fields["movedFiles"] = files
        names = plan.renaming.documents.values()
        fields["previewUrls"] = {it: opened.preview.url(it) for it in names}
        if opened.preview.source is not None:
            fields["previewUrlSource"] = opened.preview.source
        text = _format_text(f"{old}/ is {new}/", plan)
        if "movedFiles" in fields:
            text += f" {files} other files moved with it."
        rules = await self._update_rules(opened, plan.renaming)
        text += _format_rules(rules) + _format_rights(opened, f"{old}/", f"{new}/")
        return ToolResult({**fields, **rules}, (TextContent(text),))

    async def _update_rules(self, opened: OpenSpace, renaming: RenamePlan) -> dict[str, Json]:
        """Give folder rules the new names of their templates, after the documents have moved. What
        cannot be changed is said: the documents stay where they are now."""
        names = opened.template_names
        renamed = {names.shorten(old): new for old, new in renaming.documents.items()}
        renamed |= renaming.documents
        rules = opened.settings.config.folders
        meant = [(it, renamed.get(split_extension(it.template or "")[0])) for it in rules]
        if not any(new for _, new in meant):
            return {}
        stale: list[Json] = [
            {"match": it.match, "template": it.template} for it, new in meant if new
        ]
        try:
            done = await write_config_patch(
                self.wiki, opened.call, opened.space, partial(rename_templates, renamed=renamed)
            )
        except (InvalidConfig, PeciaError):
            return {"staleRules": stale}
        now = {it.match: it.template for it in done.current.folders}
        if any(now.get(it.match) != new for it, new in meant if new):
            # They are in the user's own file, which is not for everybody.
            return {"staleRules": stale}
        return {"updatedRules": [{"match": it.match, "template": new} for it, new in meant if new]}


def rename_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = RenameTools(wiki)
    write = Scope.WRITE
    return (
        Tool(
            FEATURE,
            "rename_document",
            write,
            RenameDocument,
            RenamedOut,
            it.rename_document,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "rename_folder",
            write,
            RenameFolder,
            RenamedOut,
            it.rename_folder,
            read_only=False,
            destructive=True,
        ),
    )


def _choose_folder(old: str, new: str, now: OpenSpace) -> RenamePlan:
    if any(it.startswith(f"{old}/") for it in now.hidden):
        raise InvalidInput(
            f"the folder {old!r} contains files that you may not move", field="fromFolder"
        )
    return plan_folder_rename(old, new, now.documents, now.other_files, now.folders or ())


async def _rename(writer: SpaceWrite, plan: PlannedRename) -> None:
    opened, renaming = plan.opened, plan.renaming
    if not renaming.documents and not renaming.folder:
        return
    now = {**opened.documents, **opened.hidden}
    paths = {old: new + now[old].extension for old, new in renaming.documents.items()}
    await _require_open(plan, paths)
    await _require_unlocked_moves(plan)
    await _require_may_rewrite(writer, plan)
    _require_direct_links(plan)
    _require_unlocked_links(plan)
    if plan.hidden:
        writer.allow(*(now[it.name].path for it in plan.hidden))
    found = [*plan.seen, *plan.hidden]
    await writer.require_unchanged({now[it.name].path: it.old_text.encode() for it in found})
    for it in found:
        if it.count:
            await writer.write(now[it.name].path, it.text.encode(), MergeBase.FILE)
    documents = [(now[old].path, path) for old, path in paths.items()]
    moves = [renaming.folder] if renaming.folder else documents
    for old, new in moves:
        await writer.move(old, new, documents)
    opened.record_returned([*paths.values()])


async def _require_open(plan: PlannedRename, paths: Mapping[str, str]) -> None:
    """Require free target paths that are not ignored."""
    opened, renaming = plan.opened, plan.renaming
    for old, path in paths.items():
        was = opened.documents[old].path
        require_direct(opened, was, "renaming it")
        require_direct(opened, path, "a rename to there", MOVE_HINT)
        require_free_path(opened, renaming.documents[old], "newDocName")
        if renaming.folder:
            continue
        await run_sync(require_folders, opened.root, folder_of(path), "newDocName")
        if await run_sync(disk.exists, opened.root, path):
            raise Conflict(
                "a file of that name exists already",
                colliding=[{"existing": path, "incoming": was, "to": path}],
            )
    if renaming.folder:
        old, new = renaming.folder
        await run_sync(require_folders, opened.root, folder_of(new), "toFolder")
        if await run_sync(disk.exists, opened.root, new):
            raise Conflict(
                f"{new!r} exists already",
                colliding=[{"existing": new, "incoming": old, "to": new}],
            )


async def _require_may_rewrite(writer: SpaceWrite, plan: PlannedRename) -> None:
    """A caller who may not rewrite the links may not break them."""
    try:
        await writer.require_may_write(*(plan.opened.documents[it.name].path for it in plan.seen))
    except Forbidden as refused:
        path = str(refused.fields["docName"])
        raise Forbidden(
            "documents that you may not change link to this",
            documents=[split_extension(path)[0]],
        ) from None


def _require_direct_links(plan: PlannedRename) -> None:
    """Agents change no link where they only suggest: the new name is text too."""
    opened = plan.opened
    held = sorted(
        it.name for it in _find_referrers(plan) if is_held(opened, opened.documents[it.name].path)
    )
    if held:
        raise Conflict(
            "documents that agents only suggest changes of link to this",
            documents=[*held[:MAX_NAMED]],
            hint="Ask a person to rename it.",
        )


async def _require_unlocked_moves(plan: PlannedRename) -> None:
    """Locked documents stay where they are, and nothing moves below a locked folder."""
    opened, renaming = plan.opened, plan.renaming
    now, graph = opened.documents, await opened.graph()
    rules = opened.settings.config.folders
    locking = [it.match for it in rules if it.locked]
    locked = sorted(
        name
        for name in renaming.documents
        if graph.facts[name].frontmatter.get(LOCK_KEY) is True
        or any(matches_rule(it, opened.prefix + now[name].path) for it in locking)
    )
    if locked:
        named = locked[:MAX_NAMED]
        more = f" and {len(locked) - len(named)} more" if len(locked) > len(named) else ""
        raise Conflict(
            f"locked documents are not moved: {', '.join(named)}{more}",
            locked=[*named],
            hint=UNLOCK_HINT,
        )
    for old, new in renaming.documents.items():
        require_unlocked(new, opened.prefix + new + now[old].extension, None, rules)


def _require_unlocked_links(plan: PlannedRename) -> None:
    """Links in locked documents are neither rewritten nor broken."""
    opened = plan.opened
    texts = (
        (it.name, opened.prefix + opened.documents[it.name].path, it.old_text)
        for it in _find_referrers(plan)
    )
    locked = sorted(find_locked(texts, opened.settings.config.folders))
    if locked:
        raise Conflict(
            f"{len(locked)} documents that are locked link to this",
            locked=[*locked[:MAX_NAMED]],
            hint=UNLOCK_HINT,
        )


def _find_referrers(plan: PlannedRename) -> list[LinkRewrite]:
    """Those to rewrite that stay where they are."""
    return [it for it in plan.seen if it.count and it.name not in plan.renaming.documents]


def _rename_fields(plan: PlannedRename, summary: EditSummary | None) -> dict[str, Json]:
    renamed: list[Json] = [
        {"fromDocName": old, "toDocName": new} for old, new in plan.renaming.documents.items()
    ]
    rewritten: list[Json] = [
        {"docName": plan.renaming.documents.get(it.name, it.name), "rewrites": it.count}
        for it in plan.seen
        if it.count
    ]
    fields: dict[str, Json] = {"ok": True, "renamed": renamed, "rewrittenDocs": rewritten}
    if plan.unwritable:
        # By their new names.
        fields["notRewritten"] = [plan.renaming.documents.get(it, it) for it in plan.unwritable]
    if stranded := sum(it.unresolved for it in plan.seen):
        fields["strandedLinks"] = stranded
        fields["stranded"] = [*_stranded_documents(plan)[:MAX_NAMED]]
    if summary is not None:
        fields["summary"] = summary.to_json()
    return fields


def _format_text(what: str, plan: PlannedRename) -> str:
    links = sum(it.count for it in plan.seen)
    count = len(plan.renaming.documents)
    text = f"{what} now: {count} documents moved, {links} links rewritten."
    if stranded := sum(it.unresolved for it in plan.seen):
        named = _name_some(_stranded_documents(plan))
        text += f" {stranded} links cannot name that place and are dead now: in {named}."
    if plan.unwritable:
        named = _name_some([plan.renaming.documents.get(it, it) for it in plan.unwritable])
        text += f" Links were left as they are where the file is not UTF-8: {named}."
    return text


def _format_rights(opened: OpenSpace, old: str, new: str) -> str:
    """Whoever publishes a document by moving it should know what is published. It says the same
    whoever may see the two places: that is not for everybody to know."""
    if not opened.space.is_trimmed or folder_of(old.rstrip("/")) == folder_of(new.rstrip("/")):
        return ""
    return f" Earlier versions stay under the rights of {old}."


def _stranded_documents(plan: PlannedRename) -> list[str]:
    """By their new names."""
    names = plan.renaming.documents
    return [names.get(it.name, it.name) for it in plan.seen if it.unresolved]


def _name_some(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _format_rules(rules: Mapping[str, Json]) -> str:
    for key, text in (
        ("updatedRules", "{} folder rules have the new name of their template."),
        ("staleRules", "{} folder rules have the old name of their template: set_folder_rule."),
    ):
        if isinstance(found := rules.get(key), list):
            return " " + text.format(len(found))
    return ""
