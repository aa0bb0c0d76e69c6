"""The part of a form by which a model is asked, and the asking. A key is never shown again."""

from collections.abc import Mapping

from pydantic import ValidationError

from pecia.kernel.errors import Unavailable
from pecia.kernel.room import Ask
from pecia.kernel.tool.complaints import bad_argument
from pecia.rooms.ckf.llm.tool import CompileLlm
from pecia.rooms.ckf.options import SourceText
from pecia.rooms.ckf.outputs import Compiled
from pecia.rooms.ckf.pages.desk import Desk
from pecia.rooms.ckf.pages.forms import choice, field
from pecia.rooms.ckf.pages.html import Html, tag

PROVIDERS = ("operator", "openai", "anthropic", "gemini", "deepseek", "openrouter")
TAKEN = ("provider", "model", "byok_key", "language", "compression_level")


def is_wanted(form: Mapping[str, str]) -> bool:
    """Whether the form asks for the compiler that uses a model."""
    return form.get("compiler") == "model"


async def compiled_by_model(
    desk: Desk, ask: Ask, form: Mapping[str, str], source: SourceText
) -> Compiled:
    """The package that a model makes of a text, under the rules of the tool."""
    if desk.llm is None:
        raise Unavailable("no model can be asked here", retryable=False, hint="Use the other one.")
    given = {name: form[name].strip() for name in TAKEN if form.get(name, "").strip()}
    try:
        wanted = CompileLlm.model_validate(given)
    except ValidationError as error:
        raise bad_argument(error, CompileLlm) from None

    async def read() -> SourceText:
        return source

    call = desk.works.heard(ask, form.get("progress", ""))
    return await desk.llm.made(call, wanted, read)


def model_fields(form: Mapping[str, str]) -> Html:
    """Whose model, which one, and on whose key. The key is not put back into a form."""
    provider = form.get("provider") or PROVIDERS[0]
    key = tag("input", name="byok_key", type="password", maxlength=500, autocomplete="off")
    name = tag("input", name="model", value=form.get("model", ""), maxlength=100)
    return tag(
        "div",
        field("Provider", choice("provider", PROVIDERS, provider), "operator: this server's own"),
        field("Model", name, "else the provider's usual one"),
        field("Your key", key, "used for this once, never kept or shown"),
        class_="row",
    )
