"""The demo handbook keeps its own promises. Read with plain Python, never with code of ours."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import NotRequired, TypedDict, cast

import pytest
from ruamel.yaml import YAML

EXAMPLES = Path(__file__).parents[2] / "examples"
HANDBOOK = EXAMPLES / "handbook"
CASCADE = HANDBOOK / "cascade"
DEAD_LINK = ("meetings/2026-06-18-fleet-review", "policies/subletting")
ORPHAN = "notes/coffee-machine"
RESERVED = {"index", "log"}
WIKI_LINK = re.compile(r"\[\[([^\[\]|#\n]+)(?:#([^\[\]|\n]+))?(?:\|[^\[\]\n]+)?\]\]")
MARKDOWN_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#{1,6})\s+(.*?)(?:\s*\{[^}]*\})?\s*$")


class Source(TypedDict):
    path: str
    figure: str
    section: NotRequired[str]
    page: NotRequired[int]
    also: NotRequired[list[str]]


class Question(TypedDict):
    id: str
    kind: str
    question: str
    answer: str | None
    sources: list[Source]
    why: NotRequired[str]
    concept: NotRequired[str]


class Layer(TypedDict):
    name: str
    level: int
    source: str
    path: str


@dataclass(frozen=True, slots=True)
class Link:
    source: str
    target: str
    found: str | None
    anchor: str | None


def pages() -> dict[str, str]:
    """Every page of the wiki by its name; the cascade is a world of its own."""
    # What a server that was tried on it wrote there is none of its pages.
    others = {CASCADE, HANDBOOK / ".pecia"}
    files = (path for path in HANDBOOK.rglob("*.md") if others.isdisjoint(path.parents))
    return {name_of(path, HANDBOOK): path.read_text("utf-8") for path in sorted(files)}


def questions() -> list[Question]:
    lines = (HANDBOOK / "questions.jsonl").read_text("utf-8").splitlines()
    return [cast(Question, json.loads(line)) for line in lines]


def layers() -> list[Layer]:
    manifest = json.loads((CASCADE / "manifest.json").read_text("utf-8"))
    return cast(list[Layer], manifest["layers"])


def concepts(layer: Layer) -> dict[str, str]:
    root = CASCADE / layer["path"]
    found = {name_of(path, root): path.read_text("utf-8") for path in sorted(root.rglob("*.md"))}
    return {key: text for key, text in found.items() if PurePosixPath(key).name not in RESERVED}


def name_of(path: Path, root: Path) -> str:
    return path.relative_to(root).with_suffix("").as_posix()


PAGES = pages()
QUESTIONS = questions()
SOURCES = [(it, source) for it in QUESTIONS for source in it["sources"]]
LAYERS = {it["name"]: concepts(it) for it in layers()}
CONCEPTS = sorted({concept for held in LAYERS.values() for concept in held})


def test_every_link_is_alive_but_the_one_in_the_readme() -> None:
    dead = [(it.source, it.target) for it in all_links() if it.found is None]
    assert dead == [DEAD_LINK]
    assert f"`{DEAD_LINK[1]}`" in PAGES["README"]


def test_every_anchor_names_a_heading() -> None:
    lost = [
        it
        for it in all_links()
        if it.found in PAGES
        and it.anchor
        and slug(it.anchor) not in {slug(title) for _, _, title in headings(PAGES[it.found])}
    ]
    assert lost == []


def test_one_page_is_an_orphan_and_every_other_page_is_linked_both_ways() -> None:
    alive = [it for it in all_links() if it.found in PAGES and it.found != it.source]
    assert PAGES.keys() - {it.found for it in alive} == {ORPHAN}
    assert PAGES.keys() - {it.source for it in alive} == {ORPHAN}
    assert f"`{ORPHAN}`" in PAGES["README"]


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"README"}))
def test_a_page_says_what_it_is_in_forty_to_a_hundred_and_fifty_lines(name: str) -> None:
    front = frontmatter(PAGES[name])
    assert all(isinstance(front[key], str) for key in ("title", "type", "description", "owner"))
    assert isinstance(front["tags"], list)
    assert isinstance(front["updated"], date)
    assert 40 <= len(PAGES[name].splitlines()) <= 150


def test_every_part_number_in_any_text_is_in_the_parts_list() -> None:
    texts = [*PAGES.values(), *(path.read_text("utf-8") for path in pdf_texts())]
    used = {number for text in texts for number in re.findall(r"QP-\d{4}", text)}
    listed = re.findall(r"^\| (QP-\d{4}) ", PAGES["products/parts-list"], re.MULTILINE)
    assert used == set(listed)
    assert len(listed) == len(set(listed))


def test_the_manifest_names_folders_that_exist_and_levels_that_differ() -> None:
    found = layers()
    assert [(it["name"], it["level"]) for it in found] == [
        ("company", 0),
        ("team", 2),
        ("personal", 3),
    ]
    assert all((CASCADE / it["path"]).is_dir() for it in found)


def test_every_concept_has_a_type_and_links_that_some_layer_answers() -> None:
    for layer, held in LAYERS.items():
        for concept, text in held.items():
            assert isinstance(frontmatter(text)["type"], str), (layer, concept)
            for target, _ in wiki_targets(text):
                assert target in CONCEPTS, (layer, concept, target)
            for target in markdown_targets(text):
                assert joined(concept, target).removesuffix(".md") in CONCEPTS, (layer, target)


def test_the_cascade_shows_what_its_readme_says() -> None:
    table = (CASCADE / "README.md").read_text("utf-8")
    told = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", table, re.MULTILINE))
    held = {it: [name for name, concepts in LAYERS.items() if it in concepts] for it in CONCEPTS}
    assert told == {
        it: "all three" if len(names) == 3 else ", ".join(names) for it, names in held.items()
    }


def test_the_cascade_has_tombstones_a_cut_and_titles_that_differ() -> None:
    team, company = LAYERS["team"], LAYERS["company"]
    purchases = "policies/tool-purchases"
    assert "{#petty-cash override=none}" in team[purchases]
    assert "{#petty-cash}" in company[purchases]
    assert "{#radio override=none}" in LAYERS["personal"]["runbooks/open-the-workshop"]
    assert frontmatter(team[purchases])["title"] != frontmatter(company[purchases])["title"]
    assert frontmatter(team["workshop/loan-bikes"])["override"] == "full"


def test_the_layer_that_loses_the_calibration_is_the_newer_one() -> None:
    team, company = (LAYERS[name]["workshop/torque-tools"] for name in ("team", "company"))
    assert section(team, "Calibration") != section(company, "Calibration")
    assert str(frontmatter(company)["updated"]) > str(frontmatter(team)["updated"])


def test_there_are_forty_questions_each_with_its_own_id() -> None:
    assert [it["id"] for it in QUESTIONS] == [f"q{number:02d}" for number in range(1, 41)]
    assert len({it["question"] for it in QUESTIONS}) == 40


@pytest.mark.parametrize(("asked", "source"), SOURCES, ids=[it["id"] for it, _ in SOURCES])
def test_the_figure_of_an_answer_stands_where_the_question_says(
    asked: Question, source: Source
) -> None:
    assert asked["answer"]
    assert (HANDBOOK / source["path"]).is_file()
    assert source["figure"] in passage(source)
    for other in source.get("also", []):
        assert source["figure"] in (HANDBOOK / other).read_text("utf-8")


def test_a_paraphrase_shares_no_long_word_with_its_section() -> None:
    asked = [it for it in QUESTIONS if it["kind"] == "paraphrase"]
    shared = {
        it["id"]: long_words(it["question"]) & long_words(passage(it["sources"][0])) for it in asked
    }
    assert len(asked) == 7
    assert not any(shared.values()), shared


def test_a_question_that_combines_names_two_files() -> None:
    asked = [it for it in QUESTIONS if it["kind"] == "combine"]
    assert len(asked) == 8
    assert all(len({source["path"] for source in it["sources"]}) == 2 for it in asked)


def test_a_question_without_an_answer_says_why_and_names_no_source() -> None:
    bare = [it for it in QUESTIONS if it["answer"] is None]
    assert {it["kind"] for it in bare} == {"unanswerable"}
    assert len(bare) == 4
    assert all(it.get("why") and not it["sources"] for it in bare)


def test_a_question_about_the_cascade_names_a_concept() -> None:
    asked = [it for it in QUESTIONS if it["kind"] == "cascade"]
    assert len(asked) == 3
    assert all(it.get("concept") in CONCEPTS for it in asked)


def test_every_pdf_was_set_from_the_text_in_the_repository() -> None:
    for text in pdf_texts():
        made = pdf_of(text).read_bytes()
        assert made.startswith(b"%PDF-")
        assert f"source-sha256={hashlib.sha256(text.read_bytes()).hexdigest()}".encode() in made
        assert len(re.findall(rb"/Type /Page\b", made)) == len(pdf_pages(text))
    assert {pdf_of(text) for text in pdf_texts()} == set(HANDBOOK.rglob("*.pdf"))


def all_links() -> Iterator[Link]:
    for source, text in PAGES.items():
        for target, anchor in wiki_targets(text):
            yield Link(source, target, resolved(target), anchor)
        for target in markdown_targets(text):
            path = joined(source, target)
            found = path.removesuffix(".md") if (HANDBOOK / path).is_file() else None
            yield Link(source, target, found, None)


def resolved(target: str) -> str | None:
    """A full name, else the only page with that base name, else the only page with that title."""
    if target in PAGES:
        return target
    by_base = [name for name in PAGES if PurePosixPath(name).name == target]
    by_title = [name for name, text in PAGES.items() if frontmatter(text).get("title") == target]
    return next((found[0] for found in (by_base, by_title) if len(found) == 1), None)


def wiki_targets(text: str) -> list[tuple[str, str | None]]:
    found = WIKI_LINK.finditer(without_code(text))
    return [(it[1].strip(), it[2]) for it in found]


def markdown_targets(text: str) -> list[str]:
    return [it for it in MARKDOWN_LINK.findall(without_code(text)) if "://" not in it]


def joined(source: str, target: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(source).parent / target).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def without_code(text: str) -> str:
    """The text with the same lines, but with nothing where code was."""
    blank = FENCE.sub(lambda it: "\n" * it[0].count("\n"), text)
    return re.sub(r"`[^`\n]*`", "", blank)


def headings(text: str) -> list[tuple[int, int, str]]:
    """Line, depth and title of each heading."""
    lines = FENCE.sub(lambda it: "\n" * it[0].count("\n"), text).splitlines()
    found = ((number, HEADING.match(line)) for number, line in enumerate(lines))
    return [(number, len(it[1]), it[2]) for number, it in found if it]


def section(text: str, title: str) -> str:
    found = headings(text)
    start, depth = next((line, depth) for line, depth, it in found if it == title)
    ends = (line for line, other, _ in found if line > start and other <= depth)
    return "\n".join(text.splitlines()[start : next(ends, None)])


def passage(source: Source) -> str:
    path = HANDBOOK / source["path"]
    if path.suffix == ".pdf":
        text = next(it for it in pdf_texts() if pdf_of(it) == path)
        return pdf_pages(text)[source.get("page", 0) - 1]
    return section(path.read_text("utf-8"), source.get("section", ""))


def pdf_texts() -> list[Path]:
    return sorted((EXAMPLES / "pdf").glob("*.txt"))


def pdf_pages(text: Path) -> list[str]:
    return text.read_text("utf-8").split("===page===\n")[1:]


def pdf_of(text: Path) -> Path:
    found = re.search(r"^output: (.+)$", text.read_text("utf-8"), re.MULTILINE)
    assert found
    return HANDBOOK / found[1]


def frontmatter(text: str) -> dict[str, object]:
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    # The loader of ruamel is untyped; what it returns is checked where it is used.
    load = cast(Callable[[str], dict[str, object]], YAML(typ="safe").load)  # pyright: ignore[reportUnknownMemberType]
    return load(found[1]) if found else {}


def long_words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{5,}", text.lower()))


def slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
