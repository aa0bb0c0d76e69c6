"""Uploaded files: the only ones whose bytes are stored, because they have no other origin.

Listed with the admin tools beside those over sources; uploads are crawled like any source.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import Field

from pecia.features.lake.crawl.crawler import CrawlArguments, make_prompt
from pecia.features.lake.model import Key, SourceId
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.corpus.connector import (
    MAX_KEY_BYTES,
    is_storable_key,
)
from pecia.kernel.errors import InvalidFormat, InvalidInput, PayloadTooLarge
from pecia.kernel.identity.caller import Scope
from pecia.kernel.jobs.defer import defer
from pecia.kernel.jobs.job import Job
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.lake.tools", "uploads.sql")
FEATURE = "admin"
MAX_BYTES = 100_000_000


class UploadFile(Input):
    source_id: SourceId
    key: Key = Field(description="Its path in the source.")
    content: str = Field(max_length=2 * MAX_BYTES, description="The bytes, as base64.")


class RemoveUpload(Input):
    source_id: SourceId
    key: Key


class UploadOut(Output):
    source_id: str
    key: str
    size: int


class RemoveUploadOut(Output):
    source_id: str
    key: str


@dataclass(frozen=True, slots=True)
class UploadTools:
    """The handlers."""

    store: Store
    crawl_job: Job

    async def upload_file(self, call: Call, ask: UploadFile) -> UploadOut:
        """Upload a file to a source of uploads. The same key replaces it. It can be found
        as soon as it has been read."""
        key, body = _require_plain_key(ask.key), _decode_body(ask.content)
        async with self.store.writing(call.caller, call.trace) as tx:
            await _require_uploads(tx, ask.source_id)
            await tx.fetch_value(SQL["keep_upload"], source_id=ask.source_id, key=key, body=body)
            await defer(tx, make_prompt(self.crawl_job), CrawlArguments(source_id=ask.source_id))
        return UploadOut(source_id=ask.source_id, key=key, size=len(body))

    async def remove_upload(self, call: Call, ask: RemoveUpload) -> RemoveUploadOut:
        """Delete an uploaded file, for good."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await _require_uploads(tx, ask.source_id)
            asked = {"source_id": ask.source_id, "key": ask.key}
            if not await tx.fetch_value(SQL["drop_upload"], **asked):
                raise catalog.no_file(ask.source_id, ask.key)
        return RemoveUploadOut(source_id=ask.source_id, key=ask.key)


def upload_tools(store: Store, crawling: Job) -> tuple[AnyTool, ...]:
    it = UploadTools(store, crawling)
    return (
        Tool(
            FEATURE,
            "upload_file",
            Scope.WRITE,
            UploadFile,
            UploadOut,
            it.upload_file,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "remove_upload",
            Scope.WRITE,
            RemoveUpload,
            RemoveUploadOut,
            it.remove_upload,
            read_only=False,
            destructive=True,
        ),
    )


def _require_plain_key(text: str) -> str:
    path = PurePosixPath(text)
    is_plain = not path.is_absolute() and ".." not in path.parts and str(path) == text
    if not is_plain or not is_storable_key(text):
        raise InvalidFormat(
            f'Field "key" must be a plain relative path of at most {MAX_KEY_BYTES} bytes',
            field="key",
            got=text[:500],
        )
    return text


def _decode_body(content: str) -> bytes:
    try:
        body = b64decode(content, validate=True)
    except (NotBase64, ValueError):
        raise InvalidFormat('Field "content" must be base64', field="content") from None
    if len(body) > MAX_BYTES:
        raise PayloadTooLarge(
            f"a file has at most {MAX_BYTES} bytes", field="content", max=MAX_BYTES
        )
    return body


async def _require_uploads(tx: Transaction, source_id: str) -> None:
    source = await catalog.get_enabled_source(tx, source_id)
    if source.protocol != "upload":
        raise InvalidInput(
            f"source {source_id!r} is of kind {source.protocol!r}: only 'upload' takes files",
            field="source_id",
            expected="upload",
            got=source.protocol,
        )
