"""Dependencies of the pages: library, sources, and limits for anonymous users."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pecia.features.ckf.library.library import PostLibrary
from pecia.features.ckf.model import ReadSource
from pecia.features.ckf.pages.progress import PageProgressLog
from pecia.features.ckf.tools.compile import ANONYMOUS_COMPILE_LIMIT
from pecia.features.ckf.tools.compile_llm import CompileLlmTool
from pecia.kernel.errors import AuthRequired, NotFound
from pecia.kernel.feature import FeatureRequest
from pecia.kernel.identity.caller import Caller
from pecia.kernel.rate_limit import RateLimiter

FetchDocument: TypeAlias = Callable[[str], Awaitable[bytes]]
"""Fetches a URL from the web, or raises with the reason."""

# By IP address, like the tool's.
ANONYMOUS_LIMIT = ANONYMOUS_COMPILE_LIMIT


async def refuse_fetch(url: str) -> bytes:
    raise NotFound(
        f"this server does not fetch from the web, so not {url[:200]}",
        url=url,
        hint="Download the package, and paste its text.",
    )


class SourcePicker(Protocol):
    """Sources and files visible to a caller. Both paginate by name."""

    async def sources(self, caller: Caller, after: str, limit: int) -> Sequence[str]: ...

    async def files(
        self, caller: Caller, source_id: str, after: str, limit: int
    ) -> Sequence[tuple[str, str]]:
        """Keys, each with its URI."""
        ...


@dataclass(frozen=True, slots=True)
class PageServices:
    """Services from outside the feature, and whether anonymous users may use them."""

    is_open: bool = False
    fetch: FetchDocument = refuse_fetch
    files: SourcePicker | None = None


@dataclass(frozen=True, slots=True)
class PageContext:
    """Passed to every page."""

    library: PostLibrary
    read_source: ReadSource
    base_url: str
    services: PageServices
    llm: CompileLlmTool | None = None
    anonymous_limiter: RateLimiter = field(default_factory=lambda: RateLimiter(ANONYMOUS_LIMIT))
    progress: PageProgressLog = field(default_factory=PageProgressLog)

    def require_may_work(self, ask: FeatureRequest) -> None:
        """Refuse work for anonymous users if not allowed, or over the rate limit.

        Showing what ships is free.
        """
        if not ask.caller.is_anonymous:
            return
        if not self.services.is_open:
            raise AuthRequired(
                "sign-in required",
                hint="Sign in at the start page, then come back in the same tab.",
            )
        self.anonymous_limiter.take(ask.call.trace.client_ip or "")
