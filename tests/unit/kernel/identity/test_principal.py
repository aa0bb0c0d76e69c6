"""The namespace of principals: one form per name, and an error that names the wrong part."""

from unicodedata import normalize

import pytest

from pecia.kernel.errors import (
    BadArgument,
    InvalidEnum,
    InvalidFormat,
    MissingField,
    PayloadTooLarge,
)
from pecia.kernel.identity.principal import MAX_BYTES, Principal, PrincipalKind


@pytest.mark.parametrize(
    "text",
    [
        "oid:https%3A//login.example/v2.0:6f1c0c2e-0000-4000-8000-000000000000",
        "email::ana@example.com",
        "upn::ana@corp.example",
        "sid::S-1-5-21-1004336348-1177238915-682003330-512",
        "posixuid:s3%3A//bucket:1000",
        "posixgid:home:0",
        "name:corp:ana",
        "name::ana",
        "group:https%3A//login.example:Finance: EMEA",
        "user::7",
        "role:s3%3A//bucket:reader",
        "everyone::",
    ],
)
def test_every_kind_reads_and_renders_as_it_was_written(text: str) -> None:
    assert Principal.parse(text).render() == text
    assert str(Principal.parse(text)) == text


def test_a_value_keeps_its_colons_and_a_scope_escapes_them() -> None:
    principal = Principal.parse("oid:https%3a//login.example/100%25:a:b::c")
    assert principal.scope == "https://login.example/100%"
    assert principal.value == "a:b::c"
    assert principal.render() == "oid:https%3A//login.example/100%25:a:b::c"


def test_emails_names_and_their_domains_are_lower_cased() -> None:
    assert Principal(PrincipalKind.EMAIL, "", "Ana@Example.COM").value == "ana@example.com"
    assert Principal(PrincipalKind.NAME, "CORP", "Ana").render() == "name:corp:ana"
    assert Principal(PrincipalKind.UPN, "", "Ana@Corp").value == "ana@corp"


def test_groups_and_subjects_that_differ_by_case_stay_apart() -> None:
    for kind in (PrincipalKind.GROUP, PrincipalKind.OID):
        assert Principal(kind, "https://a", "Admins") != Principal(kind, "https://a", "admins")


def test_a_security_identifier_is_upper_cased() -> None:
    assert Principal.parse("sid::s-1-5-32-544").value == "S-1-5-32-544"


def test_names_that_are_canonically_equal_are_one_principal() -> None:
    composed, decomposed = "jos\u00e9", "jose\u0301"
    assert Principal(PrincipalKind.NAME, "", composed) == Principal(
        PrincipalKind.NAME, "", decomposed
    )


def test_no_sign_outside_ascii_can_become_ascii() -> None:
    code_points = [it for it in range(128, 0x110000) if not 0xD800 <= it < 0xE000]
    disguised = [
        chr(it)
        for it in code_points
        if normalize("NFC", normalize("NFC", chr(it)).lower()).isascii()
    ]
    assert disguised
    for sign in disguised:
        with pytest.raises(InvalidFormat):
            Principal(PrincipalKind.EMAIL, "", f"mi{sign}e@example.com")
    with pytest.raises(InvalidFormat):
        Principal(PrincipalKind.SID, "", "\u017f-1-5-32-544")


@pytest.mark.parametrize(
    ("text", "error", "field"),
    [
        ("ana@example.com", InvalidFormat, "principal"),
        ("email:ana@example.com", InvalidFormat, "principal"),
        ("", InvalidFormat, "principal"),
        ("mail::ana@example.com", InvalidEnum, "principal.kind"),
        ("EMAIL::ana@example.com", InvalidEnum, "principal.kind"),
        ("email:corp:ana@example.com", InvalidFormat, "principal.scope"),
        ("email::ana", InvalidFormat, "principal.value"),
        ("email::a@b@c", InvalidFormat, "principal.value"),
        ("oid::6f1c", MissingField, "principal.scope"),
        ("oid:https://login.example:6f1c", InvalidFormat, "principal.value"),
        ("oid:a%:6f1c", InvalidFormat, "principal.scope"),
        ("oid:a%2F:6f1c", InvalidFormat, "principal.scope"),
        ("oid:a:", InvalidFormat, "principal.value"),
        ("posixuid:home:007", InvalidFormat, "principal.value"),
        ("posixuid:home:-1", InvalidFormat, "principal.value"),
        ("posixuid:home:\u0663", InvalidFormat, "principal.value"),
        ("posixuid::1000", MissingField, "principal.scope"),
        ("sid::500", InvalidFormat, "principal.value"),
        ("name:: ana", InvalidFormat, "principal.value"),
        ("name:corp :ana", InvalidFormat, "principal.scope"),
        ("name::a\x00b", InvalidFormat, "principal"),
        ("name::a\ud800", InvalidFormat, "principal"),
        ("everyone::all", InvalidFormat, "principal.value"),
        (f"name::{'a' * MAX_BYTES}", PayloadTooLarge, "principal"),
    ],
)
def test_a_wrong_principal_is_refused_and_the_part_named(
    text: str, error: type[BadArgument], field: str
) -> None:
    with pytest.raises(error) as caught:
        Principal.parse(text)
    assert caught.value.fields["field"] == field


def test_the_place_of_a_principal_begins_the_field() -> None:
    with pytest.raises(InvalidFormat) as caught:
        Principal.parse("email::ana", at="grants.2")
    assert caught.value.fields["field"] == "grants.2.value"


def test_a_scope_that_grows_by_escaping_must_still_fit() -> None:
    with pytest.raises(PayloadTooLarge):
        Principal(PrincipalKind.GROUP, ":" * 1000, "a")
