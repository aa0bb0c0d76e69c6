"""Who comes in, and how: the bearer token of a request becomes a Caller, its headers a Visit."""

import math
import re
from ipaddress import IPv6Address, ip_network

from starlette.requests import HTTPConnection

from pecia.app.app import App
from pecia.app.corridor import Visit
from pecia.doors.http.arrival import arrival_of
from pecia.doors.http.proxy import parsed
from pecia.kernel.errors import AuthRequired, InvalidFormat, OutOfRange, PeciaError
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.limits import Limit, RateLimiter

TIMEOUT_HEADER = "X-Pecia-Timeout"

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/=-]+)")


class Doorkeeper:
    """Admits callers for every endpoint of this door, and for those that are hung into it."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._settings = app.settings.kernel
        rate = round(self._settings.address_rate_per_s * 1000)
        self._strangers = RateLimiter(Limit(rate, 1000, self._settings.address_burst))

    async def admit(
        self, connection: HTTPConnection, visit: Visit, *, scope: str | None = None
    ) -> Caller | Operator:
        """Who asks, or AuthRequired. `scope` is what the challenge then tells to come with."""
        try:
            return await self._admitted(connection, visit)
        except AuthRequired as error:
            fields = {"scope": scope} if scope else {}
            raise AuthRequired(error.message, **{**fields, **error.fields}) from error

    def visit(self, connection: HTTPConnection, door: str = "http") -> Visit:
        """How this request came in."""
        arrival = arrival_of(connection.scope)
        return Visit(
            door,
            client_ip=arrival.client_ip,
            request_id=arrival.request_id,
            timeout_s=self._timeout_s(connection.headers.get(TIMEOUT_HEADER)),
        )

    async def _admitted(self, connection: HTTPConnection, visit: Visit) -> Caller | Operator:
        given = bearer(connection)
        arrival = arrival_of(connection.scope)
        is_owner = self._settings.mode == "local" and arrival.is_local
        if given is None and not is_owner:
            self._strangers.take(_neighbourhood(visit.client_ip))
        try:
            if given is None and self._settings.mode == "local" and not is_owner:
                raise AuthRequired("a bearer token is required from outside this machine")
            who = await self._app.gate.admit(given)
        except PeciaError as error:
            if given is not None:
                # Before the denial is written down: a flood of guesses must not fill the audit.
                self._strangers.take(_neighbourhood(visit.client_ip))
            self._app.corridor.denied(error, visit)
            raise
        arrival.line.note(**_named(who))
        return who

    def _timeout_s(self, given: str | None) -> float | None:
        """The deadline that the caller asks for, in seconds."""
        if given is None:
            return None
        most = self._settings.request_timeout_max_s
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
        if math.isnan(seconds):
            raise InvalidFormat(
                f"{TIMEOUT_HEADER} is a number of seconds",
                field=TIMEOUT_HEADER,
                got=given[:100],
            )
        if not 0 < seconds <= most:
            raise OutOfRange(
                f"{TIMEOUT_HEADER} is more than 0 and at most {most:g} seconds",
                field=TIMEOUT_HEADER,
                min=0,
                max=most,
                got=given[:100],
            )
        return seconds


def bearer(connection: HTTPConnection) -> str | None:
    """The token of the request, None when it brings none; AuthRequired for any other scheme."""
    given = connection.headers.get("authorization")
    if given is None:
        return None
    found = _BEARER.fullmatch(given)
    if found is None:
        raise AuthRequired("the Authorization header is not `Bearer` and a token")
    return found[1]


def _neighbourhood(client_ip: str | None) -> str:
    """What counts as one address: of IPv6 everybody has a whole network to call from."""
    address = parsed(client_ip)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address)


def _named(who: Caller | Operator) -> dict[str, str]:
    if isinstance(who, Operator):
        return {"operator": who.label}
    return {"tenant": who.tenant, "user": who.user}
