"""A model as files on this machine, named by their content."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pecia.kernel.errors import InvalidInput, Unavailable

# No language comes near this on average, so nothing that the model would read is cut.
MAX_CHARS_PER_TOKEN = 32


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """What a model that runs here is made of. `name` changes whenever the content does.

    `alone`: each text runs by itself. In a model whose activations are quantised as it runs, the
    texts of a batch change each other's vectors (cosines down to .985); alone they cost the same.
    """

    name: str
    model: Path
    tokenizer: Path
    max_tokens: int
    language: str = ""
    alone: bool = False

    @property
    def max_chars(self) -> int:
        """A tokenizer takes seconds for a megabyte of which the model reads the beginning only."""
        return MAX_CHARS_PER_TOKEN * self.max_tokens


def find_shipped_model() -> ModelFiles:
    """The model that is installed with Pecia."""
    import pecia_minilm

    return ModelFiles(
        pecia_minilm.NAME,
        pecia_minilm.model_path(),
        pecia_minilm.tokenizer_path(),
        pecia_minilm.MAX_TOKENS,
        language="en",
        alone=True,
    )


def load_model_files(model: Path, tokenizer: Path, *, max_tokens: int, language: str) -> ModelFiles:
    """Files that the operator chose. Reads them once, for their digest."""
    digest = hashlib.sha256()
    for field, path in (("embed.model_file", model), ("embed.tokenizer_file", tokenizer)):
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise InvalidInput(
                f"{field} cannot be read: {error.strerror}", field=field, got=str(path)
            ) from None
    # Other token limits give other vectors.
    digest.update(str(max_tokens).encode())
    name = f"{model.stem}-{digest.hexdigest()[:12]}"
    return ModelFiles(name, model, tokenizer, max_tokens, language)


def unusable_file_error(path: Path, why: str) -> Unavailable:
    """The error for a file that is there and is not what it should be."""
    return Unavailable(
        f"the file {path.name} of the embedder cannot be used: {why}",
        retryable=False,
        reason="bad_model",
    )
