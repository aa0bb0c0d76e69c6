"""`ask`: an answer made of quotations that stand in the files, or a plain "nothing here"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, field_validator

from pecia.features.lake.answer_model import AnswerModel, AnswerModels, ModelChoice
from pecia.features.lake.capacity import SearchMetrics
from pecia.features.lake.core.answer.compose import (
    CheckedReply,
    SupportedSentence,
    check_reply,
    keep_verified,
    select_passages,
    stands_out,
)
from pecia.features.lake.core.answer.prompt import (
    SYSTEM,
    UnreadableReply,
    build_message,
    parse_reply,
)
from pecia.features.lake.core.answer.quotation import FileQuotation, QuotablePassage
from pecia.features.lake.downloads.link import DownloadLinks
from pecia.features.lake.model import SourceId
from pecia.features.lake.tools.search import (
    PassageSearch,
    SearchTools,
    record_returned,
    search_tools,
)
from pecia.kernel.corpus.catalog.quotation import CitationState, QuotedText, verify_quotations
from pecia.kernel.corpus.connector_kind import ConnectorRegistry
from pecia.kernel.corpus.file_uri import FileAddress
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, TextContent, Tool, ToolResult
from pecia.kernel.tool.passages import HitGroup, Passage, describe_absent, group_hits

# Not of the lake: a client of its reference expects six tools there.
FEATURE = "desk"
MAX_PASSAGES = 8
MAX_NEAREST = 3
TIMEOUT_S = 120.0
STEPS = 4
NOTHING = "Nothing here answers this."
UNSURE = "Nearest passages, verbatim; none stands out as the answer:"


class AskQuestion(Input):
    question: str = Field(min_length=1, max_length=2000)
    source_id: SourceId | None = Field(default=None, description="Only this source.")
    path: str | None = Field(
        default=None, min_length=1, max_length=2000, description="Glob on the key: `reports/**`."
    )

    @field_validator("question")
    @classmethod
    def _asks_something(cls, question: str) -> str:
        if not question.strip():
            raise ValueError("it is blank")
        return question


class AskWithModel(AskQuestion):
    use_model: bool = Field(default=True, description="False: verbatim passages alone.")
    provider: (
        Literal["openai", "anthropic", "gemini", "deepseek", "openrouter", "operator"] | None
    ) = Field(default=None, description="Whose model; else what this server has.")
    model: str = Field(default="", max_length=100, description="Default: the provider's.")
    byok_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        repr=False,
        description="Your key of that provider: used for this call, never stored or shown.",
        json_schema_extra={"secret": True},
    )


class AnswerQuotationOut(Output):
    number: int
    uri: str
    title: str
    where: str | None = None
    kind: str
    revision: int
    start: int = Field(description="In the file, in code points.")
    end: int
    text: str = Field(description="Verbatim.")
    header: str | None = Field(default=None, description="Of the table whose rows these are.")


class SentenceOut(Output):
    text: str = Field(description="Empty where only the quotations are shown.")
    quotations: list[int]


class NearestOut(Output):
    uri: str
    title: str
    where: str | None = None
    match: float | None = None


class AnswerOut(Output):
    outcome: Literal["answered", "passages", "nothing"]
    sentences: list[SentenceOut]
    quotations: list[AnswerQuotationOut]
    nearest: list[NearestOut] = Field(
        default_factory=list[NearestOut], description="Where nothing answers."
    )
    used_model: bool
    unsure: bool = Field(
        default=False, description="No passage stands out as the answer: these are the nearest."
    )
    dropped: int = Field(default=0, description="Sentences of the model that nothing supports.")
    reworded: int = Field(
        default=0, description="Sentences that said more than they quote: the quotations stand."
    )
    note: str | None = Field(default=None, description="Why no model worded the answer.")
    absent: list[str] = Field(
        default_factory=list[str],
        description="Words of the question that stand in no text you may see.",
    )
    degraded: list[str] = Field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """What the search found. `is_unlikely`: none of it is likely to answer."""

    passages: list[QuotablePassage]
    degraded: tuple[str, ...]
    is_unlikely: bool
    absent: tuple[str, ...] = ()

    @property
    def is_unsure(self) -> bool:
        """Whether none stands out, or a word of the question is in no text."""
        return bool(self.absent) or not stands_out(self.passages)


@dataclass(frozen=True, slots=True)
class AnswerTools:
    """The handlers."""

    search: SearchTools
    models: AnswerModels

    async def ask(self, call: Call, ask: AskQuestion) -> ToolResult:
        """Answer a question from everything you may see. Every sentence has quotations, verbatim
        and verified, with URI, revision and span; without a model the passages that answer. Says
        so when nothing here answers."""
        await call.progress(0, STEPS, "searching")
        found = await self._find(call, ask)
        if not found.passages:
            return _render(
                AnswerOut(
                    outcome="nothing",
                    sentences=[],
                    quotations=[],
                    used_model=False,
                    degraded=[*found.degraded],
                )
            )
        files = len({it.uri for it in found.passages})
        await call.progress(1, STEPS, f"{len(found.passages)} passages in {files} files")
        quotations = await self._verify_passages(call, found)
        if quotations:
            # They stand whatever a model says of them: nobody has to wait for it to read them.
            await call.partial(_dump(_quote(quotations, found)))
        checked, note = await self._ask_model(call, ask, found)
        if checked is not None:
            return await self._answer_with_model(call, checked, found)
        if found.is_unlikely:
            return _render(_nothing(found, used_model=False, note=note))
        if note:
            quotations = await self._verify(call, quotations)
        return _render(_quote(quotations, found, note))

    async def _verify_passages(self, call: Call, found: FoundPassages) -> list[FileQuotation]:
        if found.is_unlikely:
            return []
        chosen = select_passages(found.passages, is_unsure=found.is_unsure)
        return await self._verify(call, chosen)

    async def _find(self, call: Call, ask: AskQuestion) -> FoundPassages:
        request = PassageSearch(
            query=ask.question, source_id=ask.source_id, path=ask.path, limit=MAX_PASSAGES
        )
        found = await self.search.find(call, request, MAX_PASSAGES * 2)
        groups, taken = group_hits(found.result.hits, MAX_PASSAGES)
        record_returned(call, found.result.hits[:taken])
        passages = self.search.passages(call, request, found, groups)
        return FoundPassages(
            [_quotable(group, it) for group, it in zip(groups, passages, strict=True)],
            found.result.degraded,
            found.is_unlikely,
            found.result.absent,
        )

    async def _ask_model(
        self, call: Call, ask: AskQuestion, found: FoundPassages
    ) -> tuple[CheckedReply | None, str | None]:
        """What holds of the model's answer; None and why where there is none."""
        choice = _choose_model(call, ask)
        if choice is None:
            return None, None
        await call.progress(2, STEPS, "answering")
        message = build_message(ask.question, found.passages)
        said = await self.models.ask(call, choice, SYSTEM, message)
        if not said.text:
            return None, said.missing
        try:
            return check_reply(parse_reply(said.text), found.passages), None
        except UnreadableReply as error:
            return None, str(error)

    async def _answer_with_model(
        self, call: Call, checked: CheckedReply, found: FoundPassages
    ) -> ToolResult:
        quoted = [it for sentence in checked.sentences for it in sentence.quotations]
        held = await self._verify(call, quoted)
        sentences = keep_verified(checked.sentences, held)
        dropped = checked.dropped + len(checked.sentences) - len(sentences)
        if not sentences:
            nothing = _nothing(found, used_model=True, note=None)
            return _render(nothing.model_copy(update={"dropped": dropped}))
        for number, it in enumerate(sentences, start=1):
            await call.progress(
                2 + number / len(sentences), STEPS, it.text or it.quotations[0].text
            )
        numbers = _number(sentences)
        return _render(
            AnswerOut(
                outcome="answered",
                sentences=[
                    SentenceOut(
                        text=it.text, quotations=[numbers[quoted.place] for quoted in it.quotations]
                    )
                    for it in sentences
                ],
                quotations=_format_quotations(_each_once(sentences)),
                used_model=True,
                dropped=dropped,
                reworded=checked.reworded,
                degraded=[*found.degraded],
            )
        )

    async def _verify(self, call: Call, quotations: Sequence[FileQuotation]) -> list[FileQuotation]:
        """Those that stand in their files now, read again under the caller's rights: a model takes
        its time, and files and rights change."""
        async with self.search.corpus.store.reading(call.caller) as tx:
            states = await verify_quotations(
                tx,
                [
                    QuotedText(FileAddress(it.source_id, it.key), it.span, it.text, it.revision)
                    for it in quotations
                ],
            )
        return [
            it for it, state in zip(quotations, states, strict=True) if state is CitationState.HOLDS
        ]


def search_and_ask_tools(
    corpus: Corpus,
    links: DownloadLinks | None,
    metrics: SearchMetrics,
    kinds: ConnectorRegistry,
    console_url: str,
    model: AnswerModel | None,
) -> tuple[AnyTool, ...]:
    """Search, and answers from what it finds."""
    search = SearchTools(corpus, links, metrics, kinds, console_url)
    return (*search_tools(search), *ask_tools(AnswerTools(search, AnswerModels(model))))


def ask_tools(it: AnswerTools) -> tuple[AnyTool, ...]:
    lean = Tool(
        FEATURE,
        "ask",
        Scope.SEARCH,
        AskQuestion,
        AnswerOut,
        it.ask,
        open_world=True,
        timeout_s=TIMEOUT_S,
    )
    return (
        Tool(
            FEATURE,
            "ask",
            Scope.SEARCH,
            AskWithModel,
            AnswerOut,
            it.ask,
            open_world=True,
            timeout_s=TIMEOUT_S,
            lean=lean,
        ),
    )


def _choose_model(call: Call, ask: AskQuestion) -> ModelChoice | None:
    """The model that the caller asks for; None where they want none."""
    if not isinstance(ask, AskWithModel):
        return ModelChoice()
    if not ask.use_model:
        return None
    # A key in a header belongs to the provider that is named; without one it is not for us.
    key = ask.byok_key or (call.model_key if ask.provider else None) or ""
    return ModelChoice(ask.provider or "", ask.model, key)


def _quotable(group: HitGroup, passage: Passage) -> QuotablePassage:
    match = passage.facts.get("match")
    return QuotablePassage(
        group.hits[0].passage,
        passage.uri,
        passage.title,
        passage.where,
        passage.provenance.value,
        passage.excerpts,
        match if isinstance(match, float) else None,
    )


def _quote(
    quotations: Sequence[FileQuotation], found: FoundPassages, note: str | None = None
) -> AnswerOut:
    return AnswerOut(
        outcome="passages" if quotations else "nothing",
        sentences=[],
        quotations=_format_quotations(quotations),
        used_model=False,
        unsure=bool(quotations) and found.is_unsure,
        note=note,
        absent=[*found.absent],
        degraded=[*found.degraded],
    )


def _nothing(found: FoundPassages, *, used_model: bool, note: str | None) -> AnswerOut:
    nearest = [
        NearestOut(uri=it.uri, title=it.title, where=it.where or None, match=it.match)
        for it in found.passages[:MAX_NEAREST]
    ]
    return AnswerOut(
        outcome="nothing",
        sentences=[],
        quotations=[],
        nearest=nearest,
        used_model=used_model,
        note=note,
        absent=[*found.absent],
        degraded=[*found.degraded],
    )


def _number(sentences: Sequence[SupportedSentence]) -> dict[tuple[str, str, int, int], int]:
    return {it.place: number for number, it in enumerate(_each_once(sentences), start=1)}


def _each_once(sentences: Sequence[SupportedSentence]) -> list[FileQuotation]:
    quoted = {it.place: it for sentence in sentences for it in sentence.quotations}
    return [*quoted.values()]


def _format_quotations(quotations: Sequence[FileQuotation]) -> list[AnswerQuotationOut]:
    return [
        AnswerQuotationOut(
            number=number,
            uri=it.passage.uri,
            title=it.passage.title,
            where=it.passage.where or None,
            kind=it.passage.kind,
            revision=it.revision,
            start=it.span.start,
            end=it.span.end,
            text=it.text,
            header=it.header or None,
        )
        for number, it in enumerate(quotations, start=1)
    ]


def _render(answer: AnswerOut) -> ToolResult:
    text = "\n\n".join(_blocks(answer))
    return ToolResult(_dump(answer), (TextContent(text),))


def _dump(answer: AnswerOut) -> dict[str, Json]:
    return answer.model_dump(mode="json", exclude_none=True)


def _blocks(answer: AnswerOut) -> Iterator[str]:
    yield from describe_absent(answer.absent)
    if answer.outcome == "nothing":
        yield NOTHING
        if answer.nearest:
            lines = [f"- {it.title}{_at(it.where)}: {it.uri}" for it in answer.nearest]
            yield "\n".join(["Nearest:", *lines])
    elif answer.outcome == "passages":
        yield UNSURE if answer.unsure else "Passages that answer, verbatim:"
    else:
        yield "\n".join(_sentence_line(it, answer.quotations) for it in answer.sentences)
    yield from _quotation_blocks(answer.quotations)
    if answer.dropped:
        yield f"Left out: {answer.dropped} sentences of the model that no quotation supports."
    if answer.note:
        yield f"No model: {answer.note}"
    yield from (f"Note: {it}" for it in answer.degraded)


def _sentence_line(it: SentenceOut, quotations: Sequence[AnswerQuotationOut]) -> str:
    cited = "".join(f"[{number}]" for number in it.quotations)
    if it.text:
        return f"{it.text} {cited}"
    words = " … ".join(" ".join(quotations[number - 1].text.split()) for number in it.quotations)
    return f"“{words}” {cited}"


def _quotation_blocks(quotations: Sequence[AnswerQuotationOut]) -> Iterator[str]:
    """Those of one file together, each line quoted: no text can pass for ours."""
    files = dict.fromkeys(it.uri for it in quotations)
    for uri in files:
        mine = [it for it in quotations if it.uri == uri]
        lines = [f"{' '.join(mine[0].title.split())} ({mine[0].kind})", uri]
        for it in mine:
            lines.append(
                f"[{it.number}]{_at(it.where)} revision {it.revision}, {it.start}–{it.end}"
            )
            shown = f"{it.header or ''}{it.text}"
            lines += [f"> {line}" for line in shown.splitlines() if line.strip()]
        yield "\n".join(lines)


def _at(where: str | None) -> str:
    return f" {' '.join(where.split())}" if where else ""
