"""What only a person does: say yes to what waits, and sign a browser in. None of it is a tool.

An agent has the tools, and a process of the owner's user is trusted with them. A yes takes more: a
token that the person has and their agents' requests do not show by themselves.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from pecia.app.app import App
from pecia.app.corridor import Errand
from pecia.app.local_owner import HOW_TO_GET_IN, LocalOwner
from pecia.doors.http.arguments import from_body
from pecia.doors.http.arrival import arrival_of
from pecia.doors.http.credential import bearer
from pecia.doors.http.endpoint import Endpoint
from pecia.doors.http.errors import as_json
from pecia.doors.http.tools import API
from pecia.doors.http.visit import Doorkeeper
from pecia.kernel.errors import AuthRequired, Forbidden, InvalidEnum, Json, NotFound
from pecia.kernel.identity.caller import Caller, CredentialKind, Operator, Scope
from pecia.kernel.tool.call import Call

CONFIRMATIONS = f"{API}/confirmations"
SESSION = f"{API}/session"
LINK = f"{SESSION}/link"
ANSWERS = ("confirm", "refuse")

T = TypeVar("T")


def person_paths(app: App, keeper: Doorkeeper) -> dict[str, ASGIApp]:
    """The paths that are known to the letter."""
    it = PersonDesk(app, keeper)
    return {
        CONFIRMATIONS: Endpoint({"GET": it.pending}),
        SESSION: Endpoint({"POST": it.sign_in}),
        LINK: Endpoint({"POST": it.make_link}),
    }


def person_routes(app: App, keeper: Doorkeeper) -> list[BaseRoute]:
    it = PersonDesk(app, keeper)
    return [Route(f"{CONFIRMATIONS}/{{id}}", Endpoint({"POST": it.answer}))]


@dataclass(frozen=True, slots=True)
class PersonDesk:
    """The handlers."""

    app: App
    keeper: Doorkeeper

    async def pending(self, request: Request) -> Response:
        """What waits for a yes in the tenant of an administrator."""
        who = await self._admin(request)

        async def read(call: Call) -> list[Json]:
            return [it.as_json() for it in await self.app.confirmations.pending(call.caller)]

        return as_json({"confirmations": await self._run(request, who, "pending", {}, read)})

    async def answer(self, request: Request) -> Response:
        """Yes or no to one of them."""
        who = await self._admin(request)
        self._require_token(request, who)
        given = (await from_body(request)).get("answer", "confirm")
        if given not in ANSWERS:
            allowed: list[Json] = [*ANSWERS]
            raise InvalidEnum(
                f'Field "answer" is one of {", ".join(ANSWERS)}', field="answer", allowed=allowed
            )
        name = str(request.path_params["id"])[:40]

        async def write(call: Call) -> None:
            waiting = self.app.confirmations
            await (waiting.confirm if given == "confirm" else waiting.refuse)(call.caller, name)

        facts: dict[str, Json] = {"confirmation": name}
        await self._run(request, who, str(given), facts, write)
        return as_json({"confirmation": name, "answer": given})

    async def make_link(self, request: Request) -> Response:
        """A link by which the owner's browser signs in, once."""
        owner = self._owner()
        who = await self._admin(request)
        self._require_token(request, who)

        async def write(call: Call) -> str:
            return owner.make_link()

        code = await self._run(request, who, "link", {}, write)
        base = arrival_of(request.scope).base_url
        return as_json({"code": code, "url": f"{base}/console/#/sign-in?code={code}"})

    async def sign_in(self, request: Request) -> Response:
        """The session of a browser that came by such a link. The code is all there is to show."""
        self.keeper.count(request)
        owner, code = self._owner(), str((await from_body(request)).get("code"))
        errand = Errand("session.sign_in", Scope.READ, public=True)

        async def write(call: Call) -> str:
            return owner.sign_in(code)

        visit = self.keeper.visit(request)
        return as_json({"token": await self.app.corridor.run(None, errand, visit, write)})

    async def _admin(self, request: Request) -> Caller:
        visit = self.keeper.visit(request)
        who = await self.keeper.admit(request, visit, scope=Scope.ADMIN.value)
        if isinstance(who, Operator) or not (who.is_admin and Scope.ADMIN in who.scopes):
            raise Forbidden("this is for administrators of a tenant", scope=Scope.ADMIN.value)
        return who

    def _require_token(self, request: Request, who: Caller) -> None:
        """On a machine of one's own the owner's user is not enough: an agent has that as well.

        Nor is a token that an agent could have made: there it is the owner's.
        """
        is_local = self.app.settings.kernel.mode == "local"
        if is_local and who.kind is not CredentialKind.LOCAL:
            raise Forbidden("only the owner of this install can say yes to this")
        if bearer(request) is None:
            raise AuthRequired(
                "a yes takes the owner's token: run `pecia confirm` in a terminal, or sign this "
                "browser in with the link of `pecia open`"
            )

    def _owner(self) -> LocalOwner:
        owner = self.app.gate.owner
        if owner is None:
            raise NotFound("this server has no owner who signs in by a link", hint=HOW_TO_GET_IN)
        return owner

    async def _run(
        self,
        request: Request,
        who: Caller,
        name: str,
        facts: dict[str, Json],
        work: Callable[[Call], Awaitable[T]],
    ) -> T:
        errand = Errand(f"confirmations.{name}", Scope.ADMIN, arguments=facts)
        return await self.app.corridor.run(who, errand, self.keeper.visit(request), work)
