"""The ready-made prompt: the whole loop of locating, reading and answering, for chat clients."""

from collections.abc import Mapping, Sequence
from importlib.resources import files

from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Prompt, PromptArgument, PromptMessage, TextContent

FEATURE = "lake"

ANSWER_INSTRUCTIONS = (
    files("pecia.features.lake").joinpath("answer-from-sources.md").read_text("utf-8").strip()
)


def answer_from_sources() -> Prompt:
    return Prompt(
        FEATURE,
        "answer-from-sources",
        Scope.SEARCH,
        "Answer a question from the documents you may see, with citations.",
        (PromptArgument("question", "What you want to know."),),
        _render,
    )


async def _render(call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
    return [
        PromptMessage(
            "user", TextContent(f"{ANSWER_INSTRUCTIONS}\n\nQuestion: {given['question']}")
        )
    ]
