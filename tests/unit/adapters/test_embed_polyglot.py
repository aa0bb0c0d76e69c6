"""English by MiniLM and other languages by its student, in one vector space."""

import hashlib
from pathlib import Path

import numpy as np
import pecia_polyglot
import pytest

from pecia.adapters.embedding.factory import open_embedder
from pecia.adapters.embedding.model_files import find_shipped_model
from pecia.adapters.embedding.onnx import OnnxEmbedder
from pecia.adapters.embedding.polyglot import PolyglotEmbedder, is_english, read_vocabulary
from pecia.adapters.embedding.settings import EmbedSettings
from pecia.kernel.corpus.vectors.embedder import Embedder

pytestmark = pytest.mark.anyio

KNOWN = read_vocabulary(find_shipped_model().tokenizer)


@pytest.fixture(scope="module")
def polyglot() -> Embedder:
    return PolyglotEmbedder.in_process(threads=1)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_files_are_those_that_the_package_describes() -> None:
    assert digest(pecia_polyglot.model_path()) == pecia_polyglot.MODEL_SHA256
    assert digest(pecia_polyglot.tokenizer_path()) == pecia_polyglot.TOKENIZER_SHA256


async def test_it_is_the_default_where_it_is_installed() -> None:
    async with open_embedder(EmbedSettings()) as embedder:
        assert isinstance(embedder, PolyglotEmbedder)


async def test_english_has_the_vectors_of_minilm(polyglot: Embedder) -> None:
    texts = ["How do I renew my library card?", "The invoice is due at the end of the month."]
    alone = await OnnxEmbedder(find_shipped_model(), threads=1).embed(texts)
    # Beside a text in another language, in the order of the texts.
    mixed = await polyglot.embed([texts[0], "Wie verlängere ich meinen Ausweis?", texts[1]])
    assert np.array_equal(mixed[[0, 2]], alone)
    assert np.allclose(np.linalg.norm(mixed, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Wer repariert kaputte Fahrräder?", 0),
        ("¿Cuánto dura el permiso de maternidad?", 1),
        ("Где хранится резервная копия базы данных?", 2),
        ("谁修理坏了的自行车？", 0),
        ("数据库的备份存放在哪里？", 2),
        ("टूटी हुई साइकिल की मरम्मत कौन करता है?", 0),
        ("ใครซ่อมจักรยานที่เสีย", 0),
        ("أين يتم تخزين النسخة الاحتياطية لقاعدة البيانات؟", 2),
        ("Bozuk bisikletleri kim onarır?", 0),
    ],
)
async def test_a_question_in_another_language_is_nearest_to_its_english_answer(
    polyglot: Embedder, question: str, answer: int
) -> None:
    passages = [
        "Broken bicycles are repaired by the workshop within two days.",
        "Maternity leave lasts sixteen weeks and is paid in full.",
        "The backup of the database is stored in a second data centre.",
        "Visitors sign in at the front desk and wear a badge.",
    ]
    vectors = await polyglot.embed([question, *passages])
    assert int(np.argmax(vectors[1:] @ vectors[0])) == answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stolen bike", True),
        ("spokes", True),
        ("Activation of PPM1D enhances p53 function", True),
        ("How hot did the machine room get when the pump broke down?", True),
        ("SELECT id FROM user", True),
        ("", True),
        ("42", True),
        ("Fahrrad gestohlen", False),
        ("Datenbank Sicherung einrichten", False),
        ("bicicleta robada", False),
        ("kerékpár javítás", False),
        ("резервная копия", False),
        ("自行车", False),
        ("电源管理 It does not wake up. 笔记本电脑睡眠之后无法唤醒。", False),
        ("The station is called Киев on the old maps of the railway.", True),
        ("Xe đạp bị mất cắp", False),
    ],
)
def test_a_text_is_read_as_english_by_its_words(text: str, expected: bool) -> None:
    assert is_english(text, KNOWN) is expected
