"""Confirmations and browser sign-in: only a person does these, so none of it is a tool.

An agent has the tools, and a process of the owner's user is trusted with them. A confirmation
needs more: a token that the person has and that their agents' requests do not send.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from pecia.app.app import App
from pecia.app.dispatch import Operation
from pecia.app.local_owner import SIGN_IN_HELP, LocalOwner
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.auth.session_cookie import (
    CSRF_HEADER,
    MAX_TOKEN_CHARS,
    clear_session,
    set_session,
)
from pecia.interfaces.http.endpoint import HttpEndpoint
from pecia.interfaces.http.errors import json_response
from pecia.interfaces.http.request_info import bearer_token, get_request_info
from pecia.interfaces.http.routes.arguments import arguments_from_body
from pecia.interfaces.http.routes.tools import API
from pecia.kernel.errors import AuthRequired, Forbidden, InvalidEnum, Json, NotFound, OutOfRange
from pecia.kernel.identity.caller import Caller, CredentialKind, Operator, Scope
from pecia.kernel.tool.call import Call

CONFIRMATIONS = f"{API}/confirmations"
SESSION = f"{API}/session"
SIGN_IN_LINK = f"{SESSION}/link"
ANSWERS = ("confirm", "refuse")

T = TypeVar("T")


def confirmation_paths(app: App, authenticator: HttpAuthenticator) -> dict[str, ASGIApp]:
    """The routes."""
    it = ConfirmationHandlers(app, authenticator)
    return {
        CONFIRMATIONS: HttpEndpoint({"GET": it.list_pending}),
        SESSION: HttpEndpoint({"POST": it.sign_in, "DELETE": it.sign_out}),
        SIGN_IN_LINK: HttpEndpoint({"POST": it.make_link}),
    }


def confirmation_routes(app: App, authenticator: HttpAuthenticator) -> list[BaseRoute]:
    it = ConfirmationHandlers(app, authenticator)
    return [Route(f"{CONFIRMATIONS}/{{id}}", HttpEndpoint({"POST": it.answer}))]


@dataclass(frozen=True, slots=True)
class ConfirmationHandlers:
    """The handlers."""

    app: App
    authenticator: HttpAuthenticator

    async def list_pending(self, request: Request) -> Response:
        """Pending confirmations in the tenant of an administrator."""
        who = await self._require_admin(request)

        async def read(call: Call) -> list[Json]:
            return [it.as_json() for it in await self.app.confirmations.list_pending(call.caller)]

        return json_response({"confirmations": await self._run(request, who, "pending", {}, read)})

    async def answer(self, request: Request) -> Response:
        """Confirm or refuse one of them."""
        who = await self._require_admin(request)
        require_owner_token(self.app, request, who)
        answer = (await arguments_from_body(request)).get("answer", "confirm")
        if answer not in ANSWERS:
            allowed: list[Json] = [*ANSWERS]
            raise InvalidEnum(
                f'Field "answer" is one of {", ".join(ANSWERS)}', field="answer", allowed=allowed
            )
        name = str(request.path_params["id"])[:40]

        async def write(call: Call) -> None:
            waiting = self.app.confirmations
            await (waiting.confirm if answer == "confirm" else waiting.refuse)(call.caller, name)

        facts: dict[str, Json] = {"confirmation": name}
        await self._run(request, who, str(answer), facts, write)
        return json_response({"confirmation": name, "answer": answer})

    async def make_link(self, request: Request) -> Response:
        """A one-time link by which the owner's browser signs in."""
        owner = self._local_owner()
        who = await self._require_admin(request)
        require_owner_token(self.app, request, who)

        async def write(call: Call) -> str:
            return owner.make_link()

        code = await self._run(request, who, "link", {}, write)
        base = get_request_info(request.scope).base_url
        return json_response({"code": code, "url": f"{base}/console/#/sign-in?code={code}"})

    async def sign_in(self, request: Request) -> Response:
        """Exchange the code of such a link, or a token, for a session of the browser.

        The code or token alone is the proof. A page gets a cookie, anything else the token of
        the session.
        """
        self.authenticator.limit_address(request)
        arguments = await arguments_from_body(request)
        operation = Operation("session.sign_in", Scope.READ, public=True)

        async def write(call: Call) -> str:
            return await self._session(arguments)

        context = self.authenticator.request_context(request)
        token = await self.app.dispatcher.run(None, operation, context, write)
        if request.headers.get(CSRF_HEADER) is None:
            return json_response({"token": token})
        response = json_response({"signed_in": True})
        set_session(response, get_request_info(request.scope).base_url, token)
        return response

    async def _session(self, arguments: dict[str, Json]) -> str:
        """The token of the session: one that was given and is valid, or the owner's."""
        token = arguments.get("token")
        if token is None:
            return await run_sync(self._local_owner().sign_in, str(arguments.get("code")))
        if not isinstance(token, str) or len(token) > MAX_TOKEN_CHARS:
            raise OutOfRange(
                f'Field "token" is at most {MAX_TOKEN_CHARS} characters long',
                field="token",
                max=MAX_TOKEN_CHARS,
            )
        await self.app.authenticator.authenticate(token)
        return token

    async def sign_out(self, request: Request) -> Response:
        """End the session of this browser in all its tabs; with `everywhere`, all the owner's."""
        arguments = await arguments_from_body(request)
        everywhere = arguments.get("everywhere") is True
        if everywhere:
            await self._require_admin(request)
        token = bearer_token(request)
        if (owner := self.app.authenticator.owner) is not None and token is not None:
            await run_sync(owner.sign_out, None if everywhere else token)
        response = json_response({"signed_in": False})
        clear_session(response, get_request_info(request.scope).base_url)
        return response

    async def _require_admin(self, request: Request) -> Caller:
        context = self.authenticator.request_context(request)
        who = await self.authenticator.authenticate(request, context, scope=Scope.ADMIN.value)
        if isinstance(who, Operator) or not (who.is_admin and Scope.ADMIN in who.scopes):
            raise Forbidden("this is for administrators of a tenant", scope=Scope.ADMIN.value)
        return who

    def _local_owner(self) -> LocalOwner:
        owner = self.app.authenticator.owner
        if owner is None:
            raise NotFound("this server has no owner who signs in by a link", hint=SIGN_IN_HELP)
        return owner

    async def _run(
        self,
        request: Request,
        who: Caller,
        name: str,
        facts: dict[str, Json],
        work: Callable[[Call], Awaitable[T]],
    ) -> T:
        operation = Operation(f"confirmations.{name}", Scope.ADMIN, arguments=facts)
        return await self.app.dispatcher.run(
            who, operation, self.authenticator.request_context(request), work
        )


def require_owner_token(app: App, request: Request, who: Caller) -> None:
    """In local mode running as the owner's user is not enough: an agent does so as well.

    Nor is a token that an agent could have made: it takes the owner's.
    """
    if app.settings.kernel.mode == "local" and who.kind is not CredentialKind.LOCAL:
        raise Forbidden("only the owner of this install can confirm this")
    if bearer_token(request) is None:
        raise AuthRequired(
            "this needs the owner's token: run `pecia confirm` in a terminal, or sign this "
            "browser in with the link of `pecia open`"
        )
