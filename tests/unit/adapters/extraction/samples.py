"""Small files of many formats, made here byte by byte, so that no writer library is needed."""

import io
import struct
import wave
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from email.message import EmailMessage

import pypdf
from pypdf.constants import UserAccessPermissions

NOTHING = UserAccessPermissions(0)
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ODF = " ".join(
    f'xmlns:{it}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for it, name in [
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("draw", "drawing"),
        ("presentation", "presentation"),
        ("meta", "meta"),
    ]
)


def pdf(
    pages: Iterable[Sequence[str]],
    *,
    outline: Sequence[tuple[str, int]] = (),
    about: Mapping[str, str] | None = None,
) -> bytes:
    """Pages of lines in Helvetica. A line that starts with `# ` is set large."""
    return b"".join(pdf_parts(pages, outline=outline, about=about))


def pdf_parts(
    pages: Iterable[Sequence[str]],
    *,
    outline: Sequence[tuple[str, int]] = (),
    about: Mapping[str, str] | None = None,
) -> Iterable[bytes]:
    """The same, piece by piece: ten thousand pages need no memory."""
    writer = _Pdf()
    yield b"%PDF-1.7\n"
    kids: list[int] = []
    for lines in pages:
        body = zlib.compress(_page_stream(lines))
        yield writer.add(4 + 2 * len(kids), _stream(body, b"/Filter /FlateDecode"))
        yield writer.add(
            5 + 2 * len(kids),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (4 + 2 * len(kids)),
        )
        kids.append(5 + 2 * len(kids))
    free = 4 + 2 * len(kids)
    yield from writer.outline(free, outline, kids)
    yield writer.add(
        1,
        b"<< /Type /Catalog /Pages 2 0 R"
        + (b" /Outlines %d 0 R" % free if outline else b"")
        + b" >>",
    )
    listed = b" ".join(b"%d 0 R" % it for it in kids)
    yield writer.add(2, b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), listed))
    yield writer.add(3, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    facts = b" ".join(b"/%s (%s)" % (k.encode(), v.encode()) for k, v in (about or {}).items())
    last = free + 1 + len(outline)
    yield writer.add(last, b"<< " + facts + b" >>")
    yield writer.end(last)


def pdf_bomb(inflated_bytes: int) -> bytes:
    """A page whose stream inflates to that many bytes."""
    squeeze = zlib.compressobj(9)
    block = b" " * 1_000_000
    # After a full flush nothing looks back, so one squeezed block can be said again and again.
    once = squeeze.compress(block) + squeeze.flush(zlib.Z_FULL_FLUSH)
    times = inflated_bytes // len(block)
    sum_of_all = 1
    for _ in range(times):
        sum_of_all = zlib.adler32(block, sum_of_all)
    body = once[:2] + once[2:] * times + b"\x03\x00" + sum_of_all.to_bytes(4, "big")
    writer = _Pdf()
    parts = [
        b"%PDF-1.7\n",
        writer.add(1, b"<< /Type /Catalog /Pages 2 0 R >>"),
        writer.add(2, b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>"),
        writer.add(3, b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>"),
        writer.add(4, _stream(body, b"/Filter /FlateDecode")),
        writer.end(1),
    ]
    return b"".join(parts)


def zip_bomb(inflated_bytes: int) -> bytes:
    """A Word document whose text inflates to that many bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "")
        with archive.open("word/document.xml", "w") as part:
            for _ in range(inflated_bytes // 1_000_000):
                part.write(bytes(1_000_000))
    return out.getvalue()


def encrypted_pdf(user_password: str) -> bytes:
    """Without a user password it opens, but forbids copying."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([["Locked words."]])))
    writer.encrypt(
        user_password, owner_password="owner", permissions_flag=NOTHING, algorithm="RC4-128"
    )
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def scanned_pdf(grey: bytes = bytes(10_000), width: int = 100) -> bytes:
    """A page that is one picture, and no text."""
    writer = _Pdf()
    size = b"/Width %d /Height %d" % (width, len(grey) // width)
    parts = [
        b"%PDF-1.7\n",
        writer.add(1, b"<< /Type /Catalog /Pages 2 0 R >>"),
        writer.add(2, b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>"),
        writer.add(
            3,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
            b" /Resources << /XObject << /I 5 0 R >> >> >>",
        ),
        writer.add(4, _stream(b"612 0 0 792 0 0 cm /I Do")),
        writer.add(
            5,
            _stream(
                zlib.compress(grey),
                b"/Type /XObject /Subtype /Image /ColorSpace /DeviceGray"
                b" /BitsPerComponent 8 /Filter /FlateDecode " + size,
            ),
        ),
        writer.end(1),
    ]
    return b"".join(parts)


def png(grey: bytes, width: int) -> bytes:
    rows = b"".join(b"\0" + grey[at : at + width] for at in range(0, len(grey), width))
    size = struct.pack(">IIBBBBB", width, len(grey) // width, 8, 0, 0, 0, 0)
    parts = [(b"IHDR", size), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    packed = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def wav(samples: bytes, rate: int = 16_000, channels: int = 1) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(samples)
    return out.getvalue()


def spaced_pdf(text: str) -> bytes:
    """A page whose letters stand so far apart that pdfium takes each for a word."""
    shown = b"BT /F1 8 Tf 60 Tc 20 700 Td (%s) Tj ET" % text.encode()
    writer = _Pdf()
    parts = [
        b"%PDF-1.7\n",
        writer.add(1, b"<< /Type /Catalog /Pages 2 0 R >>"),
        writer.add(2, b"<< /Type /Pages /Count 1 /Kids [4 0 R] >>"),
        writer.add(3, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
        writer.add(
            4,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 4000 792] /Contents 5 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>",
        ),
        writer.add(5, _stream(shown)),
        writer.end(1),
    ]
    return b"".join(parts)


def docx(body: str, *, title: str = "", author: str = "") -> bytes:
    """`body` is WordprocessingML: see `paragraph` and `word_table`."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return office(
        "word/document.xml",
        "wordprocessingml.document",
        {
            "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}</w:body>'
            "</w:document>",
            "docProps/core.xml": _core(title, author),
        },
    )


def paragraph(text: str, style: str = "") -> str:
    look = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{look}<w:r><w:t>{text}</w:t></w:r></w:p>"


def word_table(rows: Sequence[Sequence[str]]) -> str:
    cells = ["".join(f"<w:tc>{paragraph(it)}</w:tc>" for it in row) for row in rows]
    return "<w:tbl>" + "".join(f"<w:tr>{it}</w:tr>" for it in cells) + "</w:tbl>"


def xlsx(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    parts = {
        f"xl/worksheets/sheet{no}.xml": f'<worksheet xmlns="{main}"><sheetData>'
        + "".join(
            f'<row r="{number}">'
            + "".join(_cell(column, number, it) for column, it in enumerate(row))
            + "</row>"
            for number, row in enumerate(rows, 1)
        )
        + "</sheetData></worksheet>"
        for no, rows in enumerate(sheets.values(), 1)
    }
    listed = "".join(
        f'<sheet name="{name}" sheetId="{no}" r:id="rId{no}"/>' for no, name in enumerate(sheets, 1)
    )
    parts["xl/workbook.xml"] = (
        f'<workbook xmlns="{main}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>'
    )
    parts["xl/_rels/workbook.xml.rels"] = _relations(
        (f"rId{no}", "worksheet", f"worksheets/sheet{no}.xml") for no in range(1, len(sheets) + 1)
    )
    return office("xl/workbook.xml", "spreadsheetml.sheet", parts)


def pptx(slides: Sequence[tuple[str, str]]) -> bytes:
    """A title and a body on each slide."""
    show = "http://schemas.openxmlformats.org/presentationml/2006/main"
    draw = "http://schemas.openxmlformats.org/drawingml/2006/main"
    listed = "".join(
        f'<p:sldId id="{255 + no}" r:id="rId{no}"/>' for no in range(1, len(slides) + 1)
    )
    parts = {
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{show}" xmlns:r="{_OFFICE}">'
        f"<p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": _relations(
            (f"rId{no}", "slide", f"slides/slide{no}.xml") for no in range(1, len(slides) + 1)
        ),
    }
    for no, (title, body) in enumerate(slides, 1):
        shapes = _shape(1, title, '<p:ph type="title"/>') + _shape(2, body, '<p:ph idx="1"/>')
        parts[f"ppt/slides/slide{no}.xml"] = (
            f'<p:sld xmlns:p="{show}" xmlns:a="{draw}"><p:cSld><p:spTree>'
            '<p:nvGrpSpPr><p:cNvPr id="9" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>'
            "<p:grpSpPr/>"
            f"{shapes}</p:spTree></p:cSld></p:sld>"
        )
    return office("ppt/presentation.xml", "presentationml.presentation", parts)


def odf(kind: str, body: str) -> bytes:
    """An OpenDocument of that kind (text, spreadsheet, presentation) around its body."""
    mimetype = f"application/vnd.oasis.opendocument.{kind}"
    content = (
        f'<office:document-content {_ODF} office:version="1.2"><office:body>'
        f"<office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{mimetype}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    return zipped(
        {
            "mimetype": mimetype,
            "content.xml": XML + content,
            "META-INF/manifest.xml": XML + manifest,
        }
    )


def odf_table(name: str, rows: Sequence[Sequence[str]]) -> str:
    cells = [
        "".join(
            f'<table:table-cell office:value-type="string"><text:p>{it}</text:p></table:table-cell>'
            for it in row
        )
        for row in rows
    ]
    listed = "".join(f"<table:table-row>{it}</table:table-row>" for it in cells)
    return f'<table:table table:name="{name}">{listed}</table:table>'


def odf_slide(name: str, title: str, body: str) -> str:
    boxes = "".join(
        f'<draw:frame presentation:class="{kind}"><draw:text-box><text:p>{it}</text:p>'
        "</draw:text-box></draw:frame>"
        for kind, it in [("title", title), ("outline", body)]
    )
    return f'<draw:page draw:name="{name}">{boxes}</draw:page>'


def epub(title: str, author: str, chapters: Sequence[tuple[str, str]]) -> bytes:
    items = "".join(
        f'<item id="c{no}" href="c{no}.xhtml" media-type="application/xhtml+xml"/>'
        for no in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{no}"/>' for no in range(len(chapters)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="i">x</dc:identifier><dc:title>{title}</dc:title>'
        f"<dc:creator>{author}</dc:creator><dc:language>en</dc:language></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>"
    )
    pages = {
        f"c{no}.xhtml": XML + '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>'
        f"{head}</title></head><body><h1>{head}</h1><p>{body}</p></body></html>"
        for no, (head, body) in enumerate(chapters)
    }
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": XML + container,
            "book.opf": XML + package,
            **pages,
        }
    )


def mail(subject: str, body: str, *, attachment: tuple[str, bytes] | None = None) -> bytes:
    message = EmailMessage()
    message["From"] = "ana@example.org"
    message["To"] = "bo@example.org"
    message["Subject"] = subject
    message["Date"] = "Tue, 03 Mar 2026 10:00:00 +0000"
    message.set_content(body)
    if attachment is not None:
        name, data = attachment
        message.add_attachment(data, maintype="application", subtype="pdf", filename=name)
    return message.as_bytes()


def mailbox(*messages: bytes) -> bytes:
    """Messages one after the other, as mail programs keep them."""
    separator = b"From ana@example.org Tue Mar  3 10:00:00 2026\n"
    lines = (it.replace(b"\nFrom ", b"\n>From ") for it in messages)
    return b"".join(separator + it.rstrip(b"\n") + b"\n\n" for it in lines)


def office(main: str, kind: str, parts: Mapping[str, str]) -> bytes:
    """An Office Open XML package around its parts."""
    document = f"application/vnd.openxmlformats-officedocument.{kind}.main+xml"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/{main}" ContentType="{document}"/></Types>'
    )
    return zipped(
        {
            "[Content_Types].xml": XML + types,
            "_rels/.rels": XML + _relations([("rId1", "officeDocument", main)]),
            **{name: XML + text for name, text in parts.items()},
        }
    )


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, data, kind)
    return out.getvalue()


class _Pdf:
    def __init__(self) -> None:
        self.at = len(b"%PDF-1.7\n")
        self.places: dict[int, int] = {}

    def add(self, number: int, body: bytes) -> bytes:
        piece = b"%d 0 obj\n%s\nendobj\n" % (number, body)
        self.places[number] = self.at
        self.at += len(piece)
        return piece

    def outline(
        self, free: int, entries: Sequence[tuple[str, int]], kids: Sequence[int]
    ) -> Iterable[bytes]:
        if not entries:
            return
        last = free + len(entries)
        yield self.add(
            free,
            b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>"
            % (free + 1, last, len(entries)),
        )
        for number, (title, page) in enumerate(entries, free + 1):
            follows = b" /Next %d 0 R" % (number + 1) if number < last else b""
            yield self.add(
                number,
                b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit]%s >>"
                % (title.encode(), free, kids[page - 1], follows),
            )

    def end(self, about: int) -> bytes:
        size = max(self.places) + 1
        rows = [b"0000000000 65535 f \n"]
        for number in range(1, size):
            at = self.places.get(number)
            rows.append(b"%010d 00000 n \n" % at if at else b"0000000000 65535 f \n")
        return b"xref\n0 %d\n%strailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (
            size,
            b"".join(rows),
            size,
            about,
        ) + (b"startxref\n%d\n%%%%EOF\n" % self.at)


def _page_stream(lines: Sequence[str]) -> bytes:
    shown: list[bytes] = [b"BT 72 740 Td 14 TL"]
    for line in lines:
        size = 20 if line.startswith("# ") else 11
        words = line.removeprefix("# ").encode("latin-1")
        for plain in (b"\\", b"(", b")"):
            words = words.replace(plain, b"\\" + plain)
        shown.append(b"/F1 %d Tf (%s) Tj T*" % (size, words))
    return b"\n".join([*shown, b"ET"])


def _stream(body: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(body), more, body)


def _core(title: str, author: str) -> str:
    return (
        "<cp:coreProperties"
        ' xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>"
        '<dcterms:created xsi:type="dcterms:W3CDTF">2026-03-03T10:00:00Z</dcterms:created>'
        "</cp:coreProperties>"
    )


def _relations(entries: Iterable[tuple[str, str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, kind, target in entries
    )
    return f'<Relationships xmlns="{_RELATIONS}">{listed}</Relationships>'


def _cell(column: int, row: int, value: str | float) -> str:
    place = f"{chr(ord('A') + column)}{row}"
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def _shape(number: int, text: str, place: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="s{number}"/><p:cNvSpPr/>'
        f"<p:nvPr>{place}</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>"
        f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )
