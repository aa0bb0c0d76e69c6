"""Beginnings of words without which a sign of `forms.py` or `signs.py` cannot occur.

Most sentences have none of them, and comparing sets costs a tenth of a pattern.
"""

STEM_CHARS = 4


def _stems(words: str) -> frozenset[str]:
    return frozenset(it[:STEM_CHARS] for it in words.split())


STEMS_BY_SIGN = {
    "you": _stems("you your sie ihr ihre vous votre vos usted tu tus você seu su"),
    "refers": _stems(
        "see for siehe voir voyez consultez véase vea consulte veja ver para pour siehe"
    ),
    "means": _stems(
        "means shall refer denote stand understood defined known called addressed termed term word"
        " expression phrase sinne bezeichnet gilt gelten versteht gemeint genannt bedeutet heißen"
        " liegt désigne entend appelle nomme signifie ce celui celles ceux dit dite dits dites"
        " appelée définie réputée censée contrat mot considérée entiende considera significa"
        " denomina llama consideración define conocido entende chama designa diz"
    ),
    "relative": _stems("used der die das dessen deren mit"),
    "exempts": _stems(
        "apply affect supersede waive prejudice impair terminate extend cover nothing"
        " notwithstanding restrict prevent limit lieu scope intended exception relaxed nicht"
        " anwendung anzuwenden abgewichen unberührt bedarf abweichend entfällt ausnahme ausgenommen"
        " cesse obstacle dérogation nonobstant aplica impedirá afectará obstante quedan perjuicio"
        " prejudica fica effect required meant soumis empêche tampoco objeto"
    ),
    "may_exempt": _stems(
        "intended required include exempt exclude exception prevail precedence longer even ohne"
        " verpflichtet erforderlich abweichen auch lors même dispensé aunque embora mesmo"
    ),
    "may_happen": _stems("may can could might peut peuvent puede pueden pode podem kann können"),
    "applies": _stems("apply governed subject anwendung gilt gelten soumis regirán aplica"),
    "unless": _stems(
        "unless except other but without save denn sofern soweit jedoch moins sauf hormis contraire"
        " sans autre toutefois menos salvo sin contrario ser sem"
    ),
    "deontic": _stems("right void writing charge réputé cargo obrigação"),
}
