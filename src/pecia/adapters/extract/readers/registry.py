"""Which reader takes which kind of file. The one list of what can be read."""

from collections.abc import Callable
from typing import NoReturn, TypeAlias

from pecia.adapters.extract.readers.captions import read_captions
from pecia.adapters.extract.readers.file import File, Reading, Unreadable
from pecia.adapters.extract.readers.html import read_html
from pecia.adapters.extract.readers.image import read_image
from pecia.adapters.extract.readers.kinds import Kind
from pecia.adapters.extract.readers.mail import read_mail
from pecia.adapters.extract.readers.notebook import read_notebook
from pecia.adapters.extract.readers.office import read_document, read_sheets
from pecia.adapters.extract.readers.pdf import read_pdf
from pecia.adapters.extract.readers.slides import read_odp, read_pptx
from pecia.adapters.extract.readers.speech import read_recording
from pecia.adapters.extract.readers.table import read_csv
from pecia.adapters.extract.readers.text import (
    read_code,
    read_json,
    read_markdown,
    read_plain,
    read_xml,
)
from pecia.adapters.extract.status import Status

Reader: TypeAlias = Callable[[File, int, int], Reading]


def read_archive(file: File, first: int, count: int) -> NoReturn:
    raise Unreadable(
        Status.UNSUPPORTED, "It is an archive. Archives are not opened: add the files inside."
    )


def read_binary(file: File, first: int, count: int) -> NoReturn:
    raise Unreadable(Status.UNSUPPORTED, "It is a binary file of a kind that holds no text for us.")


READERS: dict[Kind, Reader] = {
    Kind.PDF: read_pdf,
    Kind.DOCX: read_document(Kind.DOCX),
    Kind.ODT: read_document(Kind.ODT),
    Kind.EPUB: read_document(Kind.EPUB),
    Kind.RTF: read_document(Kind.RTF),
    Kind.DOC: read_document(Kind.DOC),
    Kind.PPT: read_document(Kind.PPT),
    Kind.MSG: read_document(Kind.MSG),
    Kind.XLSX: read_sheets(Kind.XLSX),
    Kind.ODS: read_sheets(Kind.ODS),
    Kind.XLS: read_sheets(Kind.XLS),
    Kind.PPTX: read_pptx,
    Kind.ODP: read_odp,
    Kind.EML: read_mail,
    Kind.HTML: read_html,
    Kind.NOTEBOOK: read_notebook,
    Kind.CAPTIONS: read_captions,
    Kind.CSV: read_csv,
    Kind.JSON: read_json,
    Kind.XML: read_xml,
    Kind.MARKDOWN: read_markdown,
    Kind.CODE: read_code,
    Kind.TEXT: read_plain,
    Kind.IMAGE: read_image,
    Kind.AUDIO: read_recording,
    Kind.VIDEO: read_recording,
    Kind.ARCHIVE: read_archive,
    Kind.BINARY: read_binary,
}
