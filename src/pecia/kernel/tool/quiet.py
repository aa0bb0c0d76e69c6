"""A channel to nobody: for callers who cannot be asked, and do not listen on the way."""

from collections.abc import Mapping, Sequence

from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.tool.call import Question, Reply


class Quiet:
    """Progress and logs go nowhere; a question is refused rather than left hanging."""

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        return None

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        return None

    async def ask(self, key: str, question: Question) -> Reply:
        raise Unprocessable(f"this client cannot be asked: {question.message}", question=key)

    async def sample(self, messages: Sequence[Mapping[str, Json]], max_tokens: int) -> str:
        raise Unprocessable("this client lends no model")


QUIET = Quiet()
