"""What the pages need, whoever looks: the library, sources, and what strangers may have done."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pecia.features.ckf.library.library import PostLibrary
from pecia.features.ckf.pages.progress import PageProgressLog
from pecia.features.ckf.tools.compile import ANONYMOUS_COMPILE_LIMIT, ReadSource
from pecia.features.ckf.tools.compile_llm import CompileLlmTool
from pecia.kernel.errors import AuthRequired, NotFound
from pecia.kernel.feature import FeatureRequest
from pecia.kernel.identity.caller import Caller
from pecia.kernel.rate_limit import RateLimiter

FetchDocument: TypeAlias = Callable[[str], Awaitable[bytes]]
"""The bytes at an address of the web, or an error that says why not."""

# By address, as the tool has it.
ANONYMOUS_LIMIT = ANONYMOUS_COMPILE_LIMIT


async def refuse_fetch(url: str) -> bytes:
    raise NotFound("this server fetches nothing from the web", url=url)


class SourcePicker(Protocol):
    """What there is to pick a source from, as a caller may see it. Both go on after a name."""

    async def sources(self, caller: Caller, after: str, limit: int) -> Sequence[str]: ...

    async def files(
        self, caller: Caller, source_id: str, after: str, limit: int
    ) -> Sequence[tuple[str, str]]:
        """Keys, each with its URI."""
        ...


@dataclass(frozen=True, slots=True)
class PageServices:
    """What the pages have from outside the room, and whether strangers may use it."""

    is_open: bool = False
    fetch: FetchDocument = refuse_fetch
    files: SourcePicker | None = None


@dataclass(frozen=True, slots=True)
class PageContext:
    """Handed to every page."""

    library: PostLibrary
    read_source: ReadSource
    base_url: str
    services: PageServices
    llm: CompileLlmTool | None = None
    anonymous_limiter: RateLimiter = field(default_factory=lambda: RateLimiter(ANONYMOUS_LIMIT))
    progress: PageProgressLog = field(default_factory=PageProgressLog)

    def require_may_work(self, ask: FeatureRequest) -> None:
        """Refuse work for a stranger where the room is closed, or where there was too much of it.

        Showing what ships is no work.
        """
        if not ask.caller.is_anonymous:
            return
        if not self.services.is_open:
            raise AuthRequired(
                "this needs a sign-in",
                hint="Sign in at the start page, then come back in the same tab.",
            )
        self.anonymous_limiter.take(ask.call.trace.client_ip or "")
