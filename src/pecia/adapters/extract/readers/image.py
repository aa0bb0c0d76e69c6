"""Images: a page with the letters in them, when the extra [ocr] is installed."""

from pecia.adapters.extract.readers.file import File, Reading, Unreadable
from pecia.adapters.extract.readers.ocr import WITHOUT_OCR, find_ocr
from pecia.adapters.extract.readers.version import version_of
from pecia.adapters.extract.status import Status
from pecia.adapters.extract.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind


def read_image(file: File, first: int, count: int) -> Reading:
    ocr = find_ocr()
    if ocr is None:
        raise Unreadable(Status.UNSUPPORTED, f"It is an image. {WITHOUT_OCR}")
    about = About(
        "",
        ocr.name,
        version_of(ocr.library),
        unit_count=1,
        when_empty="It is an image without letters.",
    )
    return Reading(about, [RawUnit(1, UnitKind.PAGE, ocr.read(file.data))])
