"""Backups over HTTP, for the owner of a local install: they hold every tenant.

A browser downloads by a link that works once: a link cannot carry the header without which the
session cookie does not count.
"""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ASGIScope

from pecia.app.app import App
from pecia.app.dispatch import Operation
from pecia.app.operator.backups import Backups, backup_folder
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.endpoint import HttpEndpoint
from pecia.interfaces.http.errors import json_response
from pecia.interfaces.http.routes.confirmations import require_owner_token
from pecia.interfaces.http.routes.tools import API
from pecia.kernel.errors import Forbidden, Json
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.tool.call import Call

BACKUPS = f"{API}/backups"


class WholeFile(FileResponse):
    """A file, always all of it: a part would spend the link that the rest needs."""

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        headers = [it for it in scope["headers"] if it[0].lower() != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


def backup_paths(handlers: "BackupHandlers") -> dict[str, ASGIApp]:
    return {BACKUPS: HttpEndpoint({"GET": handlers.list_all, "POST": handlers.start})}


def backup_routes(handlers: "BackupHandlers") -> list[BaseRoute]:
    one = HttpEndpoint({"POST": handlers.link, "GET": handlers.download})
    return [Route(f"{BACKUPS}/{{name}}", one)]


@dataclass(frozen=True, slots=True)
class BackupHandlers:
    """The handlers."""

    app: App
    authenticator: HttpAuthenticator
    backups: Backups

    async def list_all(self, request: Request) -> Response:
        who = await self._require_owner(request)

        async def read(call: Call) -> dict[str, Json]:
            files: list[Json] = [*self.backups.list_files()]
            latest = self.backups.latest
            folder = str(backup_folder(self.app.settings.kernel))
            return {
                "backups": files,
                "latest": latest.as_json() if latest else None,
                "folder": folder,
            }

        operation = Operation("backups.list", Scope.ADMIN)
        context = self.authenticator.request_context(request)
        return json_response(await self.app.dispatcher.run(who, operation, context, read))

    async def start(self, request: Request) -> Response:
        who = await self._require_owner(request)
        require_owner_token(self.app, request, who)

        async def write(call: Call) -> dict[str, Json]:
            return self.backups.start().as_json()

        operation = Operation("backups.start", Scope.ADMIN)
        context = self.authenticator.request_context(request)
        return json_response(await self.app.dispatcher.run(who, operation, context, write), 202)

    async def link(self, request: Request) -> Response:
        """An address that downloads this backup, once and within a minute."""
        who = await self._require_owner(request)
        require_owner_token(self.app, request, who)
        name = str(request.path_params["name"])

        async def write(call: Call) -> str:
            return self.backups.make_link(name)

        operation = Operation("backups.link", Scope.ADMIN, arguments={"name": name[:80]})
        context = self.authenticator.request_context(request)
        code = await self.app.dispatcher.run(who, operation, context, write)
        return json_response({"url": f"{BACKUPS}/{name}?code={code}"})

    async def download(self, request: Request) -> Response:
        """The file. The code alone is the proof."""
        self.authenticator.limit_address(request)
        name = str(request.path_params["name"])
        operation = Operation(
            "backups.download", Scope.ADMIN, public=True, arguments={"name": name[:80]}
        )

        async def read(call: Call) -> Response:
            # Who only looks, as link checkers and download programs do first, spends nothing.
            get = self.backups.look if request.method == "HEAD" else self.backups.take
            path = get(name, request.query_params.get("code", ""))
            headers = {"cache-control": "no-store", "accept-ranges": "none"}
            return WholeFile(path, media_type="application/zip", filename=name, headers=headers)

        context = self.authenticator.request_context(request)
        return await self.app.dispatcher.run(None, operation, context, read)

    async def _require_owner(self, request: Request) -> Caller:
        context = self.authenticator.request_context(request)
        who = await self.authenticator.authenticate(request, context, scope=Scope.ADMIN.value)
        is_local = self.app.settings.kernel.mode == "local"
        if not isinstance(who, Caller) or not (is_local and who.is_admin):
            raise Forbidden(
                "a backup holds every tenant: it is for the owner of a local install; on a "
                "server its operator runs `pecia backup`"
            )
        return who
