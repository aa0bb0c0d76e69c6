"""Authentication of MCP requests, the same in both HTTP transports: caller and endpoint view."""

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
    """Authentication for one endpoint."""

    endpoint: McpEndpoint
    services: McpServices
    authenticator: HttpAuthenticator

    async def authenticate(self, request: Request) -> McpRequestContext:
        """The context of a request, also put into its scope for the handlers."""
        context = self.authenticator.request_context(request, INTERFACE)
        who = await self.authenticator.authenticate(request, context, scope=Scope.SEARCH.value)
        context = with_session_settings(context, request, self.services.app)
        views = self.services.views
        options = views.cipher_options(self.endpoint, context.session)
        has_dynamic_tools = views.has_dynamic_tools(self.endpoint, options)
        dynamic_tools = (
            await self.services.app.dynamic_tools_for(who)
            if has_dynamic_tools
            else NO_DYNAMIC_TOOLS
        )
        view = views.get(self.endpoint, parse_filter(request.headers), dynamic_tools, options)
        here = McpRequestContext(who, context, view, may_confirm=self._may_confirm(request, who))
        set_request_context(request.scope, here)
        return here

    def _may_confirm(self, request: Request, who: Caller | Operator) -> bool:
        if self.services.app.settings.kernel.mode != "local":
            return True
        is_owner = isinstance(who, Caller) and who.kind is CredentialKind.LOCAL
        return is_owner and raw_authorization(request) is not None
