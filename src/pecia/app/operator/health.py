"""Health of a database: workers, queue, indexes, and a write-read round trip. For operators."""

from dataclasses import asdict, dataclass
from uuid import UUID, uuid4

from pecia.app.dispatch import Dispatcher, RequestContext
from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.keyword.lag import STALL_TIMEOUT_S
from pecia.kernel.corpus.vectors.embed_job import FULL_NAME as EMBED_JOB
from pecia.kernel.errors import InternalError, Json
from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind
from pecia.kernel.rate_limit import RateLimit, RateLimiter
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.tool.view import ToolView

SQL = load_queries("pecia.app.operator", "health.sql")
TENANTS = load_queries("pecia.app.operator", "tenants.sql")

HEARTBEAT_TIMEOUT_S = 12.0
"""A worker that has been silent for so long has lost its jobs to others."""
CALL_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class QueueHealth:
    """How many jobs wait, run and have failed, and how many workers are alive."""

    waiting: int
    running: int
    failed: int
    workers: int


async def load_queue_health(store: Store) -> QueueHealth:
    """The queue, over all tenants."""
    async with store.system() as tx:
        found = await tx.fetch_all_as(QueueHealth, SQL["queue"], silent_s=HEARTBEAT_TIMEOUT_S)
    return found[0]


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A source whose last crawl failed, or with files that could not be read."""

    tenant: str
    source_id: str
    failed: bool
    problem: str
    unread: int


async def list_source_problems(store: Store) -> list[SourceProblem]:
    """Those of all tenants, the failed ones first."""
    async with store.system() as tx:
        return await tx.fetch_all_as(SourceProblem, SQL["sources"])


async def load_install_status(store: Store) -> dict[str, Json]:
    """Workers, queue, and sources with problems."""
    queue = asdict(await load_queue_health(store))
    problems = await list_source_problems(store)
    return {
        "worker": {"alive": queue.pop("workers")},
        "queue": queue,
        "sources": {
            "failed": [f"{it.tenant}/{it.source_id}: {it.problem}" for it in problems if it.failed],
            "with_unread_files": [
                f"{it.tenant}/{it.source_id}: {it.unread}" for it in problems if it.unread
            ],
        },
    }


@dataclass(frozen=True, slots=True)
class IndexTrouble:
    """An index of a tenant that has commits to apply, and how long the oldest has waited. While a
    job embeds: how many of its files are done."""

    tenant: str
    kind: str
    commits: int
    waits_s: float
    is_running: bool
    done: int
    total: int


async def index_troubles(store: Store, node: str) -> list[IndexTrouble]:
    """The indexes of this node, and embeddings, that have waited longer than a busy one does."""
    async with store.system() as tx:
        found = await tx.fetch_all_as(
            IndexTrouble,
            SQL["index_lag"],
            node=node,
            embedding=changelog.EMBEDDING_NODE_PREFIX,
            embed_job=EMBED_JOB,
            silent_s=HEARTBEAT_TIMEOUT_S,
        )
    return [it for it in found if it.waits_s >= STALL_TIMEOUT_S]


@dataclass(frozen=True, slots=True)
class LockedSecret:
    """A secret or a source's credential, and the key that opens it."""

    tenant: str
    purpose: str
    name: str
    key_id: str
    of_source: bool


async def unopenable(store: Store, keyring: Keyring) -> list[LockedSecret]:
    """What is sealed with a key that this keyring lacks, of the purposes that it has keys for."""
    async with store.system() as tx:
        found = await tx.fetch_all_as(LockedSecret, SQL["sealed"])
    held = {it.value: keyring.keys(it).key_by_id for it in keyring.purposes}
    return [it for it in found if it.purpose in held and it.key_id not in held[it.purpose]]


async def check_round_trip(store: Store, audit_log: AuditLog, tools: ToolView) -> str:
    """Write, read and audit through the dispatcher, in a temporary tenant."""
    caller = await _temporary_caller(store)
    limiter = RateLimiter(RateLimit(1000, 1000, 100))
    dispatcher = Dispatcher(audit_log.spool, limiter, CALL_TIMEOUT_S)
    try:
        context = RequestContext("cli")
        await dispatcher.call(caller, tools, "admin.add_group", {"name": "checked"}, context)
        found = await dispatcher.call(caller, tools, "admin.list_groups", {}, context)
        if "checked" not in str(found.structured):
            raise InternalError("a group was written but not found again")
        await audit_log.drain()
        await _require_audited(store, caller.tenant_id)
        return "written, read back, audited"
    finally:
        async with store.system() as tx:
            await tx.execute(SQL["forget_tenant"], tenant_id=caller.tenant_id)


async def _temporary_caller(store: Store) -> Caller:
    name = f"doctor-{uuid4().hex[:12]}"
    async with store.system() as tx:
        tenant_id = await tx.fetch_value(TENANTS["create_tenant"], name=name)
        user_id = await tx.fetch_value(SQL["temporary_user"], tenant_id=tenant_id)
        credential_id = await tx.fetch_value(
            SQL["temporary_credential"],
            tenant_id=tenant_id,
            user_id=user_id,
            scopes=sorted(it.value for it in EVERY_SCOPE),
        )
    return Caller(
        credential_id=credential_id,
        kind=CredentialKind.LOCAL,
        tenant_id=tenant_id,
        tenant=name,
        user_id=user_id,
        user="doctor",
        scopes=EVERY_SCOPE,
        is_admin=True,
    )


async def _require_audited(store: Store, tenant_id: UUID) -> None:
    async with store.system() as tx:
        rows = await tx.fetch_value(SQL["audited"], tenant_id=tenant_id, tool="admin.add_group")
    if rows != 1:
        raise InternalError(f"one call left {rows} rows in the audit log")
