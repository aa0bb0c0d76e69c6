"""What the pages need, whoever looks: the library, sources, and what strangers may have done."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pecia.kernel.errors import AuthRequired, NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.limits import Limit, RateLimiter
from pecia.rooms.ckf.compiling import ReadSource
from pecia.rooms.ckf.library import Library

FetchDocument: TypeAlias = Callable[[str], Awaitable[bytes]]
"""The bytes at an address of the web, or an error that says why not."""

# A page is not told addresses, so all strangers share this. The door counts each of them besides.
STRANGERS = Limit(calls=600, per_s=3600, burst=60)


async def nothing_fetched(url: str) -> bytes:
    raise NotFound("this server fetches nothing from the web", url=url)


class Files(Protocol):
    """What there is to pick a source from, as a caller may see it. Both go on after a name."""

    async def sources(self, caller: Caller, after: str, limit: int) -> Sequence[str]: ...

    async def files(
        self, caller: Caller, source_id: str, after: str, limit: int
    ) -> Sequence[tuple[str, str]]:
        """Keys, each with its URI."""
        ...


@dataclass(frozen=True, slots=True)
class Outside:
    """What the pages have from outside the room, and whether strangers may use it."""

    is_open: bool = False
    fetch: FetchDocument = nothing_fetched
    files: Files | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    """Handed to every page."""

    library: Library
    read_source: ReadSource
    base_url: str
    outside: Outside
    strangers: RateLimiter = field(default_factory=lambda: RateLimiter(STRANGERS))

    def let_work(self, caller: Caller) -> None:
        """Refuse work for a stranger where the room is closed, or where there was too much of it.

        Showing what ships is no work.
        """
        if not caller.is_anonymous:
            return
        if not self.outside.is_open:
            raise AuthRequired("compiling here needs a bearer token")
        self.strangers.take("strangers")
