"""The pages that rooms bring: authenticated, audited and refused like any tool call."""

from collections import defaultdict
from collections.abc import Mapping

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route as Path

from pecia.app.app import App
from pecia.app.corridor import Errand
from pecia.doors.http.endpoint import Endpoint, Handler
from pecia.doors.http.gone import unless_gone
from pecia.doors.http.visit import Doorkeeper
from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.room import Ask, Page, Route
from pecia.kernel.tool.call import Call

MAX_AUDITED = 500


def page_routes(app: App, keeper: Doorkeeper) -> list[Path]:
    """One path for each, with the methods that its routes name."""
    by_path: defaultdict[str, dict[str, Handler]] = defaultdict(dict)
    for room in app.rooms:
        for route in room.routes:
            by_path[route.path][route.method.upper()] = _handler(app, keeper, route)
    return [Path(path, Endpoint(handlers)) for path, handlers in by_path.items()]


def path_arguments(path: Mapping[str, str]) -> dict[str, Json]:
    """What the audit keeps of a path. The query may hold a signed link, and is not kept."""
    return {name: str(value)[:MAX_AUDITED] for name, value in path.items()}


def query_of(request: HTTPConnection) -> dict[str, str]:
    """What stands behind the question mark, each name once."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in found:
            raise InvalidInput(f'Field "{name}" came more than once', field=name, got="repeated")
        found[name] = value
    return found


def _handler(app: App, keeper: Doorkeeper, route: Route) -> Handler:
    async def answer(request: Request) -> Response:
        visit = keeper.visit(request)
        if route.public:
            who = await keeper.visitor(request, visit)
        else:
            who = await keeper.admit(request, visit, scope=Scope.READ.value)
        path = {name: str(value) for name, value in request.path_params.items()}
        query, body = query_of(request), await request.body()
        kept = path_arguments(path)
        errand = Errand(route.name, Scope.READ, route.public, kept, route.timeout_s)

        async def serve(call: Call) -> Page:
            return await route.serve(Ask(call, path, query, body))

        return _response(
            await unless_gone(request.receive, lambda: app.corridor.run(who, errand, visit, serve))
        )

    return answer


def _response(page: Page) -> Response:
    response = Response(page.body, page.status, media_type=page.content_type)
    for name, value in page.headers:
        response.headers.append(name, value)
    return response
