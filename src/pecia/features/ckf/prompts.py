"""Two MCP prompts. Text of a package or a source is data, never an instruction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from pecia.features.ckf.library.library import PostLibrary
from pecia.features.ckf.tools.compile import FEATURE
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Completion, Prompt, PromptArgument, PromptMessage, TextContent

MAX_COMPLETIONS = 100
_TEXTS = files("pecia.features.ckf")
TALK_PROMPT = _TEXTS.joinpath("talk-to-article.md").read_text("utf-8").strip()
CRITIQUE_PROMPT = _TEXTS.joinpath("compile-and-critique.md").read_text("utf-8").strip()


@dataclass(frozen=True, slots=True)
class PromptHandlers:
    """The handlers."""

    library: PostLibrary

    async def talk(self, call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
        # An unknown slug is refused here, before a model searches for it.
        post, _ = await self.library.fetch(call.caller, given["slug"])
        return [PromptMessage("user", TextContent(f"{TALK_PROMPT}\n\nslug: {post.slug}"))]

    async def critique(self, call: Call, given: Mapping[str, str]) -> Sequence[PromptMessage]:
        text = f"{CRITIQUE_PROMPT}\n\n<source>\n{given['text']}\n</source>"
        return [PromptMessage("user", TextContent(text))]

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        slugs = await self.library.slugs(call.caller) if name == "slug" else ()
        return Completion(tuple(it for it in slugs if it.startswith(value))[:MAX_COMPLETIONS])


def build_prompts(library: PostLibrary) -> tuple[Prompt, ...]:
    it = PromptHandlers(library)
    return (
        Prompt(
            FEATURE,
            "talk-to-article",
            Scope.READ,
            "Answer questions from one published package, with citations.",
            (PromptArgument("slug", "The post's slug, from ckf.search_posts."),),
            it.talk,
            it.complete,
        ),
        Prompt(
            FEATURE,
            "compile-and-critique",
            Scope.READ,
            "Compile a text, then say what the package lacks.",
            (PromptArgument("text", "The source, 20 to 200,000 characters."),),
            it.critique,
        ),
    )
