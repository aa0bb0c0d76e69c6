"""A channel to nobody: for callers who cannot be asked, and do not listen on the way."""

from collections.abc import Mapping

from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.tool.call import ClientInquiry, ClientReply


class NullChannel:
    """Progress and logs go nowhere; a question is refused rather than left hanging."""

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        return None

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        return None

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        raise Unprocessable("this client cannot be asked", questions=[*inquiries])

    async def detach(self) -> bool:
        return False


NULL_CHANNEL = NullChannel()
