"""The settings of a space: read by anybody, changed by agents where allowed."""

from collections.abc import Callable
from dataclasses import dataclass

from pecia.features.wiki.config import problem
from pecia.features.wiki.config.files import PROJECT_FILE
from pecia.features.wiki.config.folder_rules import FolderRuleUpsert, upsert_rules
from pecia.features.wiki.config.merge import (
    ConfigPatch,
    ConfigTexts,
    apply_patch,
    merge_config,
    patch_config,
    value_at,
)
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.core.names import parse_document_name
from pecia.features.wiki.space import Wiki
from pecia.features.wiki.store import SQL, Space
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.schemas import (
    ConfigOut,
    ConfigSetOut,
    GetConfig,
    SetConfig,
    SetFolderRule,
)
from pecia.kernel.errors import Forbidden, InvalidInput, Json, StorageFull, Unavailable
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult


@dataclass(frozen=True, slots=True)
class ConfigTools:
    """The handlers."""

    wiki: Wiki

    async def get_config(self, call: Call, ask: GetConfig) -> ToolResult:
        """The effective settings, all of them or the part at a path."""
        space = await self.wiki.resolve_space(call, ask.cwd, ask.space)
        found = await self.wiki.configs.load_effective(call, space)
        value, exists = value_at(found.config.to_json(), tuple(ask.path or ()))
        fields: dict[str, Json] = {"value": value, "exists": exists, "path": [*(ask.path or ())]}
        if found.warnings:
            fields["warnings"] = [*found.warnings]
        return ToolResult(fields)

    async def set_config(self, call: Call, ask: SetConfig) -> ToolResult:
        """Change settings that agents may: folders, mcp.tools.search.maxResults and
        mcp.tools.read_document.historyDepth. Where they are kept is decided here; a patch whose
        fields lie in two files is refused, with the scope of each."""
        space = await self.wiki.resolve_space(call, ask.cwd, ask.space)
        return await self._change(
            call, space, lambda files: patch_config(files, ask.patch), "patch"
        )

    async def set_folder_rule(self, call: Call, ask: SetFolderRule) -> ToolResult:
        """Add, replace or rename rules that give documents a title, description, tags or a
        template by where they lie. All of them or none."""
        space = await self.wiki.resolve_space(call, ask.cwd, ask.space)
        wanted = [
            FolderRuleUpsert(
                it.match,
                it.frontmatter.model_dump(exclude_none=True),
                it.new_match,
                None if it.template is None else it.template and parse_document_name(it.template),
            )
            for it in ask.rules
        ]

        def change(files: ConfigTexts) -> ConfigPatch:
            now = merge_config(ConfigTexts(project=files.project)).config.folders
            rules = [it.model_dump(mode="json", exclude_none=True) for it in now]
            patch: dict[str, Json] = {"folders": upsert_rules(rules, wanted)}
            return apply_patch(files, patch, "project", [("folders",)])

        return await self._change(call, space, change, "rules")

    async def _change(
        self, call: Call, space: Space, change: Callable[[ConfigTexts], ConfigPatch], field: str
    ) -> ToolResult:
        try:
            done = await write_config_patch(self.wiki, call, space, change)
        except InvalidConfig as error:
            return _problem_result(error, field)
        fields: dict[str, Json] = {
            "ok": True,
            "applied": [*done.applied],
            "scope": done.scope,
            "path": PROJECT_FILE if done.scope == "project" else "~/" + PROJECT_FILE,
            "current": done.current.to_json(),
        }
        text = f"Set {', '.join(done.applied)} in the {done.scope}'s settings."
        return ToolResult({**fields, "result": fields}, (TextContent(text),))


async def write_config_patch(
    wiki: Wiki, call: Call, space: Space, change: Callable[[ConfigTexts], ConfigPatch]
) -> ConfigPatch:
    """Change one of the files under the lock of the space."""
    async with wiki.store.writing(call.caller, call.trace) as tx:
        place = {"tenant_id": call.caller.tenant_id, "source_id": space.source_id}
        await tx.execute(SQL["lock_space"], **place)
        was = await wiki.configs.read(tx, call.caller, space)
        done = change(was)
        if done.scope == "project":
            asked = {"source_id": space.source_id, "key": PROJECT_FILE}
            if not await tx.fetch_value(SQL["may_write"], **asked):
                raise Forbidden(
                    f"your role does not allow changing the settings of the space {space.name!r}"
                )
        # Last, so that the file is untouched if the database refuses.
        try:
            await wiki.configs.write(tx, call.caller, space, was, done)
        except (Unavailable, StorageFull, InvalidInput) as error:
            raise InvalidConfig(problem.write_error(error.message), error) from None
    return done


def config_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = ConfigTools(wiki)
    write = Scope.WRITE
    return (
        Tool(
            FEATURE, "get_config", Scope.READ, GetConfig, ConfigOut, it.get_config, idempotent=True
        ),
        Tool(
            FEATURE,
            "set_config",
            write,
            SetConfig,
            ConfigSetOut,
            it.set_config,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "set_folder_rule",
            write,
            SetFolderRule,
            ConfigSetOut,
            it.set_folder_rule,
            read_only=False,
            idempotent=True,
        ),
    )


def _problem_result(error: InvalidConfig, field: str) -> ToolResult:
    found = error.problem
    fields: dict[str, Json] = {"ok": False, "error": found.to_json()}
    text = f"Error: [{found.code}] {found.message}\n{found.hint}"
    failure = error.failure or found.failure(field)
    return ToolResult(
        {**fields, "result": fields}, (TextContent(text),), is_error=True, failure=failure
    )
