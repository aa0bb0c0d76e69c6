"""Files that people send: the only ones whose bytes are kept, because nobody could give them again.

The tools stand in the office beside those over sources; the place is crawled like any other.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from anyio.to_thread import run_sync
from pydantic import Field

from pecia.kernel.corpus import catalog
from pecia.kernel.corpus.connector import (
    LONGEST_KEY_BYTES,
    Listed,
    Original,
    Seen,
    is_keepable,
)
from pecia.kernel.errors import InvalidFormat, InvalidInput, NotFound, PayloadTooLarge
from pecia.kernel.identity.caller import Scope
from pecia.kernel.jobs.defer import defer
from pecia.kernel.jobs.job import Job
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.lake.crawl import OfSource
from pecia.rooms.lake.names import Key, SourceId

SQL = load_queries("pecia.rooms.lake", "uploads.sql")
ROOM = "office"
PAGE = 500
MOST_BYTES = 100_000_000


class UploadFile(Input):
    source_id: SourceId
    key: Key = Field(description="Its path in the source.")
    content: str = Field(max_length=2 * MOST_BYTES, description="The bytes, as base64.")


class RemoveUpload(Input):
    source_id: SourceId
    key: Key


class UploadOut(Output):
    source_id: str
    key: str
    size: int


class RemovedOut(Output):
    source_id: str
    key: str


@dataclass(frozen=True, slots=True)
class Uploading:
    """The handlers."""

    store: Store
    crawling: Job

    async def upload_file(self, call: Call, ask: UploadFile) -> UploadOut:
        """Send a file to a source of uploads. One with the same key is replaced. It can be found
        as soon as it has been read."""
        key, body = _key(ask.key), _body(ask.content)
        async with self.store.writing(call.caller, call.trace) as tx:
            await _require_uploads(tx, ask.source_id)
            await tx.value(SQL["keep_upload"], source_id=ask.source_id, key=key, body=body)
            await defer(tx, self.crawling, OfSource(source_id=ask.source_id))
        return UploadOut(source_id=ask.source_id, key=key, size=len(body))

    async def remove_upload(self, call: Call, ask: RemoveUpload) -> RemovedOut:
        """Remove a file that was sent to a source of uploads, for good."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await _require_uploads(tx, ask.source_id)
            asked = {"source_id": ask.source_id, "key": ask.key}
            if not await tx.value(SQL["drop_upload"], **asked):
                raise NotFound(f"no file {ask.key!r} in source {ask.source_id!r}", **asked)
        return RemovedOut(source_id=ask.source_id, key=ask.key)


def upload_tools(store: Store, crawling: Job) -> tuple[AnyTool, ...]:
    it = Uploading(store, crawling)
    return (
        Tool(
            ROOM,
            "upload_file",
            Scope.WRITE,
            UploadFile,
            UploadOut,
            it.upload_file,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            ROOM,
            "remove_upload",
            Scope.WRITE,
            RemoveUpload,
            RemovedOut,
            it.remove_upload,
            read_only=False,
            destructive=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class Uploads:
    """What was sent to one source, as a place that files come from."""

    store: Store
    tenant_id: UUID
    source_id: str
    admits: Callable[[str], bool]

    async def listing(self) -> AsyncGenerator[Listed]:
        after = ""
        while True:
            async with self.store.system() as tx:
                rows = await tx.all(SQL["uploads_after"], after=after, limit=PAGE, **self._place())
            for row in rows:
                if self.admits(row["key"]):
                    yield _seen(row)
            if len(rows) < PAGE:
                return
            after = rows[-1]["key"]

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[Original]:
        async with self.store.system() as tx:
            row = await tx.maybe(SQL["upload"], key=key, most=most_bytes, **self._place())
        if row is None:
            raise NotFound("the file is gone", key=key)
        if row["body"] is None:
            raise PayloadTooLarge(
                f"the file is larger than {most_bytes} bytes", field="key", max=most_bytes
            )
        with TemporaryDirectory(prefix="pecia-original-") as scratch:
            copy = Path(scratch) / "original"
            await run_sync(copy.write_bytes, row["body"])
            yield Original(copy)

    def _place(self) -> dict[str, Any]:
        return {"tenant_id": self.tenant_id, "source_id": self.source_id}


def _seen(row: dict[str, Any]) -> Seen:
    return Seen(
        row["key"],
        stamp=row["sha256"],
        size_bytes=row["size_bytes"],
        modified_at=row["at"],
        content_type=guess_type(row["key"])[0],
    )


def _key(text: str) -> str:
    path = PurePosixPath(text)
    is_plain = not path.is_absolute() and ".." not in path.parts and str(path) == text
    if not is_plain or not is_keepable(text):
        raise InvalidFormat(
            f'Field "key" must be a plain relative path of at most {LONGEST_KEY_BYTES} bytes',
            field="key",
            got=text[:500],
        )
    return text


def _body(content: str) -> bytes:
    try:
        body = b64decode(content, validate=True)
    except (NotBase64, ValueError):
        raise InvalidFormat('Field "content" must be base64', field="content") from None
    if len(body) > MOST_BYTES:
        raise PayloadTooLarge(
            f"a file has at most {MOST_BYTES} bytes", field="content", max=MOST_BYTES
        )
    return body


async def _require_uploads(tx: Transaction, source_id: str) -> None:
    source = await catalog.get_enabled_source(tx, source_id)
    if source.protocol != "upload":
        raise InvalidInput(
            f"source {source_id!r} is of kind {source.protocol!r}: files are sent to uploads only",
            field="source_id",
            expected="upload",
            got=source.protocol,
        )
