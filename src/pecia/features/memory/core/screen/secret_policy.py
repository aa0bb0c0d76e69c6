"""What is done with a secret and with personal data in a text that is to be remembered. Pure."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast

from pecia.features.memory.core.screen.access_codes import hide_codes
from pecia.features.memory.core.screen.personal_data import find_personal_data, hide_personal_data
from pecia.features.memory.core.screen.policy import ScreenPolicy
from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.redaction import REDACTED, redact, redact_value

SECRET_FIELD = "has_secret"
PERSONAL_FIELD = "has_personal_data"
REFUSED = "it has a secret, and the setting memory.secrets is `refuse`"
PERSONAL_REFUSED = "it has personal data, and the setting memory.personal_data is `refuse`"


def has_secret(text: str) -> bool:
    """Whether a text has a key, token or password, by its shape or because it is called one."""
    return hide_secrets(text) != text


def hide_secrets(text: str) -> str:
    """The text, its secrets replaced; those too that a sentence tells: `the password is …`."""
    text = _TOLD.sub(_hide_told, redact(text))
    text = _PHRASE.sub(_hide_phrase, text)
    return hide_codes(_RANDOM.sub(_hide_random, text))


def refuse_text(text: str, policy: ScreenPolicy) -> str | None:
    """Why a text is not stored; None where it is."""
    if policy.secrets == "refuse" and has_secret(text):
        return REFUSED
    if policy.personal_data == "refuse" and find_personal_data(text):
        return PERSONAL_REFUSED
    return None


def screen_text(text: str, policy: ScreenPolicy, *, field: str) -> str:
    """The text as it may be stored; an error that names the field where it may not."""
    if reason := refuse_text(text, policy):
        raise Unprocessable(
            f'Field "{field}": {reason}',
            field=field,
            hint="Leave it out, or say where it is found.",
        )
    return hide_text(text, policy)


def hide_text(text: str, policy: ScreenPolicy) -> str:
    """The text without what the policy hides."""
    text = text if policy.secrets == "mark" else hide_secrets(text)
    return hide_personal_data(text) if policy.personal_data in _HIDING else text


def screen_facts(facts: Mapping[str, Json], policy: ScreenPolicy) -> dict[str, Json]:
    """What is known of a text as it may be stored."""
    plain: Json = dict(facts)
    if policy.secrets != "mark":
        plain = _map_texts(cast(dict[str, Json], redact_value(plain)), hide_secrets)
    if policy.personal_data in _HIDING:
        plain = _map_texts(plain, hide_personal_data)
    return cast(dict[str, Json], plain)


def screen_marks(text: str, policy: ScreenPolicy) -> dict[str, Json]:
    """What is noted of a text: that it has a secret, and which kinds of personal data."""
    marks: dict[str, Json] = {SECRET_FIELD: True} if has_secret(text) else {}
    if policy.personal_data != "keep":
        kinds = sorted({it.kind for it in find_personal_data(text)})
        marks |= {PERSONAL_FIELD: [*kinds]} if kinds else {}
    return marks


def replace_marks(facts: Mapping[str, Json], text: str, policy: ScreenPolicy) -> dict[str, Json]:
    """What is known of a text that takes the place of another: its own marks, not those of the
    other."""
    return {**drop_marks(facts), **screen_marks(text, policy)}


def drop_marks(facts: Mapping[str, Json]) -> dict[str, Json]:
    return {name: it for name, it in facts.items() if name not in (SECRET_FIELD, PERSONAL_FIELD)}


_HIDING = ("redact", "refuse")


_KEYS = r"(?:api|access|secret|private)\s?key|secret|token"
_PASSWORDS = (
    r"pass(?:word|phrase|ord)|passwort|kennwort|contraseña|mot\s+de\s+passe|senha|palavra-passe|"
    r"wachtwoord|lösenord|adgangskode|hasło|пароль"
)
_IS = r"(?:is|was|to|ist|lautet|es|est|é|è|är|er|jest)"
_BETWEEN = (
    r"(?:\s+(?!(?:is|ist|es|est)\b)[\w'’-]{1,30}){0,4}"
    rf"(?:\s+{_IS}\s+(?:(?:now|jetzt|ahora)\s+)?|\s*[:：=]\s*)"
)
_TOLD = re.compile(
    rf"(?i)\b(?P<name>{_PASSWORDS}|passcode|{_KEYS}|pin(?!\s+count)(?:\s+code)?)\b"
    rf"(?P<between>{_BETWEEN}[\"'“‘`]?)"
    r"(?P<value>[^\s\"“”‘’`']{4,200})"
)
# `The password is correct horse battery staple`.
_PHRASE = re.compile(
    rf"(?i)\b(?P<before>(?:{_PASSWORDS})\b{_BETWEEN}[\"'“‘`]?)"
    rf"(?P<value>(?:{re.escape(REDACTED)}|[^\W\d_]{{3,20}})(?:[ -][^\W\d_]{{3,20}}){{3,11}})"
    r"(?=[\"'”’`.!]|\s*$)"
)
# A key without a verb before it: `the secret wJalrXUtnFEMI…`, `my API key, 9f8b7c…`.
_RANDOM = re.compile(
    rf"(?i)\b(?P<before>(?:{_KEYS})\b[\s,:(=]{{1,3}})(?P<value>[a-z0-9/+_]{{20,200}}=*)(?![\w-])"
)
_HEX = re.compile(r"(?i)[0-9a-f]{32,}")
_PIN = re.compile(r"\d{4,8}")
# How something is written or made, and lengths.
_NO_VALUE = re.compile(
    r"(?i)(?:base\d|sha-?\d|md5|argon2|oauth|utf|https?|bcrypt|v\d|[rhe]s\d|ed25519|rsa|aes|"
    r"\d+-?[a-z]+$|\w+2fa)"
)
_SIGNS = frozenset("!@#$%^&*_+=~?")


def _hide_told(found: re.Match[str]) -> str:
    value = found["value"].rstrip(".,;:)")
    # The mark at the end of a sentence may be one of the password.
    bare = value.rstrip("!?")
    if found["name"].lower().startswith("pin"):
        is_secret = _PIN.fullmatch(bare) is not None
    else:
        has_letter = any(it.isalpha() for it in value)
        is_secret = has_letter and len(value) >= MIN_TOLD_CHARS and _is_mixed(bare)
    if not is_secret or _NO_VALUE.match(value):
        return found[0]
    return f"{found['name']}{found['between']}{REDACTED}{found['value'][len(value) :]}"


def _hide_phrase(found: re.Match[str]) -> str:
    """Without the words of a sentence: `the password is stored encrypted on the server` tells no
    password."""
    words = found["value"].removeprefix(REDACTED).replace("-", " ").split()
    # Names and nouns of a sentence: `ask Maria`, `siehe KeePass`.
    is_sentence = any(
        it in _sentence_words() or it.endswith(_VERB_ENDS) or not it.islower() for it in words[1:]
    )
    return found[0] if is_sentence else f"{found['before']}{REDACTED}"


def _hide_random(found: re.Match[str]) -> str:
    value = found["value"]
    cases = (str.isupper, str.islower, str.isdigit)
    is_random = all(any(map(case, value)) for case in cases) or _HEX.fullmatch(value)
    return f"{found['before']}{REDACTED}" if is_random else found[0]


@lru_cache(1)
def _sentence_words() -> frozenset[str]:
    # Lazy import: every command reads the settings, and with them this module.
    from pecia.features.memory.core.compare.vocabulary import VOCABULARY

    return frozenset[str]().union(
        *(VOCABULARY[it] for it in _SENTENCE_SECTIONS),
        ("characters", "letters", "digits", "words", "strong", "weak", "long", "short", "rules"),
    )


_SENTENCE_SECTIONS = ("light", "guards", "negations", "quantifiers", "prepositions")
_VERB_ENDS = ("ed", "ing", "ly", "ible", "able", "en")


def _is_mixed(value: str) -> bool:
    """Digits or signs between letters: no word of a sentence."""
    return any(it.isdigit() or it in _SIGNS for it in value)


MIN_TOLD_CHARS = 6


def _map_texts(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _map_texts(it, change) for name, it in value.items()}
    if isinstance(value, list):
        return [_map_texts(it, change) for it in value]
    return value
