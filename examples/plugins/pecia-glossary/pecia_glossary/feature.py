"""The glossary: two tools, a page, a job. Imported when a server or a worker opens."""

from dataclasses import dataclass
from html import escape

from pecia.plugin import (
    Call,
    Conflict,
    Feature,
    FeatureContext,
    FeaturePage,
    FeatureRequest,
    FeatureRoute,
    Field,
    Input,
    Job,
    JobCall,
    NoArguments,
    Output,
    PurgeTarget,
    Scope,
    Store,
    Tool,
    Transaction,
    defer,
    load_queries,
)
from pecia_glossary.settings import GlossarySettings

FEATURE = "glossary"
SQL = load_queries("pecia_glossary")
MAX_SHOWN = 1_000


class DefineTerm(Input):
    term: str = Field(min_length=1, max_length=100)
    meaning: str = Field(min_length=1, max_length=2000, description="In a sentence or two.")


class LookUpTerm(Input):
    term: str = Field(min_length=1, max_length=100)


class TermOut(Output):
    term: str
    meaning: str
    mentions: int = Field(description="In how many meanings of other terms it is used.")


async def recount(call: JobCall, ask: NoArguments) -> None:
    async with call.tx() as tx:
        await tx.execute(SQL["recount"], tenant_id=call.tenant_id)


RECOUNT = Job(FEATURE, "recount", recount, NoArguments, key=lambda ask: "all")


@dataclass(frozen=True, slots=True)
class Glossary:
    """The handlers."""

    store: Store
    max_terms: int

    async def define_term(self, call: Call, ask: DefineTerm) -> TermOut:
        """Say what a term means to your team, or change what you said."""
        async with self.store.writing(call.caller, call.trace) as tx:
            if await tx.fetch_value(SQL["count_others"], name=ask.term) >= self.max_terms:
                raise Conflict(
                    f"the glossary is full: glossary.max_terms is {self.max_terms}",
                    max=self.max_terms,
                )
            await tx.execute(SQL["define"], name=ask.term, meaning=ask.meaning)
            await defer(tx, RECOUNT, NoArguments())
            return await _load(tx, ask.term)

    async def look_up_term(self, call: Call, ask: LookUpTerm) -> TermOut:
        """What a term means to your team."""
        async with self.store.reading(call.caller) as tx:
            return await _load(tx, ask.term)

    async def show_terms(self, request: FeatureRequest) -> FeaturePage:
        async with self.store.reading(request.caller) as tx:
            rows = await tx.fetch_all(SQL["all_terms"], limit=MAX_SHOWN)
        items = [f"<dt>{escape(it['name'])}</dt><dd>{escape(it['meaning'])}</dd>" for it in rows]
        return FeaturePage(
            f"<!doctype html><title>Glossary</title><dl>{''.join(items)}</dl>".encode()
        )

    async def purge(self, target: PurgeTarget) -> None:
        """A user who leaves: their terms stay, and nobody knows whose they were."""
        async with self.store.system() as tx:
            await tx.execute(SQL["purge"], tenant_id=target.tenant_id, user_id=target.user_id)


async def _load(tx: Transaction, name: str) -> TermOut:
    row = await tx.fetch_one(SQL["look_up"], f"no term {name!r}", name=name)
    return TermOut(term=row["name"], meaning=row["meaning"], mentions=row["mentions"])


def build(context: FeatureContext) -> Feature:
    it = Glossary(context.store, context.settings.part(GlossarySettings).max_terms)
    return Feature(
        FEATURE,
        tools=(
            Tool(
                FEATURE,
                "define_term",
                Scope.WRITE,
                DefineTerm,
                TermOut,
                it.define_term,
                read_only=False,
                idempotent=True,
            ),
            Tool(FEATURE, "look_up_term", Scope.READ, LookUpTerm, TermOut, it.look_up_term),
        ),
        routes=(FeatureRoute("GET", "/plugins/glossary/terms", "glossary.terms", it.show_terms),),
        jobs=(RECOUNT,),
        purge=it.purge,
    )
