"""Progress of a page's work, polled by the page. In memory, short-lived.

With several processes, a poll may reach another one, and gets null.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.feature import FeaturePage, FeatureRequest
from pecia.kernel.tool.call import Call, ClientInquiry, ClientReply
from pecia.kernel.tool.null_channel import NULL_CHANNEL

# Oldest evicted first: abandoned pages must not accumulate.
MAX_ENTRIES = 1000


@dataclass(frozen=True, slots=True)
class PageProgress:
    done: float
    total: float | None
    message: str | None


class PageProgressLog:
    """Running work, by user and the page's name for it."""

    def __init__(self) -> None:
        self._by_name: OrderedDict[tuple[UUID, str], PageProgress] = OrderedDict()

    def open_call(self, ask: FeatureRequest, name: str) -> Call:
        """A call that records its progress under a name; without a name, it does not."""
        if not name:
            return ask.call
        if not _NAME.fullmatch(name):
            raise InvalidFormat(
                'Field "progress" is a name of 8 to 64 letters, digits and hyphens',
                field="progress",
                got=name[:80],
            )
        return replace(ask.call, channel=_ProgressChannel(self, (ask.caller.credential_id, name)))

    async def show(self, ask: FeatureRequest) -> FeaturePage:
        """The newest progress as JSON; null when there is none."""
        found = self._by_name.get((ask.caller.credential_id, ask.path["name"]))
        body: Json = None
        if found:
            body = {"done": found.done, "total": found.total, "message": found.message}
        kept = (("cache-control", "no-store"),)
        return FeaturePage(orjson.dumps(body), "application/json", headers=kept)

    def record(self, key: tuple[UUID, str], progress: PageProgress) -> None:
        self._by_name[key] = progress
        self._by_name.move_to_end(key)
        while len(self._by_name) > MAX_ENTRIES:
            self._by_name.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _ProgressChannel:
    """A channel that only records progress."""

    works: PageProgressLog
    key: tuple[UUID, str]

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.works.record(self.key, PageProgress(done, total, message))

    async def partial(self, found: Mapping[str, Json]) -> None:
        await NULL_CHANNEL.partial(found)

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        await NULL_CHANNEL.log(level, message, fields)

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        return await NULL_CHANNEL.inquire(inquiries)

    async def detach(self) -> bool:
        return False


_NAME = re.compile(r"[A-Za-z0-9-]{8,64}")
