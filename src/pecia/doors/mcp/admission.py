"""Who comes to an endpoint, in both transports alike: admitted, and told what there is for them."""

from dataclasses import dataclass

from starlette.requests import Request

from pecia.doors.http.credential import claimed
from pecia.doors.http.visit import Doorkeeper
from pecia.doors.mcp.endpoints import Endpoint
from pecia.doors.mcp.narrowing import narrowing
from pecia.doors.mcp.server import Parts
from pecia.doors.mcp.session import session_settings
from pecia.doors.mcp.standing import Standing, put
from pecia.kernel.identity.caller import Caller, CredentialKind, Operator, Scope
from pecia.kernel.tool.guests import NO_GUESTS

DOOR = "mcp"


@dataclass(frozen=True, slots=True)
class Admission:
    """The entrance of one endpoint."""

    endpoint: Endpoint
    parts: Parts
    keeper: Doorkeeper

    async def admit(self, request: Request) -> Standing:
        """The standing of a request, left in its scope for the handlers."""
        visit = self.keeper.visit(request, DOOR)
        who = await self.keeper.admit(request, visit, scope=Scope.SEARCH.value)
        visit = session_settings(visit, request, self.parts.app)
        offers = self.parts.offers
        wants = offers.wanted(self.endpoint, visit.session)
        shows_guests = offers.has_guests(self.endpoint, wants)
        guests = await self.parts.app.guests_of(who) if shows_guests else NO_GUESTS
        offer = offers.of(self.endpoint, narrowing(request.headers), guests, wants)
        here = Standing(who, visit, offer, may_confirm=self._may_confirm(request, who))
        put(request.scope, here)
        return here

    def _may_confirm(self, request: Request, who: Caller | Operator) -> bool:
        if self.parts.app.settings.kernel.mode != "local":
            return True
        is_owner = isinstance(who, Caller) and who.kind is CredentialKind.LOCAL
        return is_owner and claimed(request) is not None
