"""The pages of documents, imported with the first request for one."""

from typing import TYPE_CHECKING

from starlette.routing import Route

from pecia.app.app import App
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.endpoint import HttpEndpoint
from pecia.kernel.on_demand import OnDemand

if TYPE_CHECKING:
    from pecia.interfaces.http.pages.document import DocumentHandler

READ_PATH = "/read"


def document_routes(app: App, authenticator: HttpAuthenticator) -> list[Route]:
    pages: OnDemand[DocumentHandler] = OnDemand(
        "pecia.interfaces.http.pages.document:DocumentHandler", app, authenticator
    )
    read = pages.handler(lambda it: it.handle)
    return [Route(f"{READ_PATH}/{{source}}/{{key:path}}", HttpEndpoint({"GET": read}))]
