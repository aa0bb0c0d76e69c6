"""What the pages need, whoever looks: the library, sources, and what strangers may have done."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pecia.kernel.errors import AuthRequired, NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.limits import RateLimiter
from pecia.kernel.room import Ask
from pecia.rooms.ckf.compiling import ANONYMOUS_COMPILES, ReadSource
from pecia.rooms.ckf.library import Library
from pecia.rooms.ckf.llm.tool import CompilingLlm
from pecia.rooms.ckf.pages.progress import Works

FetchDocument: TypeAlias = Callable[[str], Awaitable[bytes]]
"""The bytes at an address of the web, or an error that says why not."""

# By address, as the tool has it.
STRANGERS = ANONYMOUS_COMPILES


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
    llm: CompilingLlm | None = None
    strangers: RateLimiter = field(default_factory=lambda: RateLimiter(STRANGERS))
    works: Works = field(default_factory=Works)

    def let_work(self, ask: Ask) -> None:
        """Refuse work for a stranger where the room is closed, or where there was too much of it.

        Showing what ships is no work.
        """
        if not ask.caller.is_anonymous:
            return
        if not self.outside.is_open:
            raise AuthRequired(
                "this needs a sign-in",
                hint="Sign in at the start page, then come back in the same tab.",
            )
        self.strangers.take(ask.call.trace.client_ip or "")
