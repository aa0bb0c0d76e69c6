"""The stages around a model's answer, each by itself, and what holds of any answer at all."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.ckf_retention import is_verbatim
from pecia.features.ckf.llm.compile import compile_with_model
from pecia.features.ckf.llm.extract.accept import accept_answer
from pecia.features.ckf.llm.extract.form import build_flat_form, build_full_form, list_asked_fields
from pecia.features.ckf.llm.finish.coverage import CoverageMode
from pecia.features.ckf.llm.finish.finish import CompileResult
from pecia.features.ckf.llm.finish.numbers import check_numbers
from pecia.features.ckf.llm.finish.reduce import reduce_items
from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.llm.model import ExtractionReply, ExtractionRequest
from pecia.features.ckf.llm.prepare.preflight import profile_source
from pecia.features.ckf.llm.prepare.prepare import CompileOrder, PreparedSource, prepare_source
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package, parse_package
from pecia.features.ckf.package.field import FieldShape, PackageSection
from pecia.features.ckf.package.fields import BASES, ITEM_SECTIONS
from pecia.kernel.compute.pool import compute_workers
from pecia.kernel.errors import Json, PeciaError, UpstreamError
from pecia.kernel.text.span import Span

TEXT = (
    "# Loans\n\nA loan is money that is lent. Loans of 1,250,000.00 euros must be approved by two "
    "people.\nUnless the board agrees, no loan runs longer than 10.5 years.\n\n"
    "# Fees\n\nThe fee is 3 percent, or 4.5 percent after 2024-05-31. Call 12:30 at the latest."
)


loop: list[BlockingPortal] = []


@pytest.fixture(scope="module", autouse=True)
def _one_loop() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - pytest uses it
    """One event loop for all of them, as in a server: its compute workers stay warm."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(compute_workers()):
        loop.append(portal)
        yield
        loop.clear()


@dataclass(slots=True)
class Scripted:
    """A model that answers what it was given, in turn; the last answer stays."""

    answers: list[dict[str, Any] | PeciaError]
    provider: str = "scripted"
    name: str = "model-1"
    asked: list[ExtractionRequest] = field(default_factory=list[ExtractionRequest])

    async def fill(self, question: ExtractionRequest, key: str) -> ExtractionReply:
        self.asked.append(question)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, PeciaError):
            raise found
        return ExtractionReply(found, 10, 5)


def known_of(
    text: str = TEXT, mode: CoverageMode | None = None
) -> tuple[PreparedSource, CompileOrder]:
    order = CompileOrder(CompileOptions(), mode, chunk_timeout_s=5, budget_s=20)
    return prepare_source(SourceText(text), order), order


def compiled(
    answer: dict[str, Any], text: str = TEXT, mode: CoverageMode | None = None, **about: Any
) -> CompileResult:
    known, order = known_of(text, mode, **about)

    async def run() -> CompileResult:
        async def report(done: int, total: int) -> None:
            assert done <= total

        return await compile_with_model(known, order, Scripted([answer]), "key", report)

    return loop[0].call(run)


def quoted(quote: str, **fields: Json) -> dict[str, Json]:
    return {"source_basis": "explicit", "confidence": 1, "source_excerpts": [quote], **fields}


def test_a_quotation_with_other_spaces_and_case_is_put_right() -> None:
    made = compiled({"concepts": [quoted("a LOAN is  money", label="loan", definition="Money.")]})
    (concept,) = made.package.items("concepts")
    assert concept["source_excerpts"] == ["A loan is money"]
    assert concept["source_refs"] == ["s_001"]


def test_a_long_quotation_keeps_its_beginning() -> None:
    text = "Word after word goes on and on without an end. " * 20
    made = compiled({"concepts": [quoted(text[:900], label="word", definition="It.")]}, text)
    (concept,) = made.package.items("concepts")
    excerpts = concept["source_excerpts"]
    assert isinstance(excerpts, list)
    assert text.startswith(str(excerpts[0]))
    assert 120 <= len(str(excerpts[0])) <= 240


def test_names_become_references_and_unknown_ones_are_counted() -> None:
    lent = "A loan is money that is lent."
    said: dict[str, Json] = {
        "entities": [
            quoted(lent, name="Bank", type="firm", description="Lends.", related=[
                {"name": "Board", "relation": "depends_on"},
                {"name": "Nobody", "relation": "supports"},
            ]),
            quoted(lent, name="Board", type="body", description="Agrees."),
        ],
        "concepts": [
            quoted(lent, label="Loan", definition="Money that is lent.", supports=["fee", "x"]),
            quoted(lent, label="Fee", definition="A price."),
        ],
    }  # fmt: skip
    made = compiled(said, mode=CoverageMode.SUMMARY)
    bank, board = made.package.items("entities")
    loan, fee = made.package.items("concepts")
    related = bank["related_entities"]
    assert isinstance(related, list)
    assert isinstance(related[0], dict)
    assert related[0]["entity_id"] == board["id"]
    assert bank["related"] == [{"name": "Nobody", "relation": "supports"}]
    assert loan["supports"] == [fee["id"]]
    assert "2 references could not be resolved" in made.warnings


def test_an_exception_is_tied_to_the_rule_it_changes() -> None:
    rule = "no loan runs longer than 10.5 years"
    said: dict[str, Json] = {
        "principles": [quoted(rule, statement="No loan runs longer than 10.5 years.")],
        "exceptions": [
            quoted("Unless the board agrees", general_rule=rule, exception_case="the board agrees")
        ],
    }
    package = compiled(said, mode=CoverageMode.SUMMARY).package
    exception = package.items("exceptions")[0]
    assert exception["modifies"] == [package.items("principles")[0]["id"]]


def test_items_that_say_the_same_are_one_and_less_sure() -> None:
    first = ExtractedItem("principles", {"statement": "A loan must be approved."}, (Span(0, 4),))
    second = ExtractedItem(
        "principles",
        {"statement": "A loan must be approved", "rationale": "It is a risk."},
        (Span(9, 12),),
        "inferred",
        0.6,
    )
    (one,), left_out = reduce_items([first, second])
    assert left_out == 0
    assert one.quotes == (Span(0, 4), Span(9, 12))
    assert one.fields["rationale"] == "It is a risk."
    # The surer of the two less their spread, within what is left to an inference.
    assert (one.basis, one.confidence) == ("inferred", 0.8)


@pytest.mark.parametrize(
    ("said", "becomes", "corrected", "unverifiable"),
    [
        ("1,250,000.00", "1,250,000.00", 0, 0),
        ("1,250", "1,250,000.00", 1, 0),
        ("10", "10.5", 1, 0),
        ("1", "1", 0, 1),
        ("2024", "2024", 0, 1),
        ("7", "7", 0, 1),
    ],
)
def test_a_number_is_completed_only_where_one_can_be_meant(
    said: str, becomes: str, corrected: int, unverifiable: int
) -> None:
    known, _ = known_of()
    start = TEXT.index("Loans of")
    found = ExtractedItem(
        "principles", {"statement": f"At most {said} of it."}, (Span(start, start + 5),)
    )
    figures = check_numbers([found], known.segments)
    assert found.fields["statement"] == f"At most {becomes} of it."
    assert (len(figures.corrections), len(figures.unverifiable)) == (corrected, unverifiable)
    assert (found.basis == "uncertain") is bool(unverifiable)


def test_a_number_of_another_span_is_not_good_enough() -> None:
    known, _ = known_of()
    found = ExtractedItem("principles", {"statement": "The fee is 3 percent."}, (Span(0, 7),))
    assert len(check_numbers([found], known.segments).unverifiable) == 1


@pytest.mark.parametrize(
    ("text", "format", "records"),
    [
        ('{"text": "one"}\n{"text": "two"}\n', "jsonl_records", 2),
        ('[{"text": "one {"}, "x", {"text": "two"}]', "json_array_records", 2),
        ("Q: Why?\nA: So.\n\nQ: When?\nA: Now.", "faq", 0),
        ("\n".join(f"Art. {at}. It holds." for at in range(1, 7)), "legal_norm", 0),
        ("# Title\n\nWords.", "markdown", 0),
        ("[" * 2000, "plain_text", 0),
        ("Only words.", "plain_text", 0),
    ],
)
def test_the_kind_of_a_source_is_told_by_its_marks(text: str, format: str, records: int) -> None:
    found = profile_source(text)
    assert (found.format, found.records) == (format, records)


@pytest.mark.parametrize("text", ["", "report.pdf", "a" * 40])
def test_what_is_no_text_is_blocked(text: str) -> None:
    assert profile_source(text).block_reason


def test_records_are_spans_of_their_own() -> None:
    text = '[{"text": "one {"}, "x", {"text": "two"}]'
    known, _ = known_of(text)
    assert [it.span.of(text) for it in known.segments.parts] == [
        '{"text": "one {"}',
        '{"text": "two"}',
    ]


@given(st.text(alphabet="ab \n#.", max_size=400), st.integers(5, 60))
@settings(max_examples=50, deadline=None)
def test_chunks_hold_every_word_of_the_source_once(text: str, size: int) -> None:
    known, _ = known_of(f"Start. {text} End.")
    whole = known.source.text
    chunks = known.segments.chunks(size)
    assert [it.number for it in chunks] == list(range(1, len(chunks) + 1))
    assert all(a.span.end <= b.span.start for a, b in pairwise(chunks))
    told = "".join(it.span.of(whole) for it in chunks)
    assert "".join(told.split()) == "".join(whole.split())


def test_a_refusal_that_holds_for_every_part_is_told_at_once() -> None:
    text = "\n\n".join(f"# Part {at}\n\n" + "A loan is lent. " * 300 for at in range(12))
    known, order = known_of(text)
    refused = UpstreamError("refused the key", status=401, reason="key_refused", retryable=False)
    model = Scripted([refused])

    async def run() -> None:
        async def report(done: int, total: int) -> None: ...

        await compile_with_model(known, order, model, "key", report)

    with pytest.raises(UpstreamError) as caught:
        loop[0].call(run)
    assert caught.value is refused
    assert len(model.asked) < len(known.chunks)


@dataclass(slots=True)
class Sleepy(Scripted):
    """A model that answers once and then never again."""

    async def fill(self, question: ExtractionRequest, key: str) -> ExtractionReply:
        if self.asked:
            await anyio.sleep_forever()
        return await Scripted.fill(self, question, key)


def test_a_call_whose_time_is_up_gives_what_it_has() -> None:
    text = "\n\n".join(f"# Part {at}\n\n" + "A loan must be repaid. " * 250 for at in range(3))
    known, order = known_of(text)

    async def run() -> CompileResult:
        async def report(done: int, total: int) -> None: ...

        short = replace(order, budget_s=0.2)
        model = Sleepy([{"entities": [], "concepts": []}])
        return await compile_with_model(known, short, model, "key", report)

    made = loop[0].call(run)
    assert made.metrics["failed_chunks"] == 2
    assert "2 of 3 parts got no usable answer: they were compiled without a model" in made.warnings
    assert validate_package(made.package.body, source=text).errors == []


@pytest.mark.parametrize(
    ("title", "cleaned"),
    [
        ("# Capítulo 3 — Juros", "Juros"),
        ("# Chapter IV: Interest", "Interest"),
        ("# Juros (seção do e-book Crédito)", "Juros"),
        ("# Chapters of a life", "Chapters of a life"),
    ],
)
def test_a_title_is_freed_of_the_marks_of_its_chapter(title: str, cleaned: str) -> None:
    text = f"{title}\n\nA loan is money that is lent."
    made = compiled({"concepts": [quoted("A loan", label="loan", definition="It.")]}, text)
    assert made.package.metadata["source_title"] == cleaned


def test_a_model_is_never_asked_for_ids_places_or_links() -> None:
    asked = {it.name for section in ITEM_SECTIONS for it in list_asked_fields(section)}
    assert asked.isdisjoint({"id", "source_refs", "modifies", "activate_knowledge", "priority"})
    assert "agent_instructions" not in str(build_full_form().schema)
    assert build_flat_form().name != build_full_form().name


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
quotes = st.sampled_from(["A loan is money", "10.5 years", "the FEE  is 3", "not there", ""])
words = st.sampled_from(
    ["loan", "Loan.", "a fee of 99", "4", "\ud800", "x\x00y", "", "é" * 30, "если"]
)
bases = st.sampled_from([*BASES, "gospel", ""])
steps = st.fixed_dictionaries(
    {"action": words}, optional={"step": st.integers(), "name": words, "relation": words}
)
fitting = {
    FieldShape.TEXT: words,
    FieldShape.TEXTS: st.lists(words, max_size=3),
    FieldShape.RECORDS: st.lists(steps, max_size=3),
    FieldShape.TEXTS_OR_RECORDS: st.lists(steps | words, min_size=1, max_size=3),
}


@st.composite
def items(draw: st.DrawFn, section: PackageSection) -> Any:
    """An item that fits its section, but for a field here and there."""
    made: dict[str, Any] = {"source_excerpts": draw(st.lists(quotes, max_size=2))}
    for it in section.fields:
        if it.name == "source_basis":
            made[it.name] = draw(bases)
        elif it.name not in made and (it.required or draw(st.booleans())):
            fits = it.shape in fitting and draw(st.integers(0, 19)) > 0
            made[it.name] = draw(fitting[it.shape] if fits else junk)
    return made if draw(st.integers(0, 9)) > 0 else draw(junk)


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """What a model might say: mostly of the right form, and wrong in any part of it."""
    said: dict[str, Any] = {"core_intent": draw(junk), "metadata": draw(junk)}
    for section in draw(st.lists(st.sampled_from(ITEM_SECTIONS), max_size=5, unique=True)):
        said[section.key] = draw(st.lists(items(section), max_size=3))
    # One item that fits, so that a package always comes of it.
    sound = quoted("A loan", label="a", definition="b")
    return said | {"concepts": [*said.get("concepts", []), sound]}


@given(answers(), st.sampled_from(CoverageMode))
@settings(max_examples=50, deadline=None)
def test_whatever_a_model_says_the_package_is_valid_and_quotes_the_source(
    answer: dict[str, Any], mode: CoverageMode
) -> None:
    made = compiled(answer, mode=mode)
    package = made.package
    assert validate_package(package.body, source=TEXT).errors == []
    # The last check is a net; nothing should ever fall into it.
    assert not any("failed a check" in it for it in made.warnings)
    assert all(is_verbatim(row, TEXT) for row in package.trace)
    for format in PackageFormat:
        assert parse_package(encode_package(package, format), format).body == package.body


def test_more_items_than_fit_are_counted_and_left_out() -> None:
    known, _ = known_of()
    many: list[Json] = [quoted("A loan", label=f"l{at}", definition="It.") for at in range(450)]
    found = accept_answer({"concepts": many}, TEXT, known.chunks[0])
    assert len(found.items) == 400
    assert found.refused == Counter({"too_many": 50})
