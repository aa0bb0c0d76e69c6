"""What the operator wants done with secrets and personal data, apart from the patterns that find
them: commands read settings, and need no patterns."""

from typing import Literal, NamedTuple, TypeAlias

SecretPolicy: TypeAlias = Literal["mark", "redact", "refuse"]
PersonalDataPolicy: TypeAlias = Literal["keep", "mark", "redact", "refuse"]


class ScreenPolicy(NamedTuple):
    """The operator's settings."""

    secrets: SecretPolicy
    personal_data: PersonalDataPolicy = "keep"
