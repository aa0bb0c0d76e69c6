"""Parses submitted forms, and renders form controls."""

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from pecia.features.ckf.pages.html import Html, Piece, tag
from pecia.kernel.errors import InvalidInput, InvalidRequest, PeciaError
from pecia.kernel.feature import FeatureRequest

MAX_FIELDS = 50


def parse_form(ask: FeatureRequest) -> Mapping[str, str]:
    """The fields of a form, each at most once. Line ends are restored."""
    try:
        pairs = parse_qsl(
            ask.body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(ask.body),
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError as error:
        raise InvalidRequest("the body is not a valid form") from error
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f'Field "{name[:100]}" is repeated', field=name[:100])
        # Browsers submit every line end as CRLF.
        found[name] = value.replace("\r\n", "\n")
    return found


def render_field(label: str, control: Html, note: Piece = None) -> Html:
    """A labelled control."""
    hint = tag("small", note) if note is not None else None
    return tag("label", tag("span", label), control, hint, class_="field")


def render_select(name: str, values: Iterable[str], chosen: str) -> Html:
    options = (tag("option", it, value=it, selected=it == chosen) for it in values)
    return tag("select", *options, name=name)


def render_hidden(name: str, value: str) -> Html:
    """A hidden value of any length. A textarea keeps line ends, an input does not."""
    # HTML drops one line end at the start of a textarea.
    return tag("textarea", f"\n{value}", name=name, hidden=True, readonly=True)


def render_error(message: str, hint: str = "") -> Html:
    return tag("p", message, f". {hint}" if hint else None, class_="complaint", role="alert")


def render_failure(error: PeciaError) -> Html:
    """The error message, with its hint if any."""
    hint = error.fields.get("hint")
    return render_error(error.message, hint if isinstance(hint, str) else "")
