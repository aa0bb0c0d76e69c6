"""Codes that let somebody in, told in a sentence: of doors, gates, safes and alarms, PINs, codes of
recovery, and passwords of a Wi-Fi that are a plain word. Pure.

A number alone is no code: what is called one is. Order numbers, postal codes and years stay.
"""

import re

from pecia.kernel.redaction import REDACTED

_I = re.IGNORECASE

# What a code opens, as words of their own.
_OPENED = (
    r"door|gate|garage|alarm|entrance|entry|lobby|lock|padlock|key ?box|lock ?box|safe|vault|"
    r"locker|intercom|keypad|elevator|building|shed|barn"
)
# The same as parts of a compound.
_JOINED = (
    r"tür|tor|alarm|tresor|safe|schloss|garagen|eingangs|zugangs|sicherheits|entsperr|schließfach|"
    r"wiederherstellungs|notfall|backup|deur|poort|toegangs|kluis|herstel|port|dörr|dør|larm|lås|"
    r"låse|adgangs|tilgangs|inngangs|återställnings|gendannelses"
)
_NAMES = (
    # English
    rf"(?:{_OPENED}|access|security|unlock)(?:['’]s)?(?:\s(?:entry|access|door|lock))?"
    r"\s(?:codes?|combination|passcode)",
    rf"(?:codes?|combination)\s(?:for|of|to|at)\s(?:(?:the|our|my)\s)?(?:[\w'’-]+\s){{0,2}}"
    rf"(?:{_OPENED})",
    r"(?:recovery|backup|rescue|2fa|mfa|one-time|verification|voicemail|sim)\s(?:codes?|keys?)",
    # German, Dutch, Swedish, Danish and Norwegian compounds
    rf"(?:[^\W\d_]*(?:{_JOINED}))-?(?:code|kode|kod|kombination|pin)(?:s|n|en|er|erna|ene)?",
    r"(?:code|kombination|zahlenkombination|kode|koden|kod)\s(?:für|von|vom|van|voor|til|till)\s"
    r"(?:(?:die|der|das|den|dem|de|het|unsere?n?|onze)\s)?"
    r"[^\W\d_]*(?:tür|tor|alarm\w*|tresor|safe|schloss|garage|eingang|deur|poort|kluis|"
    r"dør(?:en)?|dörren|porten|låsen)",
    r"geheimzahl|zahlenkombination|zahlencode",
    # French, Spanish, Italian, Portuguese
    r"digicode",
    r"codes?\s(?:de\sla\s|de\sl['’]|du\s|de\s|d['’])"
    r"(?:porte|portail|entrée|immeuble|alarme|coffre|garage|accès|secours|récupération|sécurité)",
    r"c[óo]digos?\s(?:del?\sla\s|del\s|de\s|da\s|do\s)"
    r"(?:puerta|portal|alarma|caja\sfuerte|garaje|acceso|entrada|candado|recuperaci[óo]n|seguridad|"
    r"porta|portão|alarme|cofre|acesso|recuperação|segurança|garagem)",
    r"codic[ei]\s(?:della\s|dell['’]|del\s|di\s|d['’])"
    r"(?:porta|portone|cancello|allarme|cassaforte|accesso|ingresso|recupero|sicurezza|garage)",
    r"combina(?:zione|ción|ção)\s(?:della\s|de\sla\s|do\s)(?:cassaforte|caja\sfuerte|cofre)",
    # Polish and Russian
    r"kody?\s(?:do|od)\s(?:drzwi|bramy|domofonu|alarmu|sejfu|furtki|garażu)",
    r"код\w*\s(?:(?:от|к|для)\s)?"
    r"(?:двер\w+|домофон\w*|сейф\w*|подъезд\w*|сигнализаци\w+|ворот\w*|замк\w+)",
    r"п[иі]н-?код\w*",
    # PINs
    r"pin(?!\s(?:count|layout))(?:[ -]?(?:code|number|nummer|kod|kode|koden))?|"
    r"code\spin|c[óo]digo\spin|codice\spin",
)
_NAME = rf"(?:{'|'.join(_NAMES)})"
_IS = (
    r"(?:is|are|was|were|be|to|ist|sind|war|lautet|lauten|auf|es|son|era|est|sont|è|é|são|zijn|"
    r"är|er|jest|są|это)"
)
_STILL = r"(?:(?:now|still|currently|jetzt|immer\snoch|nu|le|ahora|agora|ora|désormais)\s)?"
_BETWEEN = (
    rf"(?:\s(?!{_IS}\s)[\w'’-]{{1,30}}){{0,5}}"
    rf"(?:\s{_IS}\s{_STILL}(?:(?:set|changed)\sto\s)?|\s?[:：=]\s?)"
)
# Three digits at least, between which letters, spaces and hyphens may stand.
_CODE = (
    r"[#*]?(?!\d{4}-\d{2}-\d{2}\b)(?!\w*[./]\w)"
    r"(?:\d(?:[ -]?\d){2,11}|(?=(?:[A-Za-z-]*\d){3})[A-Za-z0-9]{3,12}(?:-[A-Za-z0-9]{2,12}){0,7})"
    r"[#*]?(?![\w%]|[.,:/-]\d)"
    r"(?!\s(?:digits?|characters?|letters?|signs|times|lines|days|minutes|hours|years|euros?|"
    r"Stellen|Zeichen|Ziffern|chiffres|cifras|cifre|cijfers))"
)
_AND = r"(?:\s?,\s?(?:and\s)?|\s(?:and|or|und|oder|et|ou|y|e|en|og|och|i|и)\s)"
_CODES = rf"{_CODE}(?:{_AND}{_CODE})*"
_LED = r"(?:(?:the|our|my|your|der|die|das|unser\w*|mein\w*|le|la|el|il|o|a|de|het)\s)"
_OPEN = r"(?:open|unlock|disarm|deactivate|enter|get\sinto|get\sthrough)"
_TYPE = r"(?:use|enter|type|press|dial|punch\sin|key\sin)(?:\sin)?"

_PATTERNS = (
    re.compile(rf"\b(?P<before>{_NAME}{_BETWEEN}[\"'“‘`]?)(?P<value>{_CODES})", _I),
    # `Door code 4711`; a pin is one of a chip where it is not in capitals.
    re.compile(rf"\b(?P<before>(?!(?i:pin)\s){_NAME}\s)(?P<value>{_CODES})", _I),
    re.compile(rf"(?<!GPIO )\b(?P<before>PIN\s)(?P<value>{_CODE})"),
    re.compile(
        rf"(?<![\w.,:/-])(?P<value>{_CODE})(?P<behind>\s{_IS}\s{_STILL}{_LED}(?:[\w-]+\s){{0,2}}"
        rf"{_NAME}\b)",
        _I,
    ),
    re.compile(
        rf"\b(?P<before>{_TYPE}\s(?:(?:the\s)?(?:code|pin|combination)\s)?)(?P<value>{_CODE})"
        rf"(?P<behind>\s(?:at|for|on|to\s{_OPEN})\s(?:the|our|my)\s(?:[\w-]+\s)?(?:{_OPENED})\b)",
        _I,
    ),
    re.compile(
        rf"\b(?P<before>{_OPEN}\s(?:the|our|my)\s(?:[\w-]+\s)?(?:{_OPENED}),?\s"
        rf"(?:(?:with|by)\s)?(?:{_TYPE}\s)?(?:(?:the\s)?(?:code|pin|combination)\s)?)"
        rf"(?P<value>{_CODE})",
        _I,
    ),
    re.compile(
        rf"\b(?P<before>(?:{_OPENED})\s(?:opens|unlocks|is\s(?:opened|unlocked|disarmed))\s"
        rf"(?:with|by)\s(?:(?:the\s)?(?:code|pin|combination)\s)?)(?P<value>{_CODE})",
        _I,
    ),
    # Chinese and Japanese write no spaces.
    re.compile(
        r"(?P<before>(?:门禁|门锁|大门|保险箱)?(?:密码|密碼|暗証番号|解錠番号|パスワード)"
        r"\s?[是为為はが：:]\s?)(?P<value>[A-Za-z0-9#*-]{3,40})"
    ),
    # The code of a building is often changed in the passive: `wurde auf 6060 geändert`.
    re.compile(
        rf"\b(?P<before>{_NAME}(?:\s[\w'’-]+){{0,4}}\s(?:changed\sto|auf|à|a)\s)"
        rf"(?P<value>{_CODE})(?=\s(?:geändert|gesetzt|gewijzigd|veranderd)|[.!]?\s*$)(?!\d)",
        _I,
    ),
)
_WIFI = re.compile(
    r"\b(?P<before>(?:(?:wi-?fi|wlan|wireless|hotspot)[ -]?"
    r"(?:password|passwort|passphrase|pass|key|code|schlüssel|kennwort|wachtwoord|lösenord|kode|hasło)|"
    r"(?:mot\sde\spasse|clé|clave|contraseña|senha|chiave|password|пароль)\s"
    r"(?:du\s|del\s|de\sla\s|do\s|da\s|de\s|от\s)?(?:wi-?fi|wlan))"
    rf"{_BETWEEN}[\"'“‘`]?)(?P<value>[^\s\"”’`.,;!?]{{4,63}})"
    r"(?=[\"'”’`]?[.,;!?]*(?:\s*$|[.,;!?]\s))",
    _I,
)
# What is told of a password, and is none.
_STATES = frozenset(
    (
        *("wrong", "weak", "strong", "secret", "unknown", "missing", "empty", "optional", "same"),
        *("public", "private", "correct", "invalid", "short", "long", "simple", "here", "there"),
        *("falsch", "geheim", "unbekannt", "richtig", "wpa2", "wpa3", "incorrect", "secreta"),
        *("faux", "segreta", "none", "mandatory", "static", "default", "unique", "safe", "easy"),
    )
)
_STATE_ENDS = ("ed", "ing", "ly", "able", "ible", "ten", "den", "elt", "ert")


def hide_codes(text: str) -> str:
    """The text, its codes replaced."""
    for pattern in _PATTERNS:
        text = pattern.sub(_hide, text)
    return _WIFI.sub(_hide_wifi, text)


def _hide(found: re.Match[str]) -> str:
    parts = found.groupdict()
    return f"{parts.get('before') or ''}{REDACTED}{parts.get('behind') or ''}"


def _hide_wifi(found: re.Match[str]) -> str:
    value = found["value"].lower()
    is_state = value in _STATES or (value.isalpha() and value.endswith(_STATE_ENDS))
    return found[0] if is_state else f"{found['before']}{REDACTED}"
