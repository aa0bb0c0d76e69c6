"""The settings of a space, read by anybody and changed by agents where they may."""

from collections.abc import Callable
from dataclasses import dataclass

from pecia.kernel.errors import Forbidden, InvalidInput, Json, StorageFull, Unavailable
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Text, Tool
from pecia.rooms.wiki.config import problem
from pecia.rooms.wiki.config.files import PROJECT_FILE
from pecia.rooms.wiki.config.merge import Files, Patched, applied, effective, patched, value_at
from pecia.rooms.wiki.config.problem import BadConfig
from pecia.rooms.wiki.config.rules import Upsert, upserted
from pecia.rooms.wiki.space import SQL, Space
from pecia.rooms.wiki.tools.reading import ROOM
from pecia.rooms.wiki.tools.shapes import (
    ConfigOut,
    ConfigSetOut,
    GetConfig,
    SetConfig,
    SetFolderRule,
)
from pecia.rooms.wiki.wiki import Wiki


@dataclass(frozen=True, slots=True)
class Configuring:
    """The handlers."""

    wiki: Wiki

    async def get_config(self, call: Call, ask: GetConfig) -> Result:
        """The settings that count now, all of them or the part at a path."""
        space = await self.wiki.space(call, ask.cwd, ask.space)
        found = await self.wiki.configs.effective(call, space)
        value, exists = value_at(found.config.shown(), tuple(ask.path or ()))
        told: dict[str, Json] = {"value": value, "exists": exists, "path": [*(ask.path or ())]}
        if found.warnings:
            told["warnings"] = [*found.warnings]
        return Result(told)

    async def set_config(self, call: Call, ask: SetConfig) -> Result:
        """Change settings that agents may: folders, mcp.tools.search.maxResults and
        mcp.tools.read_document.historyDepth. Where they are kept is decided here; a patch whose
        fields lie in two files is refused, with the scope of each."""
        space = await self.wiki.space(call, ask.cwd, ask.space)
        return await self._change(call, space, lambda files: patched(files, ask.patch), "patch")

    async def set_folder_rule(self, call: Call, ask: SetFolderRule) -> Result:
        """Add, replace or rename rules that give documents a title, description or tags by where
        they lie. All of them or none."""
        space = await self.wiki.space(call, ask.cwd, ask.space)
        wanted = [
            Upsert(it.match, it.frontmatter.model_dump(exclude_none=True), it.new_match)
            for it in ask.rules
        ]

        def change(files: Files) -> Patched:
            now = effective(Files(project=files.project)).config.folders
            rules = [it.model_dump(mode="json", exclude_none=True) for it in now]
            patch: dict[str, Json] = {"folders": upserted(rules, wanted)}
            return applied(files, patch, "project", [("folders",)])

        return await self._change(call, space, change, "rules")

    async def _change(
        self, call: Call, space: Space, change: Callable[[Files], Patched], field: str
    ) -> Result:
        try:
            done = await self._written(call, space, change)
        except BadConfig as error:
            return _refused(error, field)
        told: dict[str, Json] = {
            "ok": True,
            "applied": [*done.applied],
            "scope": done.scope,
            "path": PROJECT_FILE if done.scope == "project" else "~/" + PROJECT_FILE,
            "current": done.current.shown(),
        }
        said = f"Set {', '.join(done.applied)} in the {done.scope}'s settings."
        return Result({**told, "result": told}, (Text(said),))

    async def _written(
        self, call: Call, space: Space, change: Callable[[Files], Patched]
    ) -> Patched:
        async with self.wiki.store.writing(call.caller, call.trace) as tx:
            place = {"tenant_id": call.caller.tenant_id, "source_id": space.source_id}
            await tx.run(SQL["lock_space"], **place)
            was = await self.wiki.configs.read(tx, call.caller, space)
            done = change(was)
            if done.scope == "project":
                asked = {"source_id": space.source_id, "key": PROJECT_FILE}
                if not await tx.value(SQL["may_write"], **asked):
                    raise Forbidden("your role does not allow to change the space's settings")
            # Last, so that what the database refuses leaves the file alone.
            try:
                await self.wiki.configs.write(tx, call.caller, space, was, done)
            except (Unavailable, StorageFull, InvalidInput) as error:
                raise BadConfig(problem.write_error(error.message), error) from None
        return done


def configuring_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = Configuring(wiki)
    write = Scope.WRITE
    return (
        Tool(ROOM, "get_config", Scope.READ, GetConfig, ConfigOut, it.get_config, idempotent=True),
        Tool(
            ROOM,
            "set_config",
            write,
            SetConfig,
            ConfigSetOut,
            it.set_config,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            ROOM,
            "set_folder_rule",
            write,
            SetFolderRule,
            ConfigSetOut,
            it.set_folder_rule,
            read_only=False,
            idempotent=True,
        ),
    )


def _refused(error: BadConfig, field: str) -> Result:
    found = error.problem
    told: dict[str, Json] = {"ok": False, "error": found.value()}
    text = f"Error: [{found.code}] {found.message}\n{found.hint}"
    failure = error.failure or found.failure(field)
    return Result({**told, "result": told}, (Text(text),), is_error=True, failure=failure)
