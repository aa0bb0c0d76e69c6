"""What is done with a secret in a text that is to be remembered. Pure."""

from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.redaction import redact, redact_value

SecretPolicy: TypeAlias = Literal["mark", "redact", "refuse"]
SECRET_FIELD = "has_secret"
REFUSED = "it has a secret, and the setting memory.secrets is `refuse`"


def has_secret(text: str) -> bool:
    """Whether a text has a key, token or password by its shape."""
    return redact(text) != text


def screen_text(text: str, policy: SecretPolicy, *, field: str) -> str:
    """The text as it may be stored; an error that names the field where it may not."""
    if policy == "refuse" and has_secret(text):
        raise Unprocessable(
            f'Field "{field}": {REFUSED}',
            field=field,
            hint="Leave the secret out, or name its place.",
        )
    return text if policy == "mark" else redact(text)


def screen_facts(facts: Mapping[str, Json], policy: SecretPolicy) -> dict[str, Json]:
    """What is known of a text as it may be stored."""
    return dict(facts) if policy == "mark" else cast(dict[str, Json], redact_value(dict(facts)))
