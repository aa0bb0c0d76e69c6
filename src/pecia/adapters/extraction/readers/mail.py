"""Mail messages and mailboxes: the headers people read, the body, the text that is attached.

Other attachments are named, not opened.
"""

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime
from typing import cast

from pecia.adapters.extraction.readers.html import html_text
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, one_section
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
# The line before each message of a mailbox has a time in it, and a header follows.
_SEPARATOR = re.compile(rb"^From [^\r\n]*\d:\d\d[^\r\n]*\r?\n(?=[!-9;-~]+:)", re.MULTILINE)
_ESCAPED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
NO_SUBJECT = "(no subject)"


def read_mail(file: InputFile, first: int, count: int) -> ReaderResult:
    message = _parse(file.data)
    attached = _read_attachments(message)
    about = About(
        content_type="",
        extractor=OURS,
        version=our_version(),
        is_markdown=True,
        title=_header(message, "Subject"),
        authors=_senders(message),
        date=_date(message),
        unit_count=1,
        notes=_notes(attached.unopened),
    )
    return ReaderResult(about, one_section(_text(message, attached)))


def read_mailbox(file: InputFile, first: int, count: int) -> ReaderResult:
    """A section for each message, under its subject. Authors are those of the first messages."""
    bounds = [it.span() for it in _SEPARATOR.finditer(file.data)]
    ends = [*(start for start, _ in bounds[1:]), len(file.data)]
    spans = [(start, end) for (_, start), end in zip(bounds, ends, strict=True)]
    messages = [file.data[start:end] for start, end in spans[first - 1 :][:count]]
    senders = (sender for it in messages for sender in _senders(_parse(it, headers_only=True)))
    about = About(
        content_type="",
        extractor=OURS,
        version=our_version(),
        is_markdown=True,
        authors=tuple(dict.fromkeys(senders)),
        unit_count=len(spans),
        has_ranges=True,
    )
    found = ReaderResult(about, ())
    return found.with_units(_messages(messages, first, found.notes))


def _messages(messages: list[bytes], first: int, notes: list[str]) -> Iterator[RawUnit]:
    for number, data in enumerate(messages, first):
        message = _parse(_ESCAPED_FROM.sub(rb"\1", data))
        attached = _read_attachments(message)
        notes += [f"Message {number}: {it}" for it in _notes(attached.unopened)]
        subject = _header(message, "Subject") or NO_SUBJECT
        yield RawUnit(
            number,
            UnitKind.SECTION,
            f"# {subject}\n\n{_text(message, attached).rstrip()}\n",
            f"message {number}",
        )


def _parse(data: bytes, *, headers_only: bool = False) -> EmailMessage:
    if headers_only:
        data = re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0]
    return email.message_from_bytes(data, policy=email.policy.default)


@dataclass(frozen=True, slots=True)
class _Attachments:
    names: list[str]
    texts: list[tuple[str, str]]
    """Names and texts of those that are text."""
    unopened: list[str]


def _read_attachments(message: EmailMessage) -> _Attachments:
    found = _Attachments([], [], [])
    for part in message.walk():
        if not part.is_attachment():
            continue
        name = part.get_filename() or part.get_content_type()
        found.names.append(name)
        if part.get_content_maintype() == "text":
            found.texts.append((name, _decode(part)))
        else:
            found.unopened.append(name)
    return found


def _notes(unopened: list[str]) -> tuple[str, ...]:
    return (f"Attachments are not opened: {', '.join(unopened)}.",) if unopened else ()


def _text(message: EmailMessage, attached: _Attachments) -> str:
    lines = [f"{name}: {value}  " for name in _SHOWN if (value := _header(message, name))]
    if attached.names:
        lines.append(f"Attachments: {', '.join(attached.names)}  ")
    texts = [f"## {name}\n\n{text}" for name, text in attached.texts]
    return "\n\n".join(["\n".join(lines), _body(message), *texts])


def _header(message: EmailMessage, name: str) -> str:
    # Some broken headers raise when they are parsed, and are still there to be shown.
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, KeyError, AttributeError, TypeError):
        raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
        return " ".join(str(raw).split())


def _senders(message: EmailMessage) -> tuple[str, ...]:
    return tuple(name or place for name, place in getaddresses([_header(message, "From")]))


def _date(message: EmailMessage) -> str:
    try:
        return parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    except ValueError:
        return ""


def _body(message: EmailMessage) -> str:
    part = cast("EmailMessage | None", message.get_body(preferencelist=("plain", "html")))
    return "" if part is None else _decode(part)


def _decode(part: EmailMessage) -> str:
    try:
        text = cast(str, part.get_content())
    except (LookupError, UnicodeError, ValueError, KeyError):
        text = cast(bytes, part.get_payload(decode=True) or b"").decode("utf-8", "replace")
    return html_text(text) if part.get_content_subtype() == "html" else text
