"""HTTP routes of features: authenticated, audited and refused like any tool call."""

from collections import defaultdict
from collections.abc import Mapping

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route as Path

from pecia.app.app import App
from pecia.app.dispatch import Operation
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.disconnect import cancel_on_disconnect
from pecia.interfaces.http.endpoint import Handler, HttpEndpoint
from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.feature import FeaturePage, FeatureRequest, FeatureRoute
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call

MAX_AUDITED_CHARS = 500


def page_routes(app: App, authenticator: HttpAuthenticator) -> list[Path]:
    """One endpoint per path, with the methods of its routes."""
    by_path: defaultdict[str, dict[str, Handler]] = defaultdict(dict)
    for feature in app.features:
        for route in feature.routes:
            by_path[route.path][route.method.upper()] = _handler(app, authenticator, route)
    return [Path(path, HttpEndpoint(handlers)) for path, handlers in by_path.items()]


def audit_path_arguments(path: Mapping[str, str]) -> dict[str, Json]:
    """What the audit log keeps of a path. The query may contain a signed link, and is not kept."""
    return {name: str(value)[:MAX_AUDITED_CHARS] for name, value in path.items()}


def query_parameters(request: HTTPConnection) -> dict[str, str]:
    """The query parameters, each name once."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in found:
            raise InvalidInput(f'Field "{name}" is repeated', field=name, got="repeated")
        found[name] = value
    return found


def _handler(app: App, authenticator: HttpAuthenticator, route: FeatureRoute) -> Handler:
    async def answer(request: Request) -> Response:
        context = authenticator.request_context(request)
        if route.public:
            who = await authenticator.authenticate_optional(request, context)
        else:
            who = await authenticator.authenticate(request, context, scope=Scope.READ.value)
        path = {name: str(value) for name, value in request.path_params.items()}
        query, body = query_parameters(request), await request.body()
        audited = audit_path_arguments(path)
        operation = Operation(route.name, Scope.READ, route.public, audited, route.timeout_s)

        async def serve(call: Call) -> FeaturePage:
            return await route.serve(FeatureRequest(call, path, query, body))

        return _response(
            await cancel_on_disconnect(
                request.receive, lambda: app.dispatcher.run(who, operation, context, serve)
            )
        )

    return answer


def _response(page: FeaturePage) -> Response:
    response = Response(page.body, page.status, media_type=page.content_type)
    for name, value in page.headers:
        response.headers.append(name, value)
    return response
