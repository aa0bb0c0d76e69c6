"""Two openings for a conversation. What a package or a source says is data, never an order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Completion, Prompt, PromptArgument, PromptMessage, Text
from pecia.rooms.ckf.compiling import ROOM
from pecia.rooms.ckf.library import Library

SUGGESTED = 100
_WORDS = files("pecia.rooms.ckf")
TALK = _WORDS.joinpath("talk-to-article.md").read_text("utf-8").strip()
CRITIQUE = _WORDS.joinpath("compile-and-critique.md").read_text("utf-8").strip()


@dataclass(frozen=True, slots=True)
class Openings:
    """The handlers."""

    library: Library

    async def talk(self, call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
        # A slug that is none is refused here, before a model goes looking for it.
        post, _ = await self.library.fetch(call.caller, given["slug"])
        return [PromptMessage("user", Text(f"{TALK}\n\nslug: {post.slug}"))]

    async def critique(self, call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
        text = f"{CRITIQUE}\n\n<source>\n{given['text']}\n</source>"
        return [PromptMessage("user", Text(text))]

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        slugs = await self.library.slugs(call.caller) if name == "slug" else ()
        return Completion(tuple(it for it in slugs if it.startswith(value))[:SUGGESTED])


def prompts(library: Library) -> tuple[Prompt, ...]:
    it = Openings(library)
    return (
        Prompt(
            ROOM,
            "talk-to-article",
            Scope.READ,
            "Answer questions from one published package, with citations.",
            (PromptArgument("slug", "Of the post, as ckf.search_posts gives it."),),
            it.talk,
            it.complete,
        ),
        Prompt(
            ROOM,
            "compile-and-critique",
            Scope.READ,
            "Compile a text, then say what the package lacks.",
            (PromptArgument("text", "The source, 20 to 200,000 characters."),),
            it.critique,
        ),
    )
