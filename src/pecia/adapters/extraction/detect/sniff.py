"""The kind of a file, by its bytes; its name only decides among kinds of text."""

import mimetypes
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from pecia.adapters.extraction.detect.file_kind import CONTENT_TYPES, EXTENSIONS, FileKind
from pecia.adapters.extraction.readers.input_file import InputFile, UnreadableFile
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.text.charset import decode

_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAGIC: tuple[tuple[bytes, FileKind, str], ...] = (
    (b"{\\rtf", FileKind.RTF, "application/rtf"),
    (b"\x89PNG\r\n\x1a\n", FileKind.IMAGE, "image/png"),
    (b"\xff\xd8\xff", FileKind.IMAGE, "image/jpeg"),
    (b"GIF8", FileKind.IMAGE, "image/gif"),
    (b"II*\x00", FileKind.IMAGE, "image/tiff"),
    (b"MM\x00*", FileKind.IMAGE, "image/tiff"),
    (b"ID3", FileKind.AUDIO, "audio/mpeg"),
    (b"\xff\xfb", FileKind.AUDIO, "audio/mpeg"),
    (b"fLaC", FileKind.AUDIO, "audio/flac"),
    (b"OggS", FileKind.AUDIO, "audio/ogg"),
    (b"\x1a\x45\xdf\xa3", FileKind.VIDEO, "video/webm"),
    (b"\x1f\x8b", FileKind.ARCHIVE, "application/gzip"),
    (b"BZh", FileKind.ARCHIVE, "application/x-bzip2"),
    (b"\xfd7zXZ\x00", FileKind.ARCHIVE, "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", FileKind.ARCHIVE, "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", FileKind.ARCHIVE, "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", FileKind.ARCHIVE, "application/vnd.rar"),
    (b"\x7fELF", FileKind.BINARY, "application/x-executable"),
    (b"SQLite format 3\x00", FileKind.BINARY, "application/vnd.sqlite3"),
    (b"\x00asm", FileKind.BINARY, "application/wasm"),
)
_RIFF = {
    b"WAVE": (FileKind.AUDIO, "audio/wav"),
    b"AVI ": (FileKind.VIDEO, "video/x-msvideo"),
    b"WEBP": (FileKind.IMAGE, "image/webp"),
}
_STREAMS = (
    ("EncryptedPackage", None),
    ("WordDocument", FileKind.DOC),
    ("Workbook", FileKind.XLS),
    ("PowerPoint Document", FileKind.PPT),
    ("__properties_version1", FileKind.MSG),
)
_PARTS = (("word/", FileKind.DOCX), ("xl/", FileKind.XLSX), ("ppt/", FileKind.PPTX))
_MAIL_HEADER = re.compile(
    r"(?im)^(from|to|subject|date|received|message-id|mime-version|return-path):[ \t]*\S"
)
_MAILBOX = re.compile(r"From [^\r\n]*\d:\d\d[^\r\n]*\r?\n[!-9;-~]+:")
_HTML = re.compile(
    r"\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_SRT = re.compile(r"\s*\d+\s*\n\d{1,2}:\d\d:\d\d[,.]\d{3}\s+-->\s+\d")
_MAN_PAGE = re.compile(r"(?m)^[.'][ \t]*(?:TH|Dd)[ \t]+\S")
_MAN_LINK = re.compile(r"\s*\.so +man\w{1,10}/[^\s/]{1,200}\s*")
_TEXT_KINDS = frozenset(
    {
        FileKind.MARKDOWN,
        FileKind.TEXT,
        FileKind.CODE,
        FileKind.CSV,
        FileKind.JSON,
        FileKind.XML,
        FileKind.HTML,
        FileKind.EML,
        FileKind.MBOX,
        FileKind.MAN_PAGE,
    }
)
_GUESSES = mimetypes.MimeTypes(filenames=())


@dataclass(frozen=True, slots=True)
class DetectedKind:
    """What the bytes are. A note says so when the name promised something else."""

    kind: FileKind
    content_type: str
    notes: tuple[str, ...] = ()


def sniff(file: InputFile) -> DetectedKind:
    """The kind of the file. An encrypted package is known as such here, and refused."""
    kind, content_type = _binary(file) or _textual(file)
    promised = EXTENSIONS.get(file.extension)
    if promised in (None, kind) or (promised in _TEXT_KINDS and kind in _TEXT_KINDS):
        return DetectedKind(kind, content_type)
    if {promised, kind} == {FileKind.AUDIO, FileKind.VIDEO}:
        return DetectedKind(kind, content_type)
    return DetectedKind(kind, content_type, (f"It is named .{file.extension}, but it is {kind}.",))


def sniff_text(file: InputFile) -> DetectedKind | None:
    """The kind of a text; nothing where it is anything else."""
    if file.head[257:262] == b"ustar" or _binary(file) is not None:
        return None
    kind, content_type = _textual(file)
    return None if kind is FileKind.BINARY else DetectedKind(kind, content_type)


def _binary(file: InputFile) -> tuple[FileKind, str] | None:
    head = file.head
    if b"%PDF-" in head[:1024]:
        return _plain(FileKind.PDF)
    if head.startswith(_ZIP):
        return _plain(_package(file))
    if head.startswith(_OLE):
        return _plain(_compound(file))
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12])
    if head.startswith(b"BM") and len(head) > 26 and head[6:10] == bytes(4):
        return FileKind.IMAGE, "image/bmp"
    if head[4:8] == b"ftyp":
        return _media(head[8:12])
    for magic, kind, content_type in _MAGIC:
        if head.startswith(magic):
            return kind, content_type
    return None


def _plain(kind: FileKind) -> tuple[FileKind, str]:
    return kind, CONTENT_TYPES[kind]


def _media(brand: bytes) -> tuple[FileKind, str]:
    if brand in (b"heic", b"heix", b"mif1", b"avif"):
        return FileKind.IMAGE, "image/heic"
    return (FileKind.AUDIO, "audio/mp4") if brand == b"M4A " else (FileKind.VIDEO, "video/mp4")


def _package(file: InputFile) -> FileKind:
    """Which of the formats that are zip files."""
    try:
        with file.stream() as stream, zipfile.ZipFile(stream) as package:
            names = package.namelist()
            if "mimetype" in names and package.getinfo("mimetype").file_size < 200:
                declared = package.read("mimetype").decode("ascii", "replace").strip()
                for kind, content_type in CONTENT_TYPES.items():
                    if declared.removesuffix("-template") == content_type:
                        return kind
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise UnreadableFile(
            ExtractionStatus.CORRUPT,
            "It is a zip file, or an office document, that is damaged or cut off.",
        ) from error
    if "[Content_Types].xml" in names:
        for folder, kind in _PARTS:
            if any(it.startswith(folder) for it in names):
                return kind
    return FileKind.ARCHIVE


def _compound(file: InputFile) -> FileKind:
    """Which of the formats that are compound files, by the names in their directory."""
    data = file.data
    for name, kind in _STREAMS:
        if name.encode("utf-16-le") in data:
            if kind is None:
                raise UnreadableFile(
                    ExtractionStatus.ENCRYPTED, "It is an office document with a password."
                )
            return kind
    return FileKind.BINARY


def _textual(file: InputFile) -> tuple[FileKind, str]:
    text = decode(file.head, file.charset, is_whole=file.size_bytes <= len(file.head))
    if text is None:
        return _plain(FileKind.BINARY)
    promised = EXTENSIONS.get(file.extension)
    for kind in _text_kinds(text.text):
        # Markdown and code may quote a page, a mail or data; their name is to be believed.
        if promised in (FileKind.MARKDOWN, FileKind.CODE) or (
            promised is FileKind.TEXT and kind is FileKind.JSON
        ):
            break
        return kind, _content_type(kind, file.extension)
    if promised is None or (promised not in _TEXT_KINDS and promised is not FileKind.CAPTIONS):
        promised = _by_type(file.content_type)
    return promised, _content_type(promised, file.extension)


def _text_kinds(text: str) -> Iterator[FileKind]:
    """Kinds of text that show in their first lines."""
    start = text.lstrip("\ufeff")
    if start.startswith("WEBVTT") or _SRT.match(start):
        yield FileKind.CAPTIONS
    if _HTML.match(start[:4000]):
        yield FileKind.HTML
    if start.startswith("<?xml"):
        yield FileKind.XML
    if start.lstrip().startswith("{") and '"nbformat"' in text and '"cells"' in text:
        yield FileKind.NOTEBOOK
    is_roff = start.lstrip()[:1] in (".", "'") and _MAN_PAGE.search(text) is not None
    if is_roff or _MAN_LINK.fullmatch(start[:400]):
        yield FileKind.MAN_PAGE
    headers = {it.lower() for it in _MAIL_HEADER.findall(_header(start))}
    if _MAILBOX.match(start) and len(headers) >= 2:
        yield FileKind.MBOX
    if len(headers) >= 3:
        yield FileKind.EML


def _header(text: str) -> str:
    return text.replace("\r\n", "\n").partition("\n\n")[0]


def _by_type(content_type: str) -> FileKind:
    for kind in (
        FileKind.HTML,
        FileKind.MARKDOWN,
        FileKind.CSV,
        FileKind.JSON,
        FileKind.XML,
        FileKind.EML,
    ):
        if content_type == CONTENT_TYPES[kind]:
            return kind
    return FileKind.TEXT


def _content_type(kind: FileKind, extension: str) -> str:
    if kind in (FileKind.CODE, FileKind.XML, FileKind.CSV):
        guess = _GUESSES.types_map[True].get(f".{extension}", "")
        return guess if guess.startswith(("text/", "image/svg")) else CONTENT_TYPES[kind]
    if kind is FileKind.CAPTIONS and extension == "srt":
        return "application/x-subrip"
    return CONTENT_TYPES[kind]
