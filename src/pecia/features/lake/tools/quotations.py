"""`verify_quotations`: whether words that somebody quotes stand in the file, to the character."""

from dataclasses import dataclass

from pydantic import Field, model_validator

from pecia.kernel.corpus.catalog.quotation import CitationState, QuotedText, verify_quotations
from pecia.kernel.corpus.file_uri import parse_file_uri
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.text.span import Span
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

# Not of the lake: a client of its reference expects six tools there.
FEATURE = "desk"
MAX_QUOTATIONS = 100
MAX_OFFSET = 2**31 - 1


class QuotationIn(Input):
    uri: str = Field(min_length=1, max_length=4000)
    start: int = Field(ge=0, le=MAX_OFFSET, description="In code points.")
    end: int = Field(ge=1, le=MAX_OFFSET)
    text: str = Field(min_length=1, max_length=20_000)
    revision: int | None = Field(default=None, description="Else the newest.")

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> "QuotationIn":
        if self.end <= self.start:
            raise ValueError("end must be after start")
        return self


class VerifyQuotations(Input):
    quotations: list[QuotationIn] = Field(min_length=1, max_length=MAX_QUOTATIONS)


class QuotationCheckOut(Output):
    uri: str
    holds: bool
    state: str


class VerifyQuotationsOut(Output):
    quotations: list[QuotationCheckOut]
    all_hold: bool


@dataclass(frozen=True, slots=True)
class QuotationTools:
    """The handler."""

    store: Store

    async def verify(self, call: Call, ask: VerifyQuotations) -> VerifyQuotationsOut:
        """Check quotations: does the file have exactly this text at this span, in this revision?
        Takes them as `ask` and search hits give them."""
        quoted = [
            QuotedText(parse_file_uri(it.uri), Span(it.start, it.end), it.text, it.revision)
            for it in ask.quotations
        ]
        async with self.store.reading(call.caller) as tx:
            states = await verify_quotations(tx, quoted)
        for it, state in zip(quoted, states, strict=True):
            if state is not CitationState.ABSENT:
                call.record_returned(it.file.source_id, [it.file.key])
        return VerifyQuotationsOut(
            quotations=[
                QuotationCheckOut(uri=it.uri, holds=state is CitationState.HOLDS, state=state.value)
                for it, state in zip(ask.quotations, states, strict=True)
            ],
            all_hold=all(it is CitationState.HOLDS for it in states),
        )


def quotation_tools(store: Store) -> tuple[AnyTool, ...]:
    return (
        Tool(
            FEATURE,
            "verify_quotations",
            Scope.READ,
            VerifyQuotations,
            VerifyQuotationsOut,
            QuotationTools(store).verify,
        ),
    )
