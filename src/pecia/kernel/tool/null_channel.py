"""A channel without a client: for callers that take neither questions nor progress."""

from collections.abc import Mapping

from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.tool.call import ClientInquiry, ClientReply


class NullChannel:
    """Drops progress, partial results and logs; refuses questions."""

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        return None

    async def partial(self, found: Mapping[str, Json]) -> None:
        return None

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        return None

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        raise Unprocessable("this client cannot answer questions", questions=[*inquiries])

    async def detach(self) -> bool:
        return False


NULL_CHANNEL = NullChannel()
