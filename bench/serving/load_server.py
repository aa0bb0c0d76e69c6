"""`python -m bench.serving.load_server HOME USERS FILES`: a server with tenants' limits as they
come, so many users and files, until stdin ends. Says `[port, [token, …]]` when it listens.
"""

import json
import sys
from pathlib import Path

import anyio
import anyio.to_thread

from bench.corpus_store import article
from bench.dispatcher import no_fetch
from pecia.app.app import SETTINGS, App, index_root, open_app, run_maintenance
from pecia.app.dispatch import RequestContext
from pecia.app.operator.session import OperatorSession
from pecia.app.operator.tenants import add_tenant
from pecia.interfaces.http.server import LOOP_OPTIONS, freeze_gc, serve_http
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import put_many
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.errors import Json, RateLimited
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.tool.model import ToolResult

CONTEXT = RequestContext("bench")
SOURCE = "reports"
BATCH = 200


async def main(home: Path, users: int, files: int) -> None:
    flags = {"home": str(home), "mode": "server", "log_level": "error"}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with (
        open_app(settings, fetch=no_fetch, report=lambda _: None) as app,
        anyio.create_task_group() as tasks,
    ):
        tokens = await filled(app, users, files)
        tasks.start_soon(run_maintenance, app)
        async with serve_http(app, host="127.0.0.1", port=0, mounts=[mount_mcp]) as where:
            freeze_gc()
            print(json.dumps([where.port, tokens]), flush=True)
            await anyio.to_thread.run_sync(sys.stdin.read)
        tasks.cancel_scope.cancel()


async def filled(app: App, users: int, files: int) -> list[str]:
    """A tenant with files that all its users see; their tokens."""
    made = await add_tenant(
        OperatorSession(app.store, app.audit_log, "bench"), "crowd", admin="ana", quotas={}
    )
    ana = await app.authenticate(made.token, CONTEXT)
    assert isinstance(ana, Caller)
    asked: dict[str, Json] = {"source_id": SOURCE, "protocol": "upload", "trim_mode": "open"}
    await app.call(ana, "add_source", asked, CONTEXT)
    for start in range(0, files, BATCH):
        batch = [
            (FileMetadata(SOURCE, f"{it}.md"), article(it)) for it in range(start, start + BATCH)
        ]
        async with app.store.system() as tx:
            await put_many(tx, batch, tenant_id=ana.tenant_id)
    root = index_root(app.settings.kernel)
    writer = await IndexWriter.acquire(app.store, "bench", root, ana.tenant_id)
    assert writer is not None
    await writer.rebuild()
    await writer.close()
    return [await token(app, ana, f"u{number}") for number in range(users)]


async def token(app: App, ana: Caller, name: str) -> str:
    await patient(app, ana, "admin.add_user", {"name": name})
    made = await patient(app, ana, "admin.make_token", {"label": "bench", "user": name})
    assert isinstance(made.structured, dict)
    return str(made.structured["token"])


async def patient(app: App, who: Caller, tool: str, arguments: dict[str, Json]) -> ToolResult:
    """One call, retried after the rate limit: the limits are those of any server."""
    while True:
        try:
            return await app.call(who, tool, arguments, CONTEXT)
        except RateLimited as error:
            await anyio.sleep(float(str(error.fields["retry_after_seconds"])))


if __name__ == "__main__":
    anyio.run(
        main, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), backend_options=LOOP_OPTIONS
    )
