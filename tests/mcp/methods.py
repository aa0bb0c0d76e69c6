"""Every method of the protocol in every era: what to send, and what must come of it.

`python -m tests.mcp.methods` writes the table of the documentation; a test proves each line of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "mcp-methods.md"
NOTICE = (
    "<!-- Written by `python -m tests.mcp.methods`. Change the table there, not this page. -->\n"
)

ERAS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
LEGACY, MODERN = ERAS[:-1], ERAS[-1:]
GONE = "-32601"

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}
PROMPT = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}


@dataclass(frozen=True, slots=True)
class Method:
    """One method. In eras that do not have it, it is refused as unknown."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    eras: tuple[str, ...] = ERAS
    instead: str = ""
    """What does the same in the eras that lack it."""


METHODS = (
    Method("initialize", HELLO, LEGACY, "server/discover"),
    Method("server/discover", eras=MODERN, instead="initialize"),
    Method("ping", eras=LEGACY),
    Method("tools/list"),
    Method("tools/call", {"name": "test_simple_text"}),
    Method("resources/list"),
    Method("resources/templates/list"),
    Method("resources/read", {"uri": "test://static-text"}),
    Method("resources/subscribe", {"uri": "test://static-text"}, LEGACY, "subscriptions/listen"),
    Method("resources/unsubscribe", {"uri": "test://static-text"}, LEGACY, "subscriptions/listen"),
    Method("subscriptions/listen", {"notifications": {}}, MODERN, "resources/subscribe"),
    Method("prompts/list"),
    Method("prompts/get", {"name": "test_simple_prompt"}),
    Method("completion/complete", {"ref": PROMPT, "argument": {"name": "arg1", "value": "p"}}),
    Method("logging/setLevel", {"level": "info"}, LEGACY, "_meta of a request"),
)


def page() -> str:
    """The table, as it stands in the documentation."""
    return NOTICE + "\n".join([*_words(), *_table()]) + "\n"


def _words() -> Iterator[str]:
    yield "# Methods by revision\n"
    yield "Every endpoint serves every revision."
    yield "A method that a revision does not have is refused with `-32601`, and HTTP 404 in the"
    yield "revision 2026-07-28.\n"
    yield "Sampling, elicitation and roots are requests of the server up to 2025-11-25, and parts"
    yield "of a result (`input_required`) in 2026-07-28."
    yield "Without the capability of the client, a tool that needs it fails with `UNPROCESSABLE`"
    yield "in the older revisions and with `-32021` in 2026-07-28."
    yield "The tasks extension (`tasks/get`, `tasks/update`, `tasks/cancel`) is served in"
    yield "2026-07-28 to clients that declare it."
    yield "The skills extension (`skills/list`, `skills/get`) is declared in 2026-07-28, and served"
    yield "in every revision.\n"


def _table() -> Iterator[str]:
    yield f"| method | {' | '.join(ERAS)} |"
    yield f"|---|{'---|' * len(ERAS)}"
    for it in METHODS:
        cells = ["served" if era in it.eras else _absent(it) for era in ERAS]
        yield f"| `{it.name}` | {' | '.join(cells)} |"


def _absent(method: Method) -> str:
    return f"`{GONE}`; {method.instead}" if method.instead else f"`{GONE}`"


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), "utf-8")
