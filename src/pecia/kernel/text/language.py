"""One code for a language everywhere: BCP 47, with two letters where ISO 639-1 has them. Pure."""

import re

# ISO 639-2 and 639-3 codes whose language has one of two letters in ISO 639-1. Both forms of
# 639-2 where they differ (`ger`, `deu`), and the members of a macrolanguage that detectors name.
_TWO_LETTERS = """
aa aar; ab abk; ae ave; af afr; ak aka; am amh; an arg; ar ara arb; as asm; av ava; ay aym; az aze
azj; ba bak; be bel; bg bul; bh bih; bi bis; bm bam; bn ben; bo bod tib; br bre; bs bos; ca cat;
ce che; ch cha; co cos; cr cre; cs ces cze; cu chu; cv chv; cy cym wel; da dan; de deu ger; dv div;
dz dzo; ee ewe; el ell gre; en eng; eo epo; es spa; et est ekk; eu eus baq; fa fas per pes; ff ful;
fi fin; fj fij; fo fao; fr fra fre; fy fry; ga gle; gd gla; gl glg; gn grn; gu guj; gv glv; ha hau;
he heb; hi hin; ho hmo; hr hrv; ht hat; hu hun; hy hye arm; hz her; ia ina; id ind; ie ile; ig ibo;
ii iii; ik ipk; io ido; is isl ice; it ita; iu iku; ja jpn; jv jav; ka kat geo; kg kon; ki kik;
kj kua; kk kaz; kl kal; km khm; kn kan; ko kor; kr kau; ks kas; ku kur; kv kom; kw cor; ky kir;
la lat; lb ltz; lg lug; li lim; ln lin; lo lao; lt lit; lu lub; lv lav lvs; mg mlg; mh mah; mi mri
mao; mk mkd mac; ml mal; mn mon khk; mr mar; ms msa may zsm; mt mlt; my mya bur; na nau; nb nob;
nd nde; ne nep npi; ng ndo; nl nld dut; nn nno; no nor; nr nbl; nv nav; ny nya; oc oci; oj oji;
om orm; or ori ory; os oss; pa pan; pi pli; pl pol; ps pus; pt por; qu que; rm roh; rn run;
ro ron rum; ru rus; rw kin; sa san; sc srd; sd snd; se sme; sg sag; si sin; sk slk slo; sl slv;
sm smo; sn sna; so som; sq sqi alb; sr srp; ss ssw; st sot; su sun; sv swe; sw swa swh; ta tam;
te tel; tg tgk; th tha; ti tir; tk tuk; tl tgl; tn tsn; to ton; tr tur; ts tso; tt tat; tw twi;
ty tah; ug uig; uk ukr; ur urd; uz uzb uzn; ve ven; vi vie; vo vol; wa wln; wo wol; xh xho; yi yid
ydd; yo yor; za zha; zh zho chi cmn; zu zul
"""
_CODES = {
    longer: two
    for entry in _TWO_LETTERS.replace("\n", " ").split(";")
    for two, *others in [entry.split()]
    for longer in others
}
# Names that have the form of a tag, and that people give where one is asked for.
_NAMES = """
en english englisch anglais ingles
de german deutsch allemand aleman alemao
fr french francais frances
es spanish spanisch espagnol espanol espanhol
pt portugais portugues
"""
CODE_BY_NAME = {
    name: code
    for line in _NAMES.strip().splitlines()
    for code, *names in [line.split()]
    for name in names
}
UNDETERMINED = "und"


def normalize_language_tag(written: str) -> str:
    """The tag as everybody here writes it (`eng` is `en`, `pt_br` is `pt-BR`), or nothing.

    What is no tag at all, and what says that the language is not known, is nothing.
    """
    found = _TAG.fullmatch(written.strip())
    if not found:
        return ""
    first, *rest = written.strip().replace("_", "-").split("-")
    primary = _CODES.get(first.lower(), first.lower())
    if primary in _UNKNOWN:
        return ""
    return "-".join([primary, *map(_subtag, rest)])


def primary_language(written: str) -> str:
    """The language of a tag without region or script: `en` of `eng-US`."""
    return normalize_language_tag(written).partition("-")[0]


def _subtag(part: str) -> str:
    if len(part) == 4 and part.isalpha():
        return part.title()
    return part.upper() if len(part) == 2 else part.lower()


_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")
_UNKNOWN = frozenset({UNDETERMINED, "mis", "mul", "zxx"})
