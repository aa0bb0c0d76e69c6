"""Authentication of HTTP requests: token to Caller, headers to RequestContext."""

import math
from ipaddress import IPv6Address, ip_network

from starlette.requests import HTTPConnection

from pecia.app.app import App
from pecia.app.dispatch import DENIAL_ERRORS, RequestContext
from pecia.app.local_owner import SIGN_IN_HELP
from pecia.interfaces.http.auth.denial_throttle import DenialThrottle
from pecia.interfaces.http.middleware.proxy_headers import parse_address
from pecia.interfaces.http.request_info import (
    bearer_token,
    get_request_info,
    raw_authorization,
)
from pecia.kernel.errors import AuthRequired, InvalidFormat, Json, OutOfRange, PeciaError
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.rate_limit import RateLimit, RateLimiter

TIMEOUT_HEADER = "X-Pecia-Timeout"
# Arguments reach the logs of clients; a header need not.
MODEL_KEY_HEADER = "X-CKF-BYOK-Key"


class HttpAuthenticator:
    """Authenticates callers for every endpoint of the HTTP interface and its mounts."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._settings = app.settings.kernel
        self.is_local_install = self._settings.mode == "local"
        rate = max(1, round(self._settings.address_rate_per_s * 1000))
        limit = RateLimit(
            rate, 1000, self._settings.address_burst, setting="address_rate_per_s without a token"
        )
        self._address_limiter = RateLimiter(limit)
        self._denials = DenialThrottle()

    async def authenticate(
        self, connection: HTTPConnection, context: RequestContext, *, scope: str | None = None
    ) -> Caller | Operator:
        """The caller, or AuthRequired. `scope` is the scope named in the challenge."""
        try:
            return await self._authenticate(connection, context)
        except AuthRequired as error:
            fields = {"scope": scope} if scope else {}
            raise AuthRequired(error.message, **{**fields, **error.fields}) from error

    def request_context(
        self, connection: HTTPConnection, interface: str = "http"
    ) -> RequestContext:
        """The request context: interface, address, deadline, ids."""
        info = get_request_info(connection.scope)
        return RequestContext(
            interface,
            client_ip=info.client_ip,
            request_id=info.request_id,
            timeout_s=self._timeout_s(connection.headers.get(TIMEOUT_HEADER)),
            model_key=connection.headers.get(MODEL_KEY_HEADER),
        )

    async def authenticate_optional(
        self, connection: HTTPConnection, context: RequestContext
    ) -> Caller | Operator | None:
        """The caller of a public endpoint: the one the token names, or None."""
        if raw_authorization(connection) is not None:
            return await self.authenticate(connection, context)
        self.limit_address(connection)
        try:
            return await self._authenticate_without_token(connection)
        except AuthRequired:
            return None

    async def _authenticate(
        self, connection: HTTPConnection, context: RequestContext
    ) -> Caller | Operator:
        if raw_authorization(connection) is None:
            self.limit_address(connection)
        try:
            token = bearer_token(connection)
            who = await (
                self._app.authenticator.authenticate(token)
                if token
                else self._authenticate_without_token(connection)
            )
        except PeciaError as error:
            if raw_authorization(connection) is not None and isinstance(error, DENIAL_ERRORS):
                # Before the denial is audited: a flood of guesses must not fill the audit log.
                self.limit_address(connection)
            self._record_denial(error, context)
            raise
        get_request_info(connection.scope).log_line.note(**_log_fields(who))
        return who

    def _record_denial(self, error: PeciaError, context: RequestContext) -> None:
        unwritten = self._denials.admit(rate_limit_key(context.client_ip))
        if unwritten is not None:
            arguments: dict[str, Json] = {"unwritten_before": unwritten} if unwritten else {}
            self._app.dispatcher.record_denial(error, context, arguments)

    def is_owner(self, connection: HTTPConnection) -> bool:
        """Whether a request without a token is the owner's, by the process that sent it.

        A browser, an editor or a shell of the user who runs this server; nobody else on the
        machine, and nothing that another user's proxy or container forwards.
        """
        if not self.is_local_install or self._settings.owner_proof != "process":
            return False
        return get_request_info(connection.scope).is_of_same_user

    async def _authenticate_without_token(self, connection: HTTPConnection) -> Caller | Operator:
        """The caller of a request without a token: in local mode the owner, else nobody."""
        if self.is_local_install and not self.is_owner(connection):
            raise AuthRequired(SIGN_IN_HELP)
        return await self._app.authenticator.authenticate(None)

    def limit_address(self, connection: HTTPConnection) -> None:
        """Rate limit per address of requests without a valid token. The owner's are not counted."""
        if raw_authorization(connection) is not None or not self.is_owner(connection):
            self._address_limiter.take(rate_limit_key(get_request_info(connection.scope).client_ip))

    def _timeout_s(self, token: str | None) -> float | None:
        """The deadline that the caller requests, in seconds."""
        if token is None:
            return None
        maximum = self._settings.request_timeout_max_s
        try:
            seconds = float(token)
        except ValueError:
            seconds = math.nan
        if math.isnan(seconds):
            raise InvalidFormat(
                f"{TIMEOUT_HEADER} is a number of seconds",
                field=TIMEOUT_HEADER,
                got=token[:100],
            )
        if not 0 < seconds <= maximum:
            raise OutOfRange(
                f"{TIMEOUT_HEADER} is more than 0 and at most {maximum:g} seconds",
                field=TIMEOUT_HEADER,
                min=0,
                max=maximum,
                got=token[:100],
            )
        return seconds


def rate_limit_key(client_ip: str | None) -> str:
    """The rate limit key of an address. IPv6 by network: every client has a whole one."""
    address = parse_address(client_ip)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address)


def _log_fields(who: Caller | Operator) -> dict[str, str]:
    if isinstance(who, Operator):
        return {"operator": who.label}
    return {"tenant": who.tenant, "user": who.user}
