"""`pecia ask`: an answer whose every sentence cites a file, or a plain "nothing here"."""

import shlex
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import unquote

from pecia.interfaces.cli.output.render import format_cell, format_one_line
from pecia.interfaces.cli.output.style import TextStyle, text_style, wrap_passage
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.tools.backend import open_backend
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.errors import Json

TOOL = "desk.ask"
SCHEME = "pecia://file/"
PASSAGES = "These passages answer, word for word:"
UNSURE = "The nearest passages, word for word; none stands out as the answer:"
PASSED_ON = ("path", "provider", "model")


def ask(terminal: Terminal, given: CommandArguments) -> int:
    question = " ".join(given["words"])
    arguments: dict[str, Json] = {
        "question": question,
        "use_model": not given["passages"],
        **({"source_id": given["source"]} if given["source"] else {}),
        **{it: given[it] for it in PASSED_ON if given[it] is not None},
    }
    with open_backend(terminal) as tools:
        answer = cast(dict[str, Any], tools.call(tools.find_tool(TOOL), arguments))
    document = answer_document(question, answer)
    terminal.print_result(document, lambda it: _show_answer(it, document))
    for it in _remarks(document):
        terminal.info(it)
    return 1 if document["outcome"] == "nothing" else 0


def answer_document(question: str, answer: dict[str, Any]) -> dict[str, Json]:
    """The shape of `--json`: the same fields for every outcome."""
    return {
        "question": question,
        "outcome": answer["outcome"],
        "sentences": [*answer["sentences"]],
        "quotations": [_quotation_document(it) for it in answer["quotations"]],
        "nearest": _nearest_files(answer.get("nearest", [])),
        "used_model": answer["used_model"],
        "unsure": answer.get("unsure", False),
        "dropped": answer.get("dropped", 0),
        "reworded": answer.get("reworded", 0),
        "note": answer.get("note"),
        "absent": [*answer.get("absent", [])],
        "degraded": [*answer.get("degraded", [])],
    }


def _quotation_document(it: dict[str, Any]) -> dict[str, Json]:
    return {
        "number": it["number"],
        **_place(it["uri"]),
        "title": it["title"],
        "where": it.get("where"),
        "kind": it["kind"],
        "revision": it["revision"],
        "start": it["start"],
        "end": it["end"],
        "text": it["text"],
        "header": it.get("header"),
    }


def _nearest_files(found: list[dict[str, Any]]) -> list[Json]:
    """Each file once, by its nearest passage."""
    files: dict[str, Json] = {}
    for it in found:
        place = _place(it["uri"])
        files.setdefault(it["uri"], {**place, "title": it["title"], "where": it.get("where")})
    return [*files.values()]


def _place(uri: str) -> dict[str, Json]:
    source, _, path = uri.removeprefix(SCHEME).partition("/")
    return {"source": unquote(source), "path": unquote(path), "uri": uri}


def _show_answer(terminal: Terminal, document: dict[str, Json]) -> None:
    if not terminal.is_terminal:
        for cells in _plain_rows(document):
            terminal.print_line("\t".join(format_one_line(it) for it in cells))
        return
    style = text_style(terminal)
    quotations = cast(list[dict[str, Any]], document["quotations"])
    for it in cast(list[dict[str, Any]], document["sentences"]):
        for line in wrap_passage(_sentence(it, quotations), [], style, ""):
            terminal.print_line(line)
    if document["sentences"]:
        terminal.print_line()
    elif quotations:
        terminal.print_line(f"{UNSURE if document['unsure'] else PASSAGES}\n")
    for it in quotations:
        _show_quotation(terminal, it, style)
    if quotations:
        first = shlex.quote(f"{quotations[0]['source']}/{quotations[0]['path']}")
        terminal.info(f"Read one: pecia read {first}")
    _show_nearest(terminal, cast(list[dict[str, Any]], document["nearest"]), style)


def _show_nearest(terminal: Terminal, nearest: list[dict[str, Any]], style: TextStyle) -> None:
    if nearest:
        terminal.print_line("Nearest, though no answer:")
    for it in nearest:
        terminal.print_line(f"  {style.bold(format_cell(it['title'] or it['path']))}")
        terminal.print_line(f"  {style.dim(_where(it))}")


def _plain_rows(document: dict[str, Json]) -> Iterator[list[Json]]:
    """A line is a sentence, a quotation or a near file; the first column says which."""
    quotations = cast(list[dict[str, Any]], document["quotations"])
    for it in cast(list[dict[str, Any]], document["sentences"]):
        numbers = ",".join(str(one) for one in it["quotations"])
        yield ["sentence", numbers, "", it["text"] or _join_quotations(it, quotations)]
    for it in quotations:
        yield ["quotation", it["number"], f"{it['source']}/{it['path']}", it["text"]]
    for it in cast(list[dict[str, Any]], document["nearest"]):
        yield ["nearest", "", f"{it['source']}/{it['path']}", it["title"]]


def _sentence(it: dict[str, Any], quotations: list[dict[str, Any]]) -> str:
    cited = "".join(f"[{number}]" for number in it["quotations"])
    return f"{it['text'] or f'“{_join_quotations(it, quotations)}”'} {cited}"


def _join_quotations(it: dict[str, Any], quotations: list[dict[str, Any]]) -> str:
    """The quotations in place of a sentence that said more than they do."""
    texts = {one["number"]: str(one["text"]) for one in quotations}
    return " … ".join(" ".join(texts[one].split()) for one in it["quotations"])


def _show_quotation(terminal: Terminal, it: dict[str, Any], style: TextStyle) -> None:
    number = f"[{it['number']}]"
    terminal.print_line(f"{number:>4} {style.bold(format_cell(it['title'] or it['path']))}")
    terminal.print_line(f"     {style.dim(_where(it))}")
    for line in wrap_passage(f"{it['header'] or ''}{it['text']}", [], style, "     "):
        terminal.print_line(line)
    terminal.print_line()


def _where(it: dict[str, Any]) -> str:
    where = f", {' '.join(it['where'].split())}" if it["where"] else ""
    return format_cell(f"{it['source']}/{it['path']}{where}")


def _remarks(document: dict[str, Json]) -> Iterator[str]:
    if absent := cast(list[str], document["absent"]):
        yield f"no text here has: {', '.join(absent)}"
    if document["outcome"] == "nothing":
        yield "nothing here answers this"
    if document["unsure"] and not absent:
        yield "none of these passages stands out as the answer"
    if document["dropped"]:
        yield f"left out: {document['dropped']} sentences of the model that no quotation supports"
    if document["note"]:
        yield f"no model: {document['note']}"
    for it in cast(list[str], document["degraded"]):
        yield f"warning: {it}"


COMMANDS = {
    "ask": DirectCommand(
        ask,
        "Answer a question from everything that you may see. Every sentence cites files by\n"
        "number; without a model, the passages that answer are shown as they stand. Exits with 1\n"
        "when nothing here answers it. --json: question, outcome (answered, passages or nothing),\n"
        "sentences (text, quotations), quotations (number, source, path, uri, title, where,\n"
        "kind, revision, start, end, text, header), nearest, used_model, unsure (no passage\n"
        "stands out as the answer), dropped, reworded, note, absent, degraded. In a pipe, or with\n"
        "--plain: a line for each sentence, quotation or near file, with tabs between what it is,\n"
        "its numbers, its place and its text.",
        {
            "words": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The question.",
            },
            "source": {"type": "string", "description": "Only this source."},
            "path": {"type": "string", "description": "Only paths like this: reports/**."},
            "passages": {
                "type": "boolean",
                "default": False,
                "description": "Ask no model: passages alone.",
            },
            "provider": {
                "enum": ["openai", "anthropic", "gemini", "deepseek", "openrouter", "operator"],
                "description": "Whose model; else what the server has.",
            },
            "model": {"type": "string", "description": "Its name; else the provider's default."},
        },
        ("words",),
        ("words",),
        tool_names={"question": "words"},
    )
}
