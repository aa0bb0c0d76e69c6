"""Mail messages: the headers people read, then the body. Attachments are named, not opened."""

import email
import email.policy
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime
from typing import cast

from pecia.adapters.extraction.readers.html import html_text
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, one_section
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.wire import About

_SHOWN = ("From", "To", "Cc", "Date", "Subject")


def read_mail(file: InputFile, first: int, count: int) -> ReaderResult:
    message = email.message_from_bytes(file.data, policy=email.policy.default)
    subject = _header(message, "Subject")
    lines = [f"{name}: {value}  " for name in _SHOWN if (value := _header(message, name))]
    attached = [_name(it) for it in message.walk() if it.is_attachment()]
    if attached:
        lines.append(f"Attachments: {', '.join(attached)}  ")
    about = About(
        content_type="",
        extractor=OURS,
        version=our_version(),
        is_markdown=True,
        title=subject,
        authors=tuple(name or place for name, place in getaddresses([_header(message, "From")])),
        date=_date(message),
        unit_count=1,
        notes=(f"Attachments are not opened: {', '.join(attached)}.",) if attached else (),
    )
    return ReaderResult(about, one_section("\n".join(lines) + "\n\n" + _body(message)))


def _header(message: EmailMessage, name: str) -> str:
    # Some broken headers raise when they are parsed, and are still there to be shown.
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, KeyError, AttributeError, TypeError):
        raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
        return " ".join(str(raw).split())


def _date(message: EmailMessage) -> str:
    try:
        return parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    except ValueError:
        return ""


def _body(message: EmailMessage) -> str:
    part = cast("EmailMessage | None", message.get_body(preferencelist=("plain", "html")))
    if part is None:
        return ""
    try:
        text = cast(str, part.get_content())
    except (LookupError, UnicodeError, ValueError, KeyError):
        text = cast(bytes, part.get_payload(decode=True) or b"").decode("utf-8", "replace")
    return html_text(text) if part.get_content_subtype() == "html" else text


def _name(part: EmailMessage) -> str:
    return part.get_filename() or part.get_content_type()
