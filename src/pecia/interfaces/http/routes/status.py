"""The whole install, for its owner or operator: queue, workers and problems of sources over all
tenants; keyword indexes; every setting and where its value came from."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App, index_root
from pecia.app.operator.health import load_install_status
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.endpoint import Handler
from pecia.interfaces.http.errors import json_response
from pecia.kernel.corpus.keyword.maintenance import IndexMaintenance
from pecia.kernel.errors import Forbidden
from pecia.kernel.identity.caller import CredentialKind, Operator
from pecia.kernel.settings.table import list_setting_rows


def status_handler(app: App, authenticator: HttpAuthenticator) -> Handler:
    """The state of the whole install. A tenant's administrators see their own part by tools."""

    async def answer(request: Request) -> Response:
        await _require_owner(app, authenticator, request)
        embedded = app.settings.kernel.database_url is None
        kind = "embedded" if embedded else "external"
        found = await load_install_status(app.store)
        return json_response({"database": {"kind": kind, "state": "running"}, **found})

    return answer


def settings_handler(app: App, authenticator: HttpAuthenticator) -> Handler:
    """What `pecia config` shows, of the running server. No secret's text."""

    async def answer(request: Request) -> Response:
        await _require_owner(app, authenticator, request)
        rows = [it.as_json() for it in list_setting_rows(app.settings)]
        return json_response({"settings": rows, "warnings": list(app.settings.warnings)})

    return answer


def indexes_handler(app: App, authenticator: HttpAuthenticator) -> Handler:
    """What `pecia index status` shows, of the running server; `?tenant=NAME` of one tenant."""

    async def answer(request: Request) -> Response:
        await _require_owner(app, authenticator, request)
        maintenance = IndexMaintenance(app.store, index_root(app.settings.kernel))
        tenants = await maintenance.list_tenants(request.query_params.get("tenant"))
        found = [asdict(await maintenance.status(it)) for it in tenants]
        return json_response({"indexes": [*found]})

    return answer


async def _require_owner(app: App, authenticator: HttpAuthenticator, request: Request) -> None:
    who = await authenticator.authenticate(request, authenticator.request_context(request))
    is_owner = (
        not isinstance(who, Operator)
        and who.kind is CredentialKind.LOCAL
        and app.settings.kernel.mode == "local"
    )
    if not (is_owner or isinstance(who, Operator)):
        raise Forbidden("this is for the owner or an operator of this install")
