"""Forms of words by which definitions, exceptions and duties are told apart, in five languages.

Patterns expect lower case, but those that tell a capital. They are evidence for the estimate in
`probability.py`; alone, none of them makes an item.
"""

import re


def _any_of(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts))


# A number, letter or mark before the first word: `(2) `, `1.4. `, `a) `, `- `.
LABEL = (
    r"^[\W_]{0,4}(?:(?:(?:§\s?)?\d{1,4}(?:\.\d{1,3}){0,3}[a-z]?[.)°]{0,2}|[ivx]{1,4}[.)]{1,2}"
    r"|[a-z][.)]{1,2})[\W_]{1,4})?"
)

# The sentence says what a term means.
MEANS = _any_of(
    r"\b(?:means\b|shall mean\b|refers? to\b|denotes?\b|stands? for\b|is understood\b)",
    r"\b(?:is|are) (?:\w+ )?(?:defined as|referred to as|known as|called|addressed as|termed)\b",
    r"\bthe (?:term|word|expression|phrase)s?\b|\bshall (?:not )?include\b",
    r"\bim sinne (?:dieses|dieser|des|der|von)\b|\bbezeichnet\b|\b(?:gilt|gelten) (?:\w+ )?als\b",
    r"\bals\b.{3,90}\b(?:gilt|gelten)\b|\bversteht man\b|\bzu verstehen\b|\bgemeint\b",
    r"\b(?:wird|werden)\b.{0,50}\bgenannt\b|\bbedeutet\b|\bheißen\b|\bliegt\b.{0,40}\bvor, wenn\b",
    r"\bdésigne(?:nt)?\b|\bs'entend|\bon entend\b|\bs'appelle|\bse nomme|\bsignifie(?:nt)?\b",
    r"\b(?:est|sont) (?:ce(?:lui|lles?|ux)|dite?s?|appelée?s?|définie?s?|réputée?s?|censée?s?)\b",
    r"\ble contrat par lequel\b|\ble (?:mot|terme)\b|\bl'expression\b|\bconsidérée?s? comme\b",
    r"\bse entiende|\bse entenderá|\bse considera(?:n|rán?)?\b|\bsignifica\w?\b|\bse denomina",
    r"\bse llama|\b(?:la|esta) consideración\b|\bse define|\bconocid[oa]s? como\b|\bllamad[oa]s?\b",
    r"\bentende-se\b|\bconsidera-se\b|\bchama-se\b|\bdenomina-se\b|\bdesigna-se\b|\bdiz-se\b",
    r"\bchamad[oa]s?\b|\bdenominad[oa]s?\b",
)
# A subject of a few words, a copula, and what it is: `A gateway is a machine that …`
COPULA = re.compile(
    LABEL
    + r"(?:[^\s,;:.]+\s+){1,7}?(?:is|are|ist|sind|est|sont|es|son|é|são)\s+"
    + r"(?:an?|the|any|every|whoever|whatever|each|eine?[rsn]?|der|die|das|alle|une?|les?|la|l'\w+"
    + r"|un[oa]?|el|l[oa]s|aquel\w*|uma?|os?|as?|cualquier|qualquer|toute?s?|tod[oa]s?)\b",
)
RELATIVE = re.compile(r"\bused (?:to|for|by)\b|, (?:der|die|das|dessen|deren|mit de[rnm])\b")
_RELATIVE_WORDS = """
that which who whose whom designed lequel laquelle dont qui où que cuyo cuya cuyos cuyas cujo cuja
cujos cujas mediante
"""
RELATIVE_WORDS = frozenset(_RELATIVE_WORDS.split())
# A name given in passing: `(the "Service")`, `(Prämie)`, `im folgenden`.
ALIAS = re.compile(
    r"\((?:(?:the|each|an?|collectively|together|or|hereinafter|hereafter|im folgenden|nachfolgend"
    r"|kurz|ci-après|en adelante|en lo sucesivo|doravante|adiante)\b,?\s*){0,3}[\"“„«][^)]{2,60}\)"
)
# A term and its description, divided by a dash or a colon.
GLOSS = re.compile(LABEL + r"[\"“„«*_`]{0,2}[^\s:.–—][^:.–—\n]{1,40}[\"”“»*_`]{0,2}(?: [-–—] |: )")

# The sentence takes a case out of a rule, in words that say little else.
EXEMPTS = _any_of(
    r"\b(?:do(?:es)?|shall|will) not (?:\(\w\) )?(?:\w+ )?(?:apply|affect|supersede|waive|prejudice"
    r"|impair|terminate)\b|\bnothing (?:in|herein|contained)\b|\bnotwithstanding\b",
    r"\b(?:no|will not|shall not|does not) (?:\w+ ){0,2}(?:restrict|prevent|limit)\b",
    r"\bas an exception\b|\bwith the exception\b|\bexceptions? to\b|\bare relaxed\b"
    r"|\bmay not apply\b|\b(?:is|are) not (?:intended|meant) to (?:restrict|limit|affect|prevent)\b"
    r"|\b(?:has|have|is|are) no (?:effect|longer required)\b|\bno \w+ (?:is|are) required\b",
    r"\b(?:gilt|gelten) (?:\w+ ){0,6}nicht\b|\b(?:findet|finden)\b.{0,200}\bkeine anwendung\b",
    r"\bnicht (?:\w+ )?anzuwenden\b|\bunberührt\b|\bbedarf es (?:nicht|keiner)|\babweichend von\b",
    r"\bentfällt\b|\bausnahm(?:e|en|sweise)\b|\bausgenommen\b|\bes nicht, wenn\b",
    r"\bne s'appli\w+ (?:pas|ni)\b|\bn(?:'est|e sont) pas (?:\w+ )?(?:applicables?|soumis\w*)\b"
    r"|\bcesse(?:nt)?\b|\brien n'empêche\b",
    r"\bne (?:fait|font) pas obstacle\b|\bpar dérogation\b|\bpar exception\b|\bnonobstant\b",
    r"\bno (?:se aplica|(?:es|son|será(?:n)?) (?:de aplicación|aplicable|objeto de)|impedirá"
    r"|afectará|obstante)|\btampoco se aplica",
    r"\bse exceptúa|\bqueda(?:n|rán?)? (?:exceptuad|excluid|exent)|\bexcepciones\b"
    r"|\bsin perjuicio de",
    r"\bnão (?:se aplica|é aplicável|são aplicáveis|será aplicável|prejudica)|\bexcetua",
    r"\bfica(?:m|rão)? (?:excluíd|isent|dispensad)|\bexceç(?:ão|ões)\b|\bsem prejuízo d",
)
# Words that often, but not always, take a case out of a rule.
MAY_EXEMPT = _any_of(
    r"\bnot (?:intended to|required to|include|be required)\b|\bexempt|\bexcluding\b|\bexclud",
    r"\bexceptions?\b|\bprevails?\b|\bprecedence\b|\bno longer\b|\beven if\b|\beven where\b",
    r"\bohne (?:dass|daß|zustimmung)\b|\bnicht (?:verpflichtet|erforderlich)\b|\babweich",
    r"\bauch dann\b|\blors même\b|\bmême (?:si|quand)\b|\bexclue?s?\b|\bdispensée?s?\b",
    r"\bno incluirá|\bno incluye|\baunque\b|\bexcluid|\bnão inclu|\bembora\b|\bmesmo que\b",
)
CONTRARY_FIRST = re.compile(
    LABEL
    + r"(?:notwithstanding|except|unless|however|but|nevertheless|nonetheless|regardless|despite"
    + r"|otherwise|abweichend|ungeachtet|unbeschadet|jedoch|ausgenommen|andernfalls"
    + r"|(?:dies|das|dasselbe) gilt nicht|toutefois|cependant|néanmoins|par (?:dérogation"
    r"|exception)"
    + r"|sauf|nonobstant|hormis|quoiqu|mais|no obstante|sin embargo|salvo|excepto|por excepción"
    + r"|sin perjuicio|con carácter excepcional|fuera de|pero|contudo|no entanto|porém|todavia"
    + r"|exceto|sem prejuízo|mas)\b",
)
UNLESS = _any_of(
    r"\bunless\b|\bexcept\b|\bother than\b|\bbut (?:not|only)\b|\bwithout prejudice\b"
    r"|\bsave (?:as|for)\b",
    r"\bes sei denn\b|\b(?:sofern|soweit) (?:\w+ ){0,4}(?:nicht|nichts|kein\w*)\b|\bjedoch\b",
    r"\bà moins\b|\bsauf\b|\bhormis\b|\bcontraire\b|\bsans préjudice\b|\bautres? que\b"
    r"|\btoutefois\b",
    r"\ba menos que\b|\bsalvo\b|\bexcepto\b|\bsin perjuicio\b|\ben contrario\b",
    r"\ba não ser\b|\bexceto\b|\ba menos que\b|\bsem prejuízo\b",
)

# A duty, right or power that no auxiliary verb names.
DEONTIC = _any_of(
    r"\b(?:reserves? the right|ha(?:s|ve) the right|is void|in writing)\b",
    r"\bà la charge\b|\best réputé\b|\ba cargo de\b|\bobrigaç\w",
)
# Sets of words cost a tenth of a pattern.
_DEONTIC_WORDS = """
agree agrees liable responsible grant grants represents warrants complies consent
anspruch verpflichtet berechtigt zulässig unzulässig nichtig unwirksam haftet haften
bedarf bedürfen zuständig ermächtigt vorzulegen anzugeben mitzuteilen entsprechend
tenu tenue tenus tenues obligé obligée obligés obligées droit nul nulle interdit permis
autorisé autorisée autorisés autorisées
derecho obligación obligado obligada obligados obligadas prohibido prohibida prohibidos prohibidas
nulo nula nulos nulas competente competentes
direito obrigado obrigada obrigados obrigadas proibido proibida proibidos proibidas
"""
DEONTIC_WORDS = frozenset(_DEONTIC_WORDS.split())
# Statutes in French, Spanish and Portuguese oblige in the future tense.
FUTURE_ENDINGS = ("rá", "rán", "rão", "era", "ira", "ura", "eront", "iront", "uront")
MIN_STEM_CHARS = 2
# `can`, which guides use for what is possible and statutes for what is allowed.
_ABILITY_WORDS = """
can could kann können könnte könnten might peut peuvent pode podem poderia podría pourrait puede
pueden
"""
ABILITY = frozenset(_ABILITY_WORDS.split())
# What may happen, not what is allowed: `may cause`, `pode ser`.
MAY_HAPPEN = re.compile(
    r"\b(?:may|can|could|might|peut|peuvent|puede|pueden|pode|podem|kann|können)\s+(?:\w+\s+){0,2}"
    r"(?:be|cause|lead|affect|increase|occur|happen|result|change|have|include|differ|take|help"
    r"|also"
    r"|causar|afetar|aumentar|provocar|passar|ser|estar|ter|levar|produzir|producir|afectar|dañar"
    r"|desenvolver|conducir|contener|causer|entraîner|provoquer|être|avoir|arriver|contenir"
    r"|verursachen|führen|auftreten|sein|werden|haben)\b"
)
# An instruction inside the sentence: `Wenn …, wählen Sie`, `…, installez`, `…, contact`.
# Each pattern with a part without which it cannot match: most sentences have none of them.
_INSTRUCTS_BY_PART = (
    ("lease", re.compile(r"\b[Pp]lease\b")),
    ("itte", re.compile(r"\b[Bb]itte\b")),
    ("euillez", re.compile(r"\b[Vv]euillez\b")),
    ("or favor", re.compile(r"\b[Pp]or favor\b")),
    (
        " Sie",
        re.compile(
            r"(?<!könn)(?<!müss)(?<!sollt)(?<!woll)(?<!hab)(?<!dürf)(?<!werd)(?:en|rn|ln) Sie\b"
        ),
    ),
    (
        "ez",
        re.compile(r"(?:^|, |; |: |et |puis |ou |, ne |n')(?!assez|chez|nez|rez)[a-zéèêà]{3,}ez\b"),
    ),
)
_ENGLISH_INSTRUCTIONS = """
add ask call check choose click consult contact copy create do edit enter follow give install keep
make open press read remove run see select set stop take talk tell try type use wait write
"""
_IBERIAN_INSTRUCTIONS = """
abra ande ejecute compruebe conduza conduzca consulte contacte copie cree crie deje dê deixe diga
edite elija escolha escriba escreva espere execute faça fale haga informe instale introduzca leia
lea maneje mude pare pida ponga prima pulse remova seleccione selecione siga suspenda tenha tente
tome use utilice utilize verifique
"""
_LONGER = {"do": "do not", "make": "make sure"}
_INSTRUCTS_BY_WORD = (
    (
        frozenset(_ENGLISH_INSTRUCTIONS.split()),
        re.compile(
            r"(?:, |then |and |not |\) )(?:"
            + "|".join(_LONGER.get(it, it) for it in _ENGLISH_INSTRUCTIONS.split())
            + r")\b"
        ),
    ),
    (
        frozenset(_IBERIAN_INSTRUCTIONS.split()),
        re.compile(
            r"(?:, |\b(?:não|no|nunca|nem|ni|y|e|então|después|depois|por favor) )(?:"
            + "|".join(_IBERIAN_INSTRUCTIONS.split())
            + r")\b"
        ),
    ),
)


def instructs_inside(text: str, words: set[str]) -> bool:
    """Whether an instruction stands inside a sentence; `words` are its words in lower case."""
    return any(
        part in text and pattern.search(text) for part, pattern in _INSTRUCTS_BY_PART
    ) or any(
        not known.isdisjoint(words) and pattern.search(text)
        for known, pattern in _INSTRUCTS_BY_WORD
    )


def opens_instruction(text: str) -> bool:
    """Whether an instruction begins after the comma that the text begins with."""
    return _INSTRUCTION_AFTER.match(text) is not None


_INSTRUCTION_AFTER = re.compile(
    r",\s\[?(?:(?:please|then|do not|don't|bitte|alors|ne|no|não|entonces|então)\s)?(?:"
    + "|".join([*_ENGLISH_INSTRUCTIONS.split(), *_IBERIAN_INSTRUCTIONS.split()])
    + r"|[a-zéèêà]{3,}ez(?<!assez)(?<!chez)|[a-zäöüß]{3,}(?:en|rn|ln) Sie)\b"
)
# German obliges with an infinitive: `ist … beizufügen`, `hat … zu prüfen`.
IS_TO = re.compile(
    r"\b(?:ist|sind|hat|haben)\b[^.;]{2,240}\b(?:zu \w{3,}(?:en|ern|eln)|\w{2,}zu\w{3,}en)\b"
)
APPLIES = _any_of(
    r"\bappl(?:y|ies) to\b|\bis governed\b|\bsubject to\b|\b(?:findet"
    r"|finden)\b.{0,120}\banwendung\b",
    r"\b(?:gilt|gelten)\b|\b(?:est|sont) (?:applicables?|soumis)|\bs'applique|\bse regirán?\b",
    r"\bse aplicarán?\b|\baplicables?\b|\bse aplica|\baplica-se|\baplicam-se|\baplicáve",
)
EXAMPLE_FIRST = re.compile(
    LABEL + r"(?:for (?:example|instance)|zum beispiel|beispielsweise|par exemple|por e[jx]emplo"
    r"|in other words|that is|ou seja|es decir|c'est-à-dire|das heißt|in practice|of course)\b",
)
SAYS_WHAT_IS = re.compile(
    LABEL
    + r"(?:this|these|it|they|that|there|dies(?:e[rs]?)?|es|sie|das|ce(?:la|ci|tte|s|t)?|c'est"
    r"|il|elles?|ils|esto|est[ae]s?|isto|essa?e?s?)\s+(?:\w+\s+)?(?:is|are|was|were|has|have|means"
    r"|includes?|ensures?|allows?|makes?|ist|sind|gibt|wird|war|est|sont|a|ont|était|y a|s'agit"
    r"|es|son"
    r"|hay|existen?|fue|é|são|há|existem?|foi|significa)\b",
)
_I_OR_AUTHOR_WORDS = """
eu i ich je mein meine meinem meinen meiner mes meu mi minha mon my yo
"""
I_OR_AUTHOR = frozenset(_I_OR_AUTHOR_WORDS.split())
_WE_WORDS = """
nos nosotros nossa nossas nosso nossos notre nous nuestra nuestras nuestro nuestros nós our
unser unsere unserem unseren unserer unseres us we wir
"""
WE = frozenset(_WE_WORDS.split())
# German states a condition by putting the verb first: `Ist … , so …`
VERB_FIRST = re.compile(
    LABEL + r"(?:ist|sind|hat|haben|wird|werden|war|kommt|fehlt|steht|stehen|erhöht|will|besteht"
    r"|bestehen|erfolgt|liegt|liegen|verletzt|macht|kann|können|soll|sollen)\b.*,"
)
DEFINITIONS_TITLE = _any_of(
    r"\bdefinition|\bdefined terms|\bglossar|\bterminolog|\bbegriff|\bdéfinition|\blexique"
    r"|\bdefinicion|\bdefinic|\bdefiniç|\bglos[ae]|\bconce(?:pts|ptos|itos)\b"
)
EXCEPTIONS_TITLE = _any_of(
    r"\bexception|\bexempt|\bexclusion|\bausnahm|\bausschl|\bdérogation|\bexcepcion|\bexención"
    r"|\bexclusi|\bexceç|\bisenç"
)
# Where the term of a definition stands.
QUOTED_TERM = re.compile(r"[\"“„«]\s?([^\"”»“]{2,60}?)\s?[\"”»“]")
TERM_BEFORE = re.compile(
    LABEL + r"(?:(?:the|an?|der|die|das|eine?|les?|la|une?|el|l[oa]s|una?|os?|as?|uma?)\s+)?"
    r"((?:[^\s,;:.]+\s+){1,6}?)(?:im sinne|is|are|ist|sind|est|sont|es|son|é|são|means?|désigne"
    r"|liegt|gilt|gelten|se nomme\w*|s'appelle\w*|:)(?=\s|$)",
    re.IGNORECASE,
)
TERM_AFTER = re.compile(
    LABEL + r"(?:als|se entiende por|se entenderá por|on entend par|entende-se por|se considera\w*"
    r"|considera-se)\s+((?:[^\s,;:.]+\s+){1,6}?)(?:gilt|gelten|aquel\w*|l[ao]s?|el|un[ae]?|tod[oa]"
    r"|o|a|im sinne)\b",
    re.IGNORECASE,
)

# Entries of glossaries, dictionaries and lists of options, where layout does what words do
# elsewhere: a short line with its meaning indented below, or a gap between both.
ENTRY_BELOW = re.compile(r"([^\n]{1,48}?)(?<![.;:,!?])[ \t]*\n[ \t]{2,}(?=\S)")
ENTRY_BESIDE = re.compile(r"(\S[^\n]{0,36}?)(?<![.;,!?])(?:[ \t]{3,}|\t)(?=\S)")
OPTION = re.compile(r"(?:--?[\w?@%#]|[%+/][\w%])[^\n]{0,70}?(?:\n[ \t]+|[ \t]{2,})(?=\S)")
# How a headword is said, or what part of speech it is.
HEADWORD = re.compile(
    r"[*_\"“:]{0,2}([^\n:/,.(]{1,40}?)[*_\"”:]{0,2}[:,]?\s{1,3}"
    r"(?:/[^/\n]{2,40}/|\[[^\]\n]{2,30}\]|\(?(?:n|v|vt|vi|adj|adv|subst|sust|loc|interj|pref|suff)\."
    r"|s\. ?[fm]\.|[fm]\. )",
)

# Frames: classes of cues that do the same in five languages. A form that one language has is in
# the others too, so each frame is one sign of all of them.
_CUES_BY_FRAME = {
    # Somebody is free of a duty, or a case is: `need not`, `bedarf es nicht`, `n'est pas tenu`.
    "releases": (
        r"need not|needn't|(?:do|does|did) not (?:need|have) to|don't (?:need|have) to"
        r"|(?:is|are|be) (?:not|no longer) (?:\w+ )?(?:required|obliged|obligated|bound|liable"
        r"|necessary|mandatory|subject|needed)|exempt(?:s|ed)? from|not be (?:required|necessary)"
        r"|no \w+ (?:is|are) (?:required|needed|necessary)|(?:is|are|be) (?:waived|lifted|relaxed"
        r"|suspended|excused|omitted)"
        r"|dispensed with|without (?:first )?(?:having|being required) to",
        r"(?:brauch\w*|muss|müssen|musst) (?:\w+ ){0,6}(?:nicht|kein\w*)|bedarf (?:\w+ ){0,3}"
        r"(?:nicht|keine\w*)|bedürfen (?:\w+ ){0,3}(?:nicht|keine\w*)|nicht (?:verpflichtet"
        r"|erforderlich|notwendig|nötig|zwingend|einzuhalten)|befreit|befreiung|entbehrlich"
        r"|verzichtet werden|entfällt|entfallen|freigestellt|ausgesetzt",
        r"(?:n'est|ne sont|n'êtes|n'a|n'ont) (?:pas|plus|nullement) (?:\w+ )?(?:tenu\w*|obligat\w+"
        r"|oblig\w+|nécessaire|requis\w*|besoin|soumis\w*|assujetti\w*)|dispens\w+|exonér\w+"
        r"|exempt\w*|il n'est pas (?:nécessaire|obligatoire)|inutile de",
        r"no (?:es|será|serán|son|está|están|estará|estarán) (?:\w+ )?(?:necesari\w+|obligad\w+"
        r"|obligatori\w+|exigible\w*|precis\w+|sujet\w+|requerid\w+)|exent\w+|eximi\w+|exime\w*"
        r"|dispensad\w+|no (?:necesita|tiene que|hace falta|requerirá|se exigirá)\w*",
        r"não (?:é|são|será|serão|está|estão) (?:\w+ )?(?:necessári\w+|obrigad\w+|obrigatóri\w+"
        r"|exigid\w+|sujeit\w+|exigível)|não (?:precis\w+|necessit\w+|tem de|tem que)|isent\w+"
        r"|dispensad\w+|dispensa-se|fica dispensad\w+",
    ),
    # A case is outside a rule: `does not cover`, `fallen nicht unter`, `quedan fuera`.
    "excludes": (
        r"(?:do|does|shall|will|did) not (?:\w+ )?(?:include|cover|extend|count|constitute|concern"
        r"|limit|require)|not (?:\w+ )?(?:covered|included|affected|counted|applicable)"
        r"|(?:out|outside) (?:of )?(?:the )?scope|is excluded|are excluded|exclud(?:es|ing)",
        r"(?:fällt|fallen) (?:\w+ )?nicht unter|nicht (?:\w+ )?(?:erfasst|umfasst|eingeschlossen"
        r"|berücksichtigt|angerechnet|betroffen)|außer betracht|ausgeschlossen|ausgenommen"
        r"|keine geltung|kein\w* anspruch",
        r"ne (?:sont|est) pas (?:\w+ )?(?:concern\w+|compris\w*|visé\w*|couvert\w*|pris\w* en"
        r" compte)"
        r"|n'est pas (?:\w+ )?(?:concern\w+|compris\w*|visé\w*|couvert\w*)|(?:est|sont) exclu\w*"
        r"|ne (?:relèv\w+|concern\w+|comprend\w*|couvr\w+|porte\w*|s'étend\w*)[^.;]{0,30} (?:pas"
        r"|ni)"
        r"|n'entr\w+ pas|à l'exclusion",
        r"qued\w+ (?:fuera|exclu\w+|exceptuad\w+)|no (?:\w+ )?(?:incluy\w+|comprend\w+|abarca\w*"
        r"|afect\w+|computa\w*|alcanz\w+)|no (?:estar?án?|se encuentran?) (?:\w+ )?incluid\w+"
        r"|no tend\w+ la consideración|se excluy\w+|con exclusión|excluid\w+",
        r"(?:fica\w*|est\w+|são) (?:de fora|excluíd\w+|excetuad\w+)|não (?:\w+ )?(?:inclu\w+"
        r"|abrang\w+|compreend\w+|afet\w+|se estend\w+)|não (?:é|são) (?:\w+ )?(?:abrangid\w+"
        r"|considerad\w+|incluíd\w+)|excluíd\w+|exclu[ei]-se|exclu(?:em|i)",
    ),
    # All but a case: `with the exception of`, `mit Ausnahme`, `sous réserve`, `ressalvado`.
    "saves": (
        r"with the exception|except(?:ing)?(?: for| that| where| when| as| in| if)?|apart from"
        r"|aside from|save (?:for|that|as|where)|unless|other than|but not|not including"
        r"|subject to (?:any|the|this|these|section|subsection|paragraph)|beyond",
        r"mit (?:der )?ausnahme|außer(?:\s|$)|ausgenommen|abgesehen von|es sei denn|sofern (?:\w+"
        r" ){0,6}"
        r"nicht|soweit (?:\w+ ){0,6}(?:nicht|nichts|kein\w*)|vorbehaltlich|unbeschadet|nicht jedoch"
        r"|jedoch nicht",
        r"à l'exception|à moins|sauf|hormis|excepté\w*|sous réserve|hors(?: de)?|en dehors|mais"
        r" (?:pas"
        r"|non)|sans préjudice|autres? que",
        r"(?:con|a) (?:la )?excepción|salvo|excepto|a menos que|sin perjuicio|a reserva|fuera de"
        r"|exceptuando|distint\w+ de|pero no",
        r"(?:com|à|a) (?:a )?exce[pç]\w+|salvo|exceto|a menos que|a não ser|sem prejuízo"
        r"|ressalvad\w+"
        r"|sob reserva|excetuand\w+|mas não",
    ),
    # The sentence turns against the one before it.
    "turns_first": (
        r"^\W{0,4}(?:that said|even so|still|exceptionally|in exceptional|by way of exception|yet"
        r"|in"
        r" contrast|on the other hand|having said that|as an exception|exceptions?\b|exempt\w*"
        r"|allerdings|ausnahmsweise|in ausnahmefällen|in (?:begründeten )?ausnahme\w*|davon|hiervon"
        r"|lediglich|dagegen|hingegen|gleichwohl|dennoch|abweichungen|statt|anstelle"
        r"|exceptionnellement|à titre exceptionnel|en revanche|par contre|à l'exception|en dehors"
        r"|pour autant|dans (?:le|des) cas exceptionnels|en dérogation"
        r"|excepcionalmente|con (?:la )?excepción|a excepción|ahora bien|con todo|por el contrario"
        r"|en casos excepcionales|quedan? except\w+|se exceptúa\w*"
        r"|excecionalmente|entretanto|ainda assim|à exceção|com exceção|em casos excecionais"
        r"|em casos excepcionais|ressalva\w*|excetua\w*)\b",
    ),
    # One thing in place of another.
    "replaces": (
        r"in place of|instead(?: of)?|in lieu of|rather than|anstelle|anstatt|statt(?:dessen)?"
        r"|an die stelle|au lieu d\w+|en lieu et place|à la place|en lugar de|en vez de"
        r"|en sustitución|em vez de|em lugar de|em substituição",
    ),
    # It says what a name is given to: `defines X as`, `unter X versteht man`, `on appelle`.
    "names": (
        r"defin(?:es?|ed|ing) \W?[^.;]{1,80}? as|(?:we|is|are|be) (?:then |often |also |usually"
        r" )?call(?:ed)?"
        r"|is (?:the|an?) (?:\w+ )?(?:term|name|word|abbreviation|acronym|concept|process|set|kind"
        r"|type|way|collection|measure|number|act|practice|ability|state|form)|is short for"
        r"|that is to say|namely|stand(?:s|ing)? for|consists? (?:of|in)|comprises?|meaning",
        r"definier\w+ [^.;]{1,80}? als|(?:versteht|verstehen|verstanden) [^.;]{0,60}?(?:man|wir"
        r"|unter)"
        r"|unter [^.;,]{2,60} (?:versteh\w+|verstand\w+|ist)|nenn\w+ (?:man|wir)|genannt\w*"
        r"|sogenannt\w*"
        r"|handelt es sich um|abkürzung|steht für|das heißt|umfass\w+|besteht (?:aus|in)",
        r"défini\w* [^.;]{1,90}? comme|on (?:appelle|entend|nomme|désigne|parle d\w*)|aussi"
        r" appel\w+"
        r"|appelé\w*|dit\w* |il s'agit d\w*|sigle|acronyme|abréviation|c'est-à-dire|consist\w+ (?:à"
        r"|en)"
        r"|se compose|comprend\w*|ensemble d\w*",
        r"defin\w+ [^.;]{1,90}? como|se (?:llama|denomina|conoce|refiere|trata)\w*|llamad\w+"
        r"|denominad\w+"
        r"|conocid\w+ como|siglas?|acrónimo|abreviatura|es decir|consist\w+ en|se compon\w+"
        r"|comprend\w+|conjunto de|significa",
        r"defin\w+ [^.;]{1,90}? como|chama\w*|denomina\w*|conhecid\w+ como|trata-se|refere\w*-se"
        r"|sigla|acrônimo|acrónimo|abreviação|abreviatura|ou seja|isto é|consist\w+ em"
        r"|compreend\w+|conjunto de|significa",
    ),
    # A law takes a thing for another: `is deemed`, `gilt als`, `est réputé`, `se considerará`.
    "deems": (
        r"(?:is|are|be|was) (?:also )?(?:deemed|regarded|treated|taken|considered|construed"
        r"|presumed)"
        r"|als [^.;]{2,120}? (?:gilt|gelten|gelte)\b|(?:gilt|gelten) [^.;]{0,120}?als\b"
        r"|(?:est|sont) (?:\w+ )?(?:réputé\w*|considéré\w*|présumé\w*|assimilé\w*|regardé\w*)"
        r"|(?:se|tendr\w+ la) (?:considera\w*|consideración|entend\w+|presum\w+)|considerad\w+"
        r"|(?:é|são|será|serão) (?:considerad\w+|havid\w+|equiparad\w+)|considera\w*-se"
        r"|presume\w*-se|equipara\w*",
    ),
}
FRAMES = tuple(
    (name, re.compile("|".join(rf"\b(?:{it})(?!\w)" if it[0] != "^" else it for it in cues)))
    for name, cues in _CUES_BY_FRAME.items()
)
