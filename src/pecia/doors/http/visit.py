"""Who comes in, and how: the bearer token of a request becomes a Caller, its headers a Visit."""

import math
from ipaddress import IPv6Address, ip_network

from starlette.requests import HTTPConnection

from pecia.app.app import App
from pecia.app.corridor import DENIALS, Visit
from pecia.app.local_owner import HOW_TO_GET_IN
from pecia.doors.http.arrival import arrival_of
from pecia.doors.http.credential import bearer, claimed
from pecia.doors.http.proxy import parsed
from pecia.kernel.errors import AuthRequired, InvalidFormat, OutOfRange, PeciaError
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.limits import Limit, RateLimiter

TIMEOUT_HEADER = "X-Pecia-Timeout"
# Arguments reach the logs of clients; a header need not.
KEY_HEADER = "X-CKF-BYOK-Key"


class Doorkeeper:
    """Admits callers for every endpoint of this door, and for those that are hung into it."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._settings = app.settings.kernel
        rate = max(1, round(self._settings.address_rate_per_s * 1000))
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
            model_key=connection.headers.get(KEY_HEADER),
        )

    async def visitor(self, connection: HTTPConnection, visit: Visit) -> Caller | Operator | None:
        """Who asks for something public: whom their token names, or nobody at all."""
        if claimed(connection) is not None:
            return await self.admit(connection, visit)
        self.count(connection)
        try:
            return await self._standing(connection)
        except AuthRequired:
            return None

    async def _admitted(self, connection: HTTPConnection, visit: Visit) -> Caller | Operator:
        if claimed(connection) is None:
            self.count(connection)
        try:
            given = bearer(connection)
            who = await (self._app.gate.admit(given) if given else self._standing(connection))
        except PeciaError as error:
            if claimed(connection) is not None and isinstance(error, DENIALS):
                # Before the denial is written down: a flood of guesses must not fill the audit.
                self.count(connection)
            self._app.corridor.denied(error, visit)
            raise
        arrival_of(connection.scope).line.note(**_named(who))
        return who

    def is_owner(self, connection: HTTPConnection) -> bool:
        """Whether a request without a token is the owner's, by the process that sent it.

        A browser, an editor or a shell of the user who runs this server; nobody else on the
        machine, and nothing that another user's proxy or container forwards.
        """
        if self._settings.mode != "local" or self._settings.owner_proof != "process":
            return False
        return arrival_of(connection.scope).is_of_same_user

    async def _standing(self, connection: HTTPConnection) -> Caller | Operator:
        """Whom a request without a token stands for; in local mode the owner or nobody."""
        if self._settings.mode == "local" and not self.is_owner(connection):
            raise AuthRequired(HOW_TO_GET_IN)
        return await self._app.gate.admit(None)

    def count(self, connection: HTTPConnection) -> None:
        """One more request of this address without a good token. The owner's are not counted."""
        if claimed(connection) is not None or not self.is_owner(connection):
            self._strangers.take(neighbourhood(arrival_of(connection.scope).client_ip))

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


def neighbourhood(client_ip: str | None) -> str:
    """What counts as one address: of IPv6 everybody has a whole network to call from."""
    address = parsed(client_ip)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address)


def _named(who: Caller | Operator) -> dict[str, str]:
    if isinstance(who, Operator):
        return {"operator": who.label}
    return {"tenant": who.tenant, "user": who.user}
