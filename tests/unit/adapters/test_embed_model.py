"""Models that run here: the one that is shipped, files of one's own, static vectors, none."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import anyio
import numpy as np
import pecia_minilm
import pytest
from numpy.typing import NDArray

from pecia.adapters.embedding.factory import open_embedder
from pecia.adapters.embedding.model_files import find_shipped_model, load_model_files
from pecia.adapters.embedding.onnx import OnnxEmbedder, batch_by_length, mean_pool
from pecia.adapters.embedding.settings import EmbedSettings
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import InvalidInput, Unavailable
from pecia.kernel.settings.load import load_settings

pytestmark = pytest.mark.anyio

PACKAGE = Path(__file__).parents[3] / "packages" / "pecia-minilm"


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return OnnxEmbedder(find_shipped_model(), threads=1)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_shipped_files_are_those_that_the_package_describes() -> None:
    assert digest(pecia_minilm.model_path()) == pecia_minilm.MODEL_SHA256
    assert digest(pecia_minilm.tokenizer_path()) == pecia_minilm.TOKENIZER_SHA256


@pytest.mark.slow
def test_a_wheel_of_the_package_carries_model_tokenizer_licence_and_notice(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*build, str(PACKAGE)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("pecia_minilm-0.1.*.whl")
    with ZipFile(wheel) as packed:
        names = packed.namelist()
        model = packed.read("pecia_minilm/model.int8.onnx")
    assert hashlib.sha256(model).hexdigest() == pecia_minilm.MODEL_SHA256
    assert "pecia_minilm/tokenizer.json" in names
    assert {Path(it).name for it in names} >= {"LICENSE", "NOTICE", "py.typed"}


async def test_vectors_are_of_length_one_in_the_order_of_the_texts(minilm: Embedder) -> None:
    texts = ["a cat sat on the mat", "", "quarterly revenue grew by four percent " * 90]
    vectors = await minilm.embed(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, pecia_minilm.DIMENSION) == (3, await minilm.dimension())
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal((await minilm.embed([text]))[0], vector)


async def test_texts_of_one_meaning_are_near_and_others_are_not(minilm: Embedder) -> None:
    car, automobile, soup = await minilm.embed(
        ["How do I repair my car?", "fixing an automobile", "a recipe for onion soup"]
    )
    assert car @ automobile > 0.5 > 0.3 > car @ soup


async def test_what_is_past_the_token_limit_does_not_count(minilm: Embedder) -> None:
    words = "word " * pecia_minilm.MAX_TOKENS
    short, long = await minilm.embed([words, f"{words} something else entirely"])
    assert np.array_equal(short, long)


async def test_no_texts_are_no_rows(minilm: Embedder) -> None:
    assert (await minilm.embed([])).shape == (0, pecia_minilm.DIMENSION)


async def test_a_text_that_is_not_unicode_is_embedded_all_the_same(minilm: Embedder) -> None:
    assert (await minilm.embed(["half a sign: \ud800"])).shape == (1, pecia_minilm.DIMENSION)


async def test_many_callers_at_once_load_the_model_once_and_get_their_own_vectors() -> None:
    embedder = OnnxEmbedder(find_shipped_model(), threads=1)
    texts = [f"text number {number}" for number in range(8)]
    found: dict[str, NDArray[np.float32]] = {}

    async def ask(text: str) -> None:
        found[text] = (await embedder.embed([text]))[0]

    async with anyio.create_task_group() as group:
        for text in texts:
            group.start_soon(ask, text)
    together = await embedder.embed(texts)
    assert all(np.array_equal(found[it], row) for it, row in zip(texts, together, strict=True))


def test_choosing_an_embedder_imports_no_runtime() -> None:
    code = (
        "import anyio, sys\n"
        "from pecia.adapters.embedding.factory import open_embedder\n"
        "from pecia.adapters.embedding.settings import EmbedSettings\n"
        "async def main():\n"
        "    async with open_embedder(EmbedSettings()) as it:\n"
        "        assert it.name and it.language == ''\n"
        "anyio.run(main)\n"
        "print([it for it in ('numpy', 'onnxruntime', 'tokenizers') if it in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_batches_hold_every_text_once_and_pad_little() -> None:
    lengths = [5, 300, 7, 4000, 6, 310]
    made = [*batch_by_length(lengths, 700)]
    assert sorted(number for batch in made for number in batch) == [*range(6)]
    assert made == [[0, 4, 2], [1, 5], [3]]


def test_the_mean_leaves_padding_out() -> None:
    tokens = np.array([[[1, 1], [3, 5], [9, 9]]], np.float32)
    assert mean_pool(tokens, np.array([[1, 1, 0]])).tolist() == [[2, 3]]


async def test_a_model_file_of_ones_own_is_named_by_its_content(tmp_path: Path) -> None:
    model, tokenizer = tmp_path / "mine.onnx", tmp_path / "tokenizer.json"
    model.symlink_to(pecia_minilm.model_path())
    tokenizer.symlink_to(pecia_minilm.tokenizer_path())
    settings = EmbedSettings(kind="onnx", model_file=model, tokenizer_file=tokenizer, language="de")
    async with open_embedder(settings) as embedder:
        assert embedder is not None
        assert embedder.language == "de"
        assert await embedder.dimension() == pecia_minilm.DIMENSION
        name = embedder.name
    assert name.startswith("mine-")
    assert load_model_files(model, tokenizer, max_tokens=256, language="").name == name
    assert load_model_files(model, tokenizer, max_tokens=128, language="").name != name
    assert load_model_files(model, model, max_tokens=256, language="").name != name


async def test_a_file_that_is_no_model_is_an_error_without_its_path(tmp_path: Path) -> None:
    model = tmp_path / "bad.onnx"
    model.write_bytes(b"not a model")
    files = load_model_files(model, pecia_minilm.tokenizer_path(), max_tokens=256, language="")
    with pytest.raises(Unavailable, match=r"bad\.onnx") as caught:
        await OnnxEmbedder(files).embed(["hello"])
    assert str(tmp_path) not in caught.value.message
    assert caught.value.payload()["retryable"] is False


async def test_a_model_file_that_is_not_there_names_its_setting(tmp_path: Path) -> None:
    settings = EmbedSettings(
        kind="static", model_file=tmp_path / "none.npz", tokenizer_file=tmp_path / "t.json"
    )
    with pytest.raises(InvalidInput) as caught:
        async with open_embedder(settings):
            pass
    assert caught.value.fields["field"] == "embed.model_file"


@pytest.mark.parametrize(
    ("kind", "field"), [("onnx", "embed.model_file"), ("endpoint", "embed.url")]
)
def test_a_kind_without_what_it_needs_is_refused_at_the_start(kind: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_settings(
            [EmbedSettings],
            flags={"embed.kind": kind},
            environ={},
            project_file=None,
            user_file=None,
        )
    assert caught.value.fields["field"] == field


async def test_none_is_no_embedder() -> None:
    async with open_embedder(EmbedSettings(kind="none")) as embedder:
        assert embedder is None


def word_tokenizer(path: Path) -> Path:
    path.write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "pre_tokenizer": {"type": "Whitespace"},
                "model": {
                    "type": "WordLevel",
                    "vocab": {"[UNK]": 0, "red": 1, "blue": 2, "late": 9},
                    "unk_token": "[UNK]",
                },
            }
        )
    )
    return path


TABLE = np.array([[0, 0], [2, 0], [0, 4]], np.float32)


def safetensors(path: Path, **tensors: NDArray[np.float16]) -> Path:
    """The format by hand: a length, a header, the numbers."""
    header: dict[str, object] = {"__metadata__": {"format": "np"}}
    body = b""
    for name, tensor in tensors.items():
        raw = tensor.tobytes()
        span = [len(body), len(body) + len(raw)]
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": span}
        body += raw
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + body)
    return path


async def static_rows(model: Path, tokenizer: Path, texts: list[str]) -> list[list[float]]:
    settings = EmbedSettings(kind="static", model_file=model, tokenizer_file=tokenizer)
    async with open_embedder(settings) as embedder:
        assert embedder is not None
        assert await embedder.dimension() == 2
        return np.round((await embedder.embed(texts)).astype(np.float64), 3).tolist()


async def test_static_vectors_are_means_of_tokens(tmp_path: Path) -> None:
    np.savez(tmp_path / "table.npz", table=TABLE)
    tokenizer = word_tokenizer(tmp_path / "tokenizer.json")
    found = await static_rows(
        tmp_path / "table.npz", tokenizer, ["red", "red blue", "late", "green", ""]
    )
    assert found == [[1, 0], [0.447, 0.894], [0, 0], [0, 0], [0, 0]]
    half = safetensors(tmp_path / "half.safetensors", table=TABLE.astype(np.float16))
    assert await static_rows(half, tokenizer, ["red blue"]) == [[0.447, 0.894]]


async def test_static_tokens_may_have_weights(tmp_path: Path) -> None:
    weights = np.array([1, 2, 1], np.float16)
    file = safetensors(tmp_path / "w.safetensors", table=TABLE.astype(np.float16), weights=weights)
    found = await static_rows(file, word_tokenizer(tmp_path / "t.json"), ["red blue"])
    assert found == [[0.707, 0.707]]


@pytest.mark.parametrize("name", ["bad.safetensors", "bad.npz"])
async def test_a_file_that_is_no_table_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff" * 40)
    with pytest.raises(Unavailable, match="cannot be used"):
        await static_rows(tmp_path / name, word_tokenizer(tmp_path / "t.json"), ["red"])


async def test_two_tables_in_one_file_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", one=TABLE, other=TABLE)
    with pytest.raises(Unavailable, match="one, other"):
        await static_rows(tmp_path / "two.npz", word_tokenizer(tmp_path / "t.json"), ["red"])
