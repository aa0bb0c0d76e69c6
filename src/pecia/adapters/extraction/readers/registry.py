"""Which reader takes which kind of file. The one list of what can be read."""

from collections.abc import Callable
from typing import NoReturn, TypeAlias

from pecia.adapters.extraction.detect.file_kind import FileKind
from pecia.adapters.extraction.readers.captions import read_captions
from pecia.adapters.extraction.readers.csv_table import read_csv
from pecia.adapters.extraction.readers.html import read_html
from pecia.adapters.extraction.readers.image import read_image
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, UnreadableFile
from pecia.adapters.extraction.readers.mail import read_mail, read_mailbox
from pecia.adapters.extraction.readers.notebook import read_notebook
from pecia.adapters.extraction.readers.office import read_document, read_sheets
from pecia.adapters.extraction.readers.pdf import read_pdf
from pecia.adapters.extraction.readers.roff.man_page import read_man_page
from pecia.adapters.extraction.readers.slides import read_odg, read_odp, read_pptx
from pecia.adapters.extraction.readers.speech import read_recording
from pecia.adapters.extraction.readers.text import (
    read_code,
    read_json,
    read_markdown,
    read_plain,
    read_xml,
)
from pecia.adapters.extraction.status import ExtractionStatus

Reader: TypeAlias = Callable[[InputFile, int, int], ReaderResult]


def read_archive(file: InputFile, first: int, count: int) -> NoReturn:
    raise UnreadableFile(
        ExtractionStatus.UNSUPPORTED,
        "It is an archive. Archives are not opened: add the files inside.",
    )


def read_binary(file: InputFile, first: int, count: int) -> NoReturn:
    raise UnreadableFile(
        ExtractionStatus.UNSUPPORTED, "It is a binary file of a kind that holds no text for us."
    )


READERS: dict[FileKind, Reader] = {
    FileKind.PDF: read_pdf,
    FileKind.DOCX: read_document(FileKind.DOCX),
    FileKind.ODT: read_document(FileKind.ODT),
    FileKind.EPUB: read_document(FileKind.EPUB),
    FileKind.RTF: read_document(FileKind.RTF),
    FileKind.DOC: read_document(FileKind.DOC),
    FileKind.PPT: read_document(FileKind.PPT),
    FileKind.MSG: read_document(FileKind.MSG),
    FileKind.XLSX: read_sheets(FileKind.XLSX),
    FileKind.ODS: read_sheets(FileKind.ODS),
    FileKind.XLS: read_sheets(FileKind.XLS),
    FileKind.PPTX: read_pptx,
    FileKind.ODP: read_odp,
    FileKind.ODG: read_odg,
    FileKind.EML: read_mail,
    FileKind.MBOX: read_mailbox,
    FileKind.HTML: read_html,
    FileKind.NOTEBOOK: read_notebook,
    FileKind.CAPTIONS: read_captions,
    FileKind.MAN_PAGE: read_man_page,
    FileKind.CSV: read_csv,
    FileKind.JSON: read_json,
    FileKind.XML: read_xml,
    FileKind.MARKDOWN: read_markdown,
    FileKind.CODE: read_code,
    FileKind.TEXT: read_plain,
    FileKind.IMAGE: read_image,
    FileKind.AUDIO: read_recording,
    FileKind.VIDEO: read_recording,
    FileKind.ARCHIVE: read_archive,
    FileKind.BINARY: read_binary,
}
