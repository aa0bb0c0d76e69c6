"""The pages of this door, for people: what the server is, and which tools it has."""

from collections.abc import Sequence
from html import escape

from starlette.requests import Request
from starlette.responses import Response

from pecia import __version__
from pecia.app.app import App
from pecia.doors.http.endpoint import Handler
from pecia.doors.http.page import Markup, page
from pecia.doors.http.tools import API, path_of, takes_get
from pecia.kernel.tool.model import AnyTool

LINKS = {
    f"{API}/docs": "The tools of the API",
    f"{API}/openapi.json": "The same for machines",
    "/healthz": "Whether the process is up",
    "/readyz": "Whether it is fit to serve",
}


def home_page(app: App) -> Handler:
    """What this is. It names nobody, because it does not know who looks."""
    links = "".join(f'<li><a href="{path}">{escape(it)}</a></li>' for path, it in LINKS.items())
    shown = page(
        "Pecia",
        [
            f"Version {__version__}, {app.settings.kernel.mode} mode.",
            Markup(f"<ul>{links}</ul>"),
        ],
    )
    return _always(shown)


def docs_page(app: App) -> Handler:
    """Every tool with its path, scope and description."""
    tools = sorted(app.everything.tools.values(), key=path_of)
    return _always(page("The tools of this server", [_introduction(), Markup(_list(tools))]))


def _introduction() -> str:
    return (
        "POST a JSON object to a path; where GET is named too, arguments may stand in the query. "
        "The token goes in the Authorization header, as Bearer."
    )


def _list(tools: Sequence[AnyTool]) -> str:
    entries = (
        f"<dt><code>{'GET, POST' if takes_get(it) else 'POST'} {escape(path_of(it))}</code></dt>"
        f"<dd>{escape(it.description)} <em>{escape(it.scope.value)}</em></dd>"
        for it in tools
    )
    return f"<dl>{''.join(entries)}</dl>"


def _always(shown: Response) -> Handler:
    """The same page for everybody: it is made once."""

    async def answer(request: Request) -> Response:
        return Response(shown.body, 200, shown.headers)

    return answer
