"""Settings of one session, over those of the server. Pure: interfaces decide who may set them."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import ValidationError

from pecia.kernel.errors import SESSION_SOURCE, InvalidFormat, Json
from pecia.kernel.settings.catalog import KnownSetting, SettingsCatalog, build_catalog
from pecia.kernel.settings.layers.convert import NotApplicable
from pecia.kernel.settings.load import describe_expected
from pecia.kernel.settings.model import SettingsSection
from pecia.kernel.settings.problem import describe_value

P = TypeVar("P", bound=SettingsSection)


def apply_session(
    settings: P, session: Mapping[str, Json], fields: Collection[str] | None = None
) -> P:
    """The settings of this session, by our names or by the references' variables.

    `fields` are those that a session may set; all of them where none are named.
    """
    if not session:
        return settings
    given: dict[str, Any] = {}
    for known in _catalog(type(settings)).settings:
        names = [name for name in (known.name, *known.env) if name in session]
        if not names or (fields is not None and known.field not in fields):
            continue
        try:
            given[known.field] = _value(known, names[0], session[names[0]])
        except NotApplicable:
            continue
    return _require_no_conflict(settings.model_copy(update=given)) if given else settings


@lru_cache(32)
def _catalog(part: type[SettingsSection]) -> SettingsCatalog:
    return build_catalog([part])


def _value(known: KnownSetting, name: str, raw: Json) -> object:
    convert = known.about.convert.get(name)
    try:
        return known.parse(convert(raw) if convert and isinstance(raw, str) else raw)
    except ValueError as error:
        if name in known.about.lenient:
            raise NotApplicable from None
        is_parsed = isinstance(error, ValidationError)
        expected = describe_expected(error) if is_parsed else str(error)
        got = "a secret" if known.about.secret else describe_value(raw)
        raise InvalidFormat(
            f"{name} of this session: expected {expected}, got {got}",
            field=name,
            expected=expected,
            got=got,
            source=SESSION_SOURCE,
        ) from None


def _require_no_conflict(settings: P) -> P:
    for clash in settings.clashes():
        name = f"{settings.section}.{clash.field}".lstrip(".")
        raise InvalidFormat(
            f"{name} of this session: expected {clash.expected}",
            field=name,
            expected=clash.expected,
            source=SESSION_SOURCE,
        )
    return settings
