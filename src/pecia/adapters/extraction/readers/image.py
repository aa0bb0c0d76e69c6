"""Images: a page with the letters in them, when the extra [ocr] is installed."""

from pecia.adapters.extraction.media.ocr import WITHOUT_OCR, find_ocr
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, UnreadableFile
from pecia.adapters.extraction.readers.version import version_of
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind


def read_image(file: InputFile, first: int, count: int) -> ReaderResult:
    ocr = find_ocr()
    if ocr is None:
        raise UnreadableFile(ExtractionStatus.UNSUPPORTED, f"It is an image. {WITHOUT_OCR}")
    about = About(
        "",
        ocr.name,
        version_of(ocr.library),
        unit_count=1,
        when_empty="It is an image without letters.",
    )
    return ReaderResult(about, [RawUnit(1, UnitKind.PAGE, ocr.read(file.data))])
