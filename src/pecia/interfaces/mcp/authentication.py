"""Who comes to an endpoint, in both transports alike: admitted, and told what there is for them."""

from dataclasses import dataclass

from starlette.requests import Request

from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.auth.bearer import raw_authorization
from pecia.interfaces.mcp.request_context import McpRequestContext, set_request_context
from pecia.interfaces.mcp.server import McpServices
from pecia.interfaces.mcp.transport.session_settings import with_session_settings
from pecia.interfaces.mcp.views.endpoints import McpEndpoint
from pecia.interfaces.mcp.views.filter import parse_filter
from pecia.kernel.identity.caller import Caller, CredentialKind, Operator, Scope
from pecia.kernel.tool.dynamic_tools import NO_DYNAMIC_TOOLS

INTERFACE = "mcp"


@dataclass(frozen=True, slots=True)
class McpAuthenticator:
    """The entrance of one endpoint."""

    endpoint: McpEndpoint
    services: McpServices
    authenticator: HttpAuthenticator

    async def authenticate(self, request: Request) -> McpRequestContext:
        """The standing of a request, left in its scope for the handlers."""
        visit = self.authenticator.request_context(request, INTERFACE)
        who = await self.authenticator.authenticate(request, visit, scope=Scope.SEARCH.value)
        visit = with_session_settings(visit, request, self.services.app)
        offers = self.services.views
        wants = offers.cipher_options(self.endpoint, visit.session)
        shows_guests = offers.has_dynamic_tools(self.endpoint, wants)
        guests = (
            await self.services.app.dynamic_tools_for(who) if shows_guests else NO_DYNAMIC_TOOLS
        )
        offer = offers.get(self.endpoint, parse_filter(request.headers), guests, wants)
        here = McpRequestContext(who, visit, offer, may_confirm=self._may_confirm(request, who))
        set_request_context(request.scope, here)
        return here

    def _may_confirm(self, request: Request, who: Caller | Operator) -> bool:
        if self.services.app.settings.kernel.mode != "local":
            return True
        is_owner = isinstance(who, Caller) and who.kind is CredentialKind.LOCAL
        return is_owner and raw_authorization(request) is not None
