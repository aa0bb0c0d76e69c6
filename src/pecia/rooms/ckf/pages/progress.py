"""How far the work of a page is, for the page itself to ask. Kept in memory, and not for long.

Where several processes serve, a page may ask another one than its own, and is told nothing.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.room import Ask, Page
from pecia.kernel.tool.call import Call, Inquiry, Reply
from pecia.kernel.tool.quiet import QUIET

# The oldest go first: a page that left without asking must not be kept for ever.
KEPT = 1000


@dataclass(frozen=True, slots=True)
class Progress:
    done: float
    total: float | None
    message: str | None


class Works:
    """What is under way, by who asked for it and the name that their page gave it."""

    def __init__(self) -> None:
        self._by_name: OrderedDict[tuple[UUID, str], Progress] = OrderedDict()

    def heard(self, ask: Ask, name: str) -> Call:
        """The call of a page whose progress is written down; without a name, nobody asks for it."""
        if not name:
            return ask.call
        if not _NAME.fullmatch(name):
            raise InvalidFormat(
                'Field "progress" is a name of 8 to 64 letters, digits and hyphens',
                field="progress",
                got=name[:80],
            )
        return replace(ask.call, channel=_Heard(self, (ask.caller.credential_id, name)))

    async def show(self, ask: Ask) -> Page:
        """The newest progress as JSON; null when there is none."""
        found = self._by_name.get((ask.caller.credential_id, ask.path["name"]))
        told: Json = None
        if found:
            told = {"done": found.done, "total": found.total, "message": found.message}
        kept = (("cache-control", "no-store"),)
        return Page(orjson.dumps(told), "application/json", headers=kept)

    def note(self, key: tuple[UUID, str], progress: Progress) -> None:
        self._by_name[key] = progress
        self._by_name.move_to_end(key)
        while len(self._by_name) > KEPT:
            self._by_name.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Heard:
    """A channel that only hears progress."""

    works: Works
    key: tuple[UUID, str]

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.works.note(self.key, Progress(done, total, message))

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None:
        await QUIET.log(level, message, fields)

    async def inquire(self, inquiries: Mapping[str, Inquiry]) -> Mapping[str, Reply]:
        return await QUIET.inquire(inquiries)

    async def detach(self) -> bool:
        return False


_NAME = re.compile(r"[A-Za-z0-9-]{8,64}")
