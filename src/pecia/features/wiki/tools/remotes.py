"""Git remotes of spaces: set, looked at and synced by administrators."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from anyio.to_thread import run_sync
from pydantic import Field

from pecia.features.wiki.remote.core.authors import parse_author
from pecia.features.wiki.remote.jobs import SyncArguments, read_auto_sync
from pecia.features.wiki.remote.port import RemoteAddress, RemotePolicy
from pecia.features.wiki.remote.store import SQL
from pecia.features.wiki.space import Wiki
from pecia.kernel.errors import Forbidden, InvalidFormat, NotFound, list_hint
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.jobs.defer import defer
from pecia.kernel.jobs.job import Job
from pecia.kernel.jobs.status import JobState, list_jobs
from pecia.kernel.store.store import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.confirmation import ConfirmableAction, Confirmations, escape_unprintable
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

FEATURE = "admin"
DEFAULT_INTERVAL_S = 300
MAX_CONFLICTS = 100
NO_REMOTE = "pecia space remote NAME URL sets one"
SYNC_HINT = "it is queued; pecia space status {name} shows how it went"
NO_EFFECT = (
    "autoSync.enabled is true in .pecia/config.yml, but the space has no git remote, so nothing is "
    "synced: pecia space remote {name} URL"
)

SpaceNameField = Field(min_length=1, max_length=200, description="The name of a space.")


class SetRemote(Input):
    name: str = SpaceNameField
    url: str = Field(
        min_length=1,
        max_length=2000,
        description="https://HOST/PATH, ssh://USER@HOST/PATH, file:///PATH or an absolute path.",
    )
    branch: str | None = Field(
        default=None, min_length=1, max_length=200, description="Unset: the default branch."
    )
    mode: Literal["pull", "pull_and_push"] = Field(
        default="pull", description="Whether what is written here is pushed."
    )
    subfolder: str = Field(
        default="", max_length=1000, description="The folder of the repository with the files."
    )
    every_s: int = Field(
        default=DEFAULT_INTERVAL_S, ge=10, le=86_400, description="Seconds between two syncs."
    )
    authors: list[str] = Field(
        default=[],
        max_length=1000,
        description="Who is who in commits: USER=NAME <EMAIL>; * for all others.",
    )
    credential: str | None = Field(
        default=None,
        min_length=1,
        max_length=10_000,
        description="TOKEN, USER:TOKEN, or a private key for ssh. Stored sealed; unset: as it is.",
        json_schema_extra={"secret": True},
    )


class RemoteTarget(Input):
    name: str = SpaceNameField


class SyncSpace(Input):
    name: str = SpaceNameField
    allow_deletions: bool = Field(
        default=False,
        description="Also where more than half of the files are gone on one side.",
    )


class RemoteOut(Output):
    space: str
    url: str | None
    branch: str | None = None
    mode: str | None = None
    subfolder: str = ""
    every_s: int | None = None
    authors: list[str] = Field(default_factory=list[str])
    auto_sync: bool | None = None
    state: Literal["none", "waiting", "ok", "failing"]
    progress: str | None = Field(
        default=None, description="Of the sync under way: the step, and files done of how many."
    )
    problem: str | None = None
    failures: int = 0
    commit: str | None = None
    pulled: int = 0
    pushed: int = 0
    conflicts: list[str] = Field(default_factory=list[str])
    skipped: dict[str, str] = Field(default_factory=dict[str, str])
    tried_at: str | None = None
    synced_at: str | None = None
    next_at: str | None = None
    degraded: list[str] = Field(
        default_factory=list[str], description="What has no effect, and the next command."
    )


class SyncQueuedOut(Output):
    space: str
    job: int
    hint: str


@dataclass(frozen=True, slots=True)
class RemoteTools:
    """The handlers."""

    wiki: Wiki
    job: Job
    policy: RemotePolicy
    confirmations: Confirmations

    async def set_remote(self, call: Call, ask: SetRemote) -> RemoteOut:
        """Sync a space with a branch of a git repository from now on: pull, or pull and push.

        Commits of the repository become versions here, and what is written here becomes commits on
        top of its branch, never by force. Where both sides changed the same lines the local text
        stays and the conflict is shown: list_conflicts. Another URL, branch or subfolder begins
        anew.
        """
        for line in ask.authors:
            parse_author(line)
        is_owner = call.caller.kind is CredentialKind.LOCAL
        async with self.wiki.store.reading(call.caller) as tx:
            await _require_admin(tx)
            row = await _find_space(tx, ask.name)
        url, subfolder = _parse_url(ask.url), _parse_subfolder(ask.subfolder)
        address = RemoteAddress(
            call.caller.tenant_id,
            row["source_id"],
            url,
            ask.branch,
            confined=not is_owner,
            pushes=ask.mode == "pull_and_push",
        )
        await self.policy.require(address)
        if is_owner:
            await self._require_confirmation(call, ask, address)
        async with self.wiki.store.writing(call.caller, call.trace) as tx:
            await tx.execute(
                SQL["set_remote"],
                source_id=row["source_id"],
                url=url,
                branch=ask.branch,
                subfolder=subfolder,
                mode=ask.mode,
                every_s=ask.every_s,
                authors=ask.authors,
                confined=address.confined,
            )
            if ask.credential is not None:
                await self.policy.seal(tx, address, ask.credential)
            await defer(tx, self.job, SyncArguments(source_id=row["source_id"]))
        return await self._load(call, ask.name)

    async def remove_remote(self, call: Call, ask: RemoteTarget) -> RemoteOut:
        """Stop syncing a space. Its files, its history and the repository stay as they are; open
        conflicts are forgotten."""
        async with self.wiki.store.writing(call.caller, call.trace) as tx:
            await _require_admin(tx)
            row = await _find_space(tx, ask.name)
            if not await tx.fetch_value(SQL["drop_remote"], source_id=row["source_id"]):
                raise NotFound(f"the space {ask.name!r} has no remote", hint=NO_REMOTE)
            await self.policy.forget(tx, row["source_id"])
        return RemoteOut(space=ask.name, url=None, state="none")

    async def remote_status(self, call: Call, ask: RemoteTarget) -> RemoteOut:
        """The git remote of a space: settings, when it was synced last, what failed, which files
        were left out, and open conflicts."""
        return await self._load(call, ask.name)

    async def sync_space(self, call: Call, ask: SyncSpace) -> SyncQueuedOut:
        """Queue a sync of a space with its remote, which begins at once: a job. The answer does not
        wait for it; space_remote_status shows how it went."""
        async with self.wiki.store.writing(call.caller, call.trace) as tx:
            await _require_admin(tx)
            row = await _find_space(tx, ask.name)
            where = {"source_id": row["source_id"]}
            if await tx.fetch_optional(SQL["my_remote"], **where) is None:
                raise NotFound(f"the space {ask.name!r} has no remote", hint=NO_REMOTE)
            if ask.allow_deletions:
                await tx.execute(SQL["allow_deletions"], **where)
            number = await defer(tx, self.job, SyncArguments(source_id=row["source_id"]))
        hint = SYNC_HINT.format(name=ask.name)
        return SyncQueuedOut(space=ask.name, job=number, hint=hint)

    async def _load(self, call: Call, name: str) -> RemoteOut:
        async with self.wiki.store.reading(call.caller) as tx:
            await _require_admin(tx)
            space = await _find_space(tx, name)
            where = {"source_id": space["source_id"]}
            row = await tx.fetch_optional(SQL["my_remote"], **where)
            held = await tx.fetch_all(
                SQL["my_conflicts"], **where, key=None, after=None, limit=MAX_CONFLICTS
            )
            running = await list_jobs(tx, status="running", name=self.job.full_name)
        wish = await run_sync(read_auto_sync, Path(space["folder"]))
        if row is None:
            useless = [NO_EFFECT.format(name=name)] if wish else []
            return RemoteOut(space=name, url=None, auto_sync=wish, state="none", degraded=useless)
        is_on = wish is not False
        return RemoteOut(
            space=name,
            url=row["url"],
            branch=row["branch"],
            mode=row["mode"],
            subfolder=row["subfolder"],
            every_s=row["every_s"],
            authors=row["authors"],
            auto_sync=is_on,
            state=_state(row),
            progress=_format_progress([it for it in running if it.key == space["source_id"]]),
            problem=row["problem"],
            failures=row["failures"],
            commit=row["tip"],
            pulled=row["pulled"],
            pushed=row["pushed"],
            conflicts=[it["key"] for it in held],
            skipped=row["skipped"],
            tried_at=_time(row["tried_at"]),
            synced_at=_time(row["synced_at"]),
            next_at=_time(row["due_at"]) if is_on else None,
        )

    async def _require_confirmation(
        self, call: Call, ask: SetRemote, address: RemoteAddress
    ) -> None:
        """Agents act in the owner's name, so the owner confirms where documents are sent to."""
        what = "send its documents to" if ask.mode == "pull_and_push" else "read documents from"
        question = (
            f"Sync the space {escape_unprintable(ask.name)} with this git repository, and {what} "
            f"it?\n\n{escape_unprintable(address.url)}"
        )
        facts = {**ask.model_dump(mode="json", exclude={"credential"}), "url": address.url}
        await self.confirmations.require(call, ConfirmableAction("remote", question, facts))


def remote_tools(
    wiki: Wiki, job: Job, policy: RemotePolicy, confirmations: Confirmations
) -> tuple[AnyTool, ...]:
    it = RemoteTools(wiki, job, policy, confirmations)
    admin = Scope.ADMIN
    return (
        Tool(
            FEATURE,
            "set_space_remote",
            admin,
            SetRemote,
            RemoteOut,
            it.set_remote,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "remove_space_remote",
            admin,
            RemoteTarget,
            RemoteOut,
            it.remove_remote,
            read_only=False,
            destructive=True,
        ),
        Tool(FEATURE, "space_remote_status", admin, RemoteTarget, RemoteOut, it.remote_status),
        Tool(
            FEATURE,
            "sync_space",
            admin,
            SyncSpace,
            SyncQueuedOut,
            it.sync_space,
            read_only=False,
            idempotent=True,
        ),
    )


async def _require_admin(tx: Transaction) -> None:
    if not await tx.fetch_value(SQL["may_administer"]):
        raise Forbidden("only administrators see and set the remote of a space")


async def _find_space(tx: Transaction, name: str) -> dict[str, Any]:
    row = await tx.fetch_optional(SQL["space"], name=name)
    if row is None:
        raise NotFound(f"no space {name!r}", field="name", hint=list_hint("pecia space list"))
    return row


def _parse_url(text: str) -> str:
    """A plain path is a file URL. The rest is checked as the URL of a source is."""
    return f"file://{quote(text)}" if text.startswith("/") else text


def _parse_subfolder(text: str) -> str:
    parts = [it for it in text.split("/") if it not in ("", ".")]
    if ".." in parts or "\\" in text or not text.isprintable():
        raise InvalidFormat(
            'Field "subfolder" must be a path in the repository, without ..',
            field="subfolder",
            got=text[:200],
            expected="a relative path",
        )
    return "/".join(parts)


def _state(row: dict[str, Any]) -> Literal["waiting", "ok", "failing"]:
    if row["problem"] is not None:
        return "failing"
    return "waiting" if row["synced_at"] is None else "ok"


def _format_progress(running: Sequence[JobState]) -> str | None:
    for it in running:
        count = "" if it.total is None else f": {it.done or 0:,.0f} of {it.total:,.0f}"
        return f"{it.message or 'starting'}{count}"
    return None


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")
