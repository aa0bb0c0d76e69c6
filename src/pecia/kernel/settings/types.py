"""The shapes that values take: types that carry their own rule, and say it when it is broken."""

from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

from pecia.kernel.errors import InvalidFormat
from pecia.kernel.settings.account import expand_user


def _absolute(path: Path) -> Path:
    try:
        full = expand_user(path, "path")
    except InvalidFormat as error:
        raise PydanticCustomError("absolute_path", "{why}", {"why": error.message}) from None
    if not full.is_absolute():
        raise PydanticCustomError("absolute_path", "Input should be an absolute path")
    return full


def _web_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise PydanticCustomError(
            "web_address", "Input should be an http or https URL without query or fragment"
        )
    return text


def _network(text: object) -> object:
    try:
        return ip_network(str(text))
    except ValueError:
        raise PydanticCustomError(
            "network", "Input should be networks such as 10.0.0.0/8 or addresses"
        ) from None


def _long_enough(length: int) -> Callable[[SecretStr], SecretStr]:
    def check(secret: SecretStr) -> SecretStr:
        if len(secret) < length:
            raise PydanticCustomError(
                "long_enough", "Input should be {length} characters or more", {"length": length}
            )
        return secret

    return check


def _without_slash(text: str) -> str:
    return text.rstrip("/")


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
"""`~` is the user's home; a relative path would mean another file in every folder."""

IssuerUrl = Annotated[str, AfterValidator(_web_address)]
"""Compared to the token's claim character by character, so a last slash stays."""

WebUrl = Annotated[IssuerUrl, AfterValidator(_without_slash)]
"""What links are built on: a last slash is dropped."""

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Port = Annotated[int, Field(ge=0, le=65535)]
NonEmptyStr = Annotated[str, Field(min_length=1)]
SigningKey = Annotated[SecretStr, AfterValidator(_long_enough(32))]
SecretToken = Annotated[SecretStr, AfterValidator(_long_enough(16))]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Algorithm: TypeAlias = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
"""Asymmetric only: a shared secret would let every verifier mint tokens."""
