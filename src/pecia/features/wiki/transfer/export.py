"""The files of a space, in parts that one answer holds."""

from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import orjson
from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.space import OpenSpace
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import FileStamp
from pecia.kernel.errors import InvalidFormat, Json, NotFound, PeciaError

MAX_PAGE_BYTES = 400_000
"""Of files; as base64 in JSON about 550,000, which every client accepts."""
MAX_PAGE_FILES = 500


@dataclass(frozen=True, slots=True)
class ExportCursor:
    """The next file, and the first byte of it that is still to come."""

    path: str = ""
    offset: int = 0

    def encode(self) -> str:
        return urlsafe_b64encode(orjson.dumps([self.path, self.offset])).decode()

    @classmethod
    def decode(cls, text: str | None) -> "ExportCursor":
        if text is None:
            return cls()
        try:
            match orjson.loads(urlsafe_b64decode(text)):
                case [str(path), int(offset)] if offset >= 0:
                    return cls(path, offset)
                case _:
                    raise ValueError
        except ValueError:
            raise InvalidFormat(
                "this is not a valid cursor: use `nextCursor` of the previous page",
                field="cursor",
                got=text[:100],
            ) from None


@dataclass(slots=True)
class ExportPage:
    """Files and parts of files, and those that cannot be exported with the reason."""

    rows: list[Json] = field(default_factory=list[Json])
    dropped: list[Json] = field(default_factory=list[Json])
    paths: list[str] = field(default_factory=list[str])
    size_bytes: int = 0
    next: ExportCursor | None = None

    def drop(self, path: str, reason: str) -> None:
        self.dropped.append({"path": path, "reason": reason})


def list_exported(opened: OpenSpace) -> dict[str, FileStamp]:
    """Every file that this caller may read, by its path, in order. Hidden files are for nobody."""
    found = {it.path: it.stamp for it in opened.documents.values()} | {**opened.other_files}
    shown = (it for it in found if not any(part.startswith(".") for part in it.split("/")))
    return {path: found[path] for path in sorted(shown)}


def space_state(files: Mapping[str, FileStamp]) -> str:
    """Equal for two pages of an export if nothing changed between them."""
    lines = (f"{path}\0{stamp.etag}\n" for path, stamp in files.items())
    return sha256("".join(lines).encode()).hexdigest()[:32]


async def read_export_page(
    opened: OpenSpace, files: Mapping[str, FileStamp], start: ExportCursor
) -> ExportPage:
    """As many files from the cursor on as one answer holds; at least a part of one."""
    page = ExportPage()
    for path in (it for it in files if it >= start.path):
        offset = start.offset if path == start.path else 0
        left = max(0, files[path].size_bytes - offset)
        has_room = page.size_bytes + left <= MAX_PAGE_BYTES and len(page.rows) < MAX_PAGE_FILES
        if page.rows and not has_room:
            page.next = ExportCursor(path)
            break
        end = await _add_file(opened, page, path, offset)
        if end is not None:
            page.next = ExportCursor(path, end)
            break
    return page


async def _add_file(opened: OpenSpace, page: ExportPage, path: str, offset: int) -> int | None:
    """Add a file, or a part of it: where the next part begins."""
    try:
        body = await run_sync(disk.read, opened.root, path)
    except NotFound:
        page.drop(path, "it was removed during the export")
        return None
    except PeciaError as error:
        page.drop(path, error.message)
        return None
    part = body[offset : offset + MAX_PAGE_BYTES]
    page.paths.append(path)
    page.size_bytes += len(part)
    text = decode_utf8(part) if len(part) == len(body) else None
    if text is not None and len(orjson.dumps(text)) > len(part) * 4 // 3 + 100:
        # Control characters are longer in JSON than base64 is.
        text = None
    content: dict[str, Json]
    content = {"base64": b64encode(part).decode()} if text is None else {"text": text}
    page.rows.append({"path": path, "bytes": len(body), "offset": offset, **content})
    end = offset + len(part)
    return end if end < len(body) else None
