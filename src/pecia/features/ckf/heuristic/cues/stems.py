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
    "releases": _stems(
        "have tiene required obliged obligated bound liable necessary mandatory subject need"
        " needed needn"
        " exempt waived lifted relaxed suspended excused omitted dispensed ausgesetzt brauch muss"
        " müss bedarf bedürfen nicht befreit"
        " entbehrlich"
        " verzichtet entfällt entfallen freigestellt tenu nécessaire obligatoire requis besoin"
        " soumis"
        " assujetti dispensé exonéré inutile necesario exigible preciso sujeto requerido exento"
        " eximir necesita hace obrigado exigido isento"
    ),
    "excludes": _stems(
        "include cover extend count constitute concern limit require applicable affected scope"
        " excluded fällt fallen erfasst umfasst eingeschlossen berücksichtigt angerechnet betroffen"
        " außer ausgeschlossen ausgenommen geltung anspruch compris visé couvert pris exclu relève"
        " porte étend entrent quedan incluye abarca afecta computan alcanza tendrán fica abrange"
        " afetam estende são est"
    ),
    "saves": _stems(
        "except apart aside save unless other not including subject beyond ausnahme außer"
        " ausgenommen"
        " abgesehen denn sofern soweit vorbehaltlich unbeschadet jedoch moins sauf hormis réserve"
        " hors dehors mais préjudice autre salvo menos perjuicio reserva fuera distinto pero"
        " ressalvado ser sem mas exclusão excetuado"
    ),
    "replaces": _stems(
        "place instead lieu rather anstelle anstatt statt stelle lugar vez sust subs"
    ),
    "names": _stems(
        "define call term name word abbreviation acronym concept process set kind type way"
        " collection measure number act practice ability state form short say namely stand consist"
        " comprise meaning versteht nennt genannt sogenannt handelt abkürzung steht heißt umfasst"
        " besteht défini appelle entend nomme désigne parle dit agit sigle abréviation dire compose"
        " comprend ensemble llama denomina conoce refiere trata siglas acrónimo abreviatura decir"
        " conjunto significa chama conhecido acrônimo seja isto compreende refere"
    ),
    "deems": _stems(
        "deemed regarded treated taken considered construed presumed gilt gelten réputé présumé"
        " assimilé tendrán entenderá havidos equiparado"
    ),
    "perfect": _stems("has have had"),
}
