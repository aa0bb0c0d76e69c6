"""The model fields of a form, and the compile with a model. A key is never rendered again."""

from collections.abc import Mapping

from pydantic import ValidationError

from pecia.features.ckf.model import SourceText
from pecia.features.ckf.pages.context import PageContext
from pecia.features.ckf.pages.forms import render_field, render_select
from pecia.features.ckf.pages.html import Html, tag
from pecia.features.ckf.tools.compile_llm import CompileLlmInput
from pecia.features.ckf.tools.outputs import CompileOut
from pecia.kernel.errors import Unavailable
from pecia.kernel.feature import FeatureRequest
from pecia.kernel.tool.argument_errors import argument_error

PROVIDERS = ("operator", "openai", "anthropic", "gemini", "deepseek", "openrouter")
FORWARDED_FIELDS = ("provider", "model", "byok_key", "language", "compression_level")


def is_model_requested(form: Mapping[str, str]) -> bool:
    """Whether the form asks for the compiler that uses a model."""
    return form.get("compiler") == "model"


async def compile_with_form_model(
    context: PageContext, ask: FeatureRequest, form: Mapping[str, str], source: SourceText
) -> CompileOut:
    """Compile a text with a model, under the tool's access rules."""
    if context.llm is None:
        raise Unavailable(
            "no model is available here", retryable=False, hint="Use the heuristic compiler."
        )
    fields = {name: form[name].strip() for name in FORWARDED_FIELDS if form.get(name, "").strip()}
    try:
        wanted = CompileLlmInput.model_validate(fields)
    except ValidationError as error:
        raise argument_error(error, CompileLlmInput) from None

    async def read() -> SourceText:
        return source

    call = context.progress.open_call(ask, form.get("progress", ""))
    return await context.llm.compile_source(call, wanted, read)


def render_model_fields(form: Mapping[str, str]) -> Html:
    """Provider, model and key. The key is not put back into a form."""
    provider = form.get("provider") or PROVIDERS[0]
    key = tag("input", name="byok_key", type="password", maxlength=500, autocomplete="off")
    name = tag("input", name="model", value=form.get("model", ""), maxlength=100)
    return tag(
        "div",
        render_field(
            "Provider",
            render_select("provider", PROVIDERS, provider),
            "operator: this server's own",
        ),
        render_field("Model", name, "default: the provider's"),
        render_field("Your key", key, "used once, never stored or shown"),
        class_="row",
    )
