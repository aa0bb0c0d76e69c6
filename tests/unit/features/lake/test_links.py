"""A link says what it was made with, for its time, and nobody else can make one."""

from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.features.lake.downloads.link import DownloadLinks
from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Caller, CredentialKind, Scope

ANA = Caller(
    credential_id=uuid4(),
    kind=CredentialKind.PAT,
    tenant_id=uuid4(),
    tenant="north",
    user_id=uuid4(),
    user="ana",
    scopes=frozenset({Scope.SEARCH, Scope.READ}),
    is_admin=True,
)
LINKS = DownloadLinks(lambda: b"k" * 32, "https://example.org/", now=lambda: 1_000_000.0)
NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=50)


def token(links: DownloadLinks, source: str = "docs", key: str = "a.md") -> str:
    url = links.url(ANA, source, key, 7)
    assert url is not None
    return url.removeprefix("https://example.org/files/download?token=")


@given(source=NAMES, key=NAMES)
def test_a_link_opens_as_what_it_was_made_for(source: str, key: str) -> None:
    ticket = LINKS.open(token(LINKS, source, key))
    assert (ticket.source_id, ticket.key, ticket.revision) == (source, key, 7)
    who = ticket.caller
    assert (who.tenant_id, who.credential_id) == (ANA.tenant_id, ANA.credential_id)
    assert (who.user_id, who.kind) == (ANA.user_id, ANA.kind)


def test_a_link_lends_no_more_than_reading() -> None:
    who = LINKS.open(token(LINKS)).caller
    assert (who.scopes, who.is_admin) == (frozenset({Scope.READ}), False)
    assert LINKS.url(replace(ANA, scopes=frozenset({Scope.SEARCH})), "docs", "a.md", 7) is None


def test_a_link_is_over_after_a_quarter_of_an_hour() -> None:
    made = token(LINKS)
    assert replace(LINKS, now=lambda: 1_000_899.0).open(made).key == "a.md"
    with pytest.raises(NotFound):
        replace(LINKS, now=lambda: 1_000_900.0).open(made)


def test_another_secret_makes_other_links() -> None:
    with pytest.raises(NotFound):
        replace(LINKS, secret=lambda: b"j" * 32).open(token(LINKS))


@given(st.text(max_size=300), st.integers(0, 400))
def test_no_text_passes_for_a_link_by_mistake(text: str, at: int) -> None:
    made = token(LINKS)
    for wrong in (text, made[:at] + text + made[at:], made[:at]):
        if wrong != made:
            with pytest.raises(NotFound):
                LINKS.open(wrong)
