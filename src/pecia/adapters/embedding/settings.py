"""The settings of the embedder."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, SecretStr

from pecia.kernel.settings.model import SettingConflict, SettingsSection, setting
from pecia.kernel.settings.types import AbsolutePath, PositiveInt, Seconds, WebUrl

ChosenKind: TypeAlias = Literal["polyglot", "minilm", "onnx", "static", "endpoint", "none"]
Kind: TypeAlias = Literal["auto"] | ChosenKind
Retries = Annotated[int, Field(ge=0, le=10)]

# What each kind cannot do without.
_NEEDS: dict[Kind, tuple[str, ...]] = {
    "onnx": ("model_file", "tokenizer_file"),
    "static": ("model_file", "tokenizer_file"),
    "endpoint": ("url", "model"),
}


class EmbedSettings(SettingsSection):
    """Embeddings, for semantic search."""

    section = "embed"

    kind: Kind = setting(
        "auto",
        description="`auto`: `polyglot` where the package pecia-polyglot is installed, else "
        "`minilm`. `polyglot`: 63 languages in one vector space, English by MiniLM. `minilm`: the "
        "model that is shipped, for English. `onnx`: a model file of "
        "your own. `static`: token vectors, fast and coarse. `endpoint`: any server that speaks "
        "OpenAI's embeddings; texts are sent there. `none`: lexical search only.",
    )
    model_file: AbsolutePath | None = setting(
        None,
        description="The ONNX file of `onnx`, or the safetensors or npz file of `static`.",
    )
    tokenizer_file: AbsolutePath | None = setting(
        None, description="The `tokenizer.json` that belongs to the model file."
    )
    max_tokens: PositiveInt = setting(
        256, description="How much of a text a model file reads; the rest of it does not count."
    )
    threads: PositiveInt = setting(2, description="Threads of one embedding, for models run here.")
    url: WebUrl | None = setting(
        None, description="Where the endpoint is, up to `/v1`. An internal host is fine."
    )
    model: str = setting("", description="The model to ask the endpoint for.")
    key: SecretStr | None = setting(None, description="The key of the endpoint.", secret=True)
    timeout_s: Seconds = setting(
        30.0, description="How long one request to the endpoint may take.", unit="s"
    )
    retries: Retries = setting(
        3, description="How often a failed request to the endpoint is sent again."
    )
    batch: PositiveInt = setting(64, description="Texts in one request to the endpoint, at most.")
    language: str = setting(
        "",
        description="The one language that your own model understands well, such as `en`. Empty: "
        "many. Semantic scores weigh less in other languages. `minilm` is always `en`, `polyglot` "
        "has many.",
    )

    def clashes(self) -> Iterator[SettingConflict]:
        if self.kind == "polyglot" and not find_spec("pecia_polyglot"):
            yield SettingConflict(
                "kind", "`auto` or `minilm`, or `pip install pecia-polyglot`, which is missing here"
            )
        for name in _NEEDS.get(self.kind, ()):
            if not getattr(self, name):
                yield SettingConflict(name, f"set when embed.kind is {self.kind}")
