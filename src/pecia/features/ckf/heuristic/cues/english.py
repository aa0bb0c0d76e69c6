"""The function words of English rules. Grammar only: never a word that belongs to a subject."""

from pecia.features.ckf.heuristic.cues.kind import CueKind, CueLists

STOPWORDS = (
    "the of and to in is that for it with as was on are be by this at from or which an not has but"
    " have its were their been they more if will would can there when also than other such only any"
    " into may these some must should you your we our he she his her who whom whose what where how"
    " all each both no nor so then them those do does did a i up out about over under between"
)

CUES: CueLists = {
    CueKind.DEFINITION: (
        "means|means that|shall mean|shall not mean|refers to|refer to|is defined as"
        "|are defined as|denotes|stands for"
        "|is called|are called|is known as|are known as|consists of|is a|is an|are a kind of"
        "|is the|are the|is treated as|are treated as|is referred to as|are referred to as"
        "|is addressed as|is whoever|is whatever|is any|are any|are certain"
        "|shall be construed as|is deemed|are deemed"
    ),
    CueKind.OBLIGATION: (
        "must|shall|should|has to|have to|need to|needs to|is required|are required|required to"
        "|be required|ought to|always|is obliged to|are obliged to|is responsible for"
        "|are responsible for|mandatory|it is necessary|ensure|make sure|be sure to|is to be"
        "|are to be|is expected to|are expected to|at all times"
    ),
    CueKind.PROHIBITION: (
        "must not|mustn't|shall not|should not|shouldn't|may not|might not|cannot|can't"
        "|can not|never|do not|don't|avoid|avoids|avoided|is prohibited|are prohibited"
        "|is forbidden|are forbidden|not permitted|not allowed|refrain from|is blocked"
        "|are blocked|is denied|are denied|not eligible|ineligible|contraindicated"
        "|unavailable|is barred|are barred|not to|must never|should never|may never"
        "|is not to be|are not to be|is rejected|are rejected|is refused|are refused"
        "|not a substitute|under no circumstances|in no case|on no account"
    ),
    CueKind.PERMISSION: (
        "may|can|is allowed|are allowed|is permitted|are permitted|is entitled|are entitled"
        "|is eligible|are eligible|optional|optionally|is free to|are free to"
    ),
    CueKind.CONDITION: (
        "if|when|whenever|once|where|wherever|in case|in case of|in the event|in the event of"
        "|as soon as|as long as|so long as|provided that|provided|providing|assuming that"
        "|on condition that|in which case|depending on|upon|only if|only when|only where|even if"
        "|even when|even where|except when|except where|unless|when in doubt"
    ),
    CueKind.PRECONDITION: (
        "requires|require|required before|depends on|depend on"
        "|conditional on|conditional upon|contingent on|contingent upon|subject to|only after"
        "|only once|not until|only if|only when|only where|unless|needs|need|before|beforehand"
        "|in advance|prior to|does not satisfy|do not satisfy|satisfies|satisfy|necessary"
    ),
    CueKind.EXCEPTION: (
        "unless|except|except for|except that|except when|except where|exempt|exempted"
        "|other than|excluding|excludes|exclude|excluded|apart from|aside from|save for"
        "|does not apply|do not apply|not apply|does not cover|do not cover|only when|only if"
        "|only where|only for|only to|even if|even when|even though|even where|even after"
        "|does not change|do not change|does not affect|do not affect|does not waive|waive"
        "|waives|waived|does not count|do not count|in that case|with the exception|instead"
        "|otherwise|no longer applies|no longer apply|does not extend|do not extend"
        "|not counted|is lifted|are lifted|is suspended|are suspended|is ignored|are ignored"
        "|is disregarded|are disregarded|unaffected|but only|though only|save as|save that"
    ),
    CueKind.OVERRIDE: (
        "overrides|overridden|overriding|supersede|supersedes|superseded"
        "|takes precedence|take precedence|takes priority|take priority|prevail|prevails"
        "|notwithstanding|regardless of|regardless|irrespective of|in place of|replaces"
        "|precedence over|priority over|despite|in spite of|no matter"
    ),
    CueKind.CONTRAST: (
        "would otherwise|however|but|although|though|whereas|nevertheless|nonetheless|yet|still"
        "|rather than|instead of|while|on the other hand|by contrast|in contrast|unlike"
    ),
    CueKind.SCOPE: (
        "only|solely|exclusively|restricted to|limited to|applies to|apply to|applies only"
        "|apply only|applies|in scope|out of scope|outside|eligible"
        "|ineligible|for purposes of|for the purposes of|with respect to"
        "|with regard to|in the case of|at least|at most|up to|no more than|not more than"
        "|no less than|less than|more than|fewer than|greater than|below|above|exceeds|exceed"
        "|or less|or more|or fewer|alone|governed by|controlled by|concerns only|relates to"
        "|no other"
    ),
    CueKind.SEQUENCE: (
        "afterwards|afterward|finally|lastly|only after|only then|subsequently"
        "|followed by|in that order|in this order|in reverse|reversed|reverse order"
        "|in turn|to begin|begin by|start by|start with|final step|last step"
    ),
    CueKind.ORDINAL: "then|first|firstly|second|secondly|third|thirdly|fourth|fifth|next|last",
    CueKind.ORDER: "before|after|until|once|prior to",
    CueKind.TEMPORAL: (
        "until|till|effective|as of|as from|prior to|on or after|on or before|no later than"
        "|not later than|by the end of|at the end of|retroactive|retroactively|prospectively"
        "|expires|expire|expired|deadline|valid from|valid until|starting|at the time of"
        "|from then on|as yet|henceforth|no longer than|during|previously|formerly|thereafter"
        "|since then|at the latest|at the earliest|whichever is|for as long as"
    ),
    CueKind.CAUSE: (
        "because|because of|due to|owing to|caused by|as a result of|on account of"
        "|given that|thanks to|for the reason that"
    ),
    CueKind.RESULT: (
        "therefore|thus|hence|consequently|as a result|leads to|lead to|led to|results in"
        "|result in|resulted in|causes|cause|so that|for this reason|which means|thereby"
        "|ends up|gives rise to|brings about|causing|resulting in|leading to"
    ),
    CueKind.TENDENCY: (
        "often|usually|typically|tend to|tends to|generally|frequently|in most cases|mostly"
        "|commonly|normally|sometimes|as a rule|by default|most of the time|in general|rarely"
        "|seldom|occasionally|in practice"
    ),
    CueKind.ADVICE: (
        "rule of thumb|heuristic|as a guide|good practice|best practice|it is best|prefer"
        "|preferably|recommended|recommend|recommends|consider|better to|try to|it helps to"
        "|when in doubt|is advisable|are advisable|advisable|worth|it is wise|a useful"
    ),
    CueKind.MODEL: (
        "think of|is like|are like|acts as|act as|as if it were|analogy|analogous to"
        "|mental model|can be seen as|can be viewed as|imagine|picture it as|metaphor|works like"
        "|behaves like|a way to think"
    ),
    CueKind.OPINION: (
        "i think|i believe|we think|we believe|in my view|in our view|in my opinion"
        "|in our opinion|arguably|personally|we feel|i feel|we argue|i argue|i suspect"
    ),
    CueKind.HEDGE: (
        "might|perhaps|possibly|probably|likely|unlikely|appears to|appear to|seems to"
        "|seem to|suggests|suggest|reportedly|allegedly"
    ),
    CueKind.GAP: (
        "limitation|limitations|caveat|caveats|not yet|unclear|unknown|is not known"
        "|are not known|uncertain|open question|remains to be|further research|no evidence"
        "|insufficient evidence|does not say|not specified|undefined|to be determined"
        "|not covered here|not addressed|beyond the scope"
    ),
    CueKind.ASSUMPTION: "assume|assumes|assumed|assuming|assumption|assumptions|presumes|presumed",
    CueKind.OUTDATED: (
        "outdated|out of date|obsolete|deprecated|no longer|formerly|used to be|in the past"
        "|was replaced by|has been replaced|superseded"
    ),
    CueKind.DISPUTE: (
        "disagree|disagrees|disagreement|contradict|contradicts|contradiction|conflict with"
        "|conflicts with|inconsistent|disputed|debated|controversial|biased|bias"
    ),
    CueKind.PURPOSE: (
        "in order to|so as to|the purpose of|the aim of|the goal of|is intended to"
        "|are intended to|is designed to|are designed to|to help|to ensure|aims to|intended for"
        "|is meant to|is meant for"
    ),
    CueKind.CASE: "during|while|throughout",
    CueKind.NEGATION: "not|doesn't|isn't|aren't|no|none|without|nor|neither|nobody|no one",
    CueKind.SUBSTITUTE: "rather than|instead of",
    CueKind.IDIOM: (
        "may or may not"
        "|at once|once per|once every|once more|more than once|at least once|provided by"
        "|provided in|provided with|provided under|provided for|provided at|provided on|provided as"
        "|as provided|expressly provided|otherwise provided|is provided|are provided|was provided"
        "|were provided|be provided|in may|of may|since may"
    ),
}

# Nouns by which a text names what a part is; they say so of it, but cut no sentence.
NAMES: CueLists = {
    CueKind.PRECONDITION: (
        "requirement|requirements|condition|conditions|prerequisite|prerequisites"
        "|precondition|preconditions"
    ),
    CueKind.SCOPE: "scope|eligibility|restriction|restrictions|applicability",
    CueKind.EXCEPTION: (
        "exception|exceptions|exemption|exemptions|edge case|edge cases|special case"
        "|special cases|waiver"
    ),
    CueKind.OVERRIDE: "override|precedence",
    CueKind.SEQUENCE: "step|steps|sequence|procedure|workflow|how to",
    CueKind.PROHIBITION: "contraindication|contraindications",
}

UNITS = (
    "second seconds minute minutes hour hours day days week weeks month months quarter quarters"
    " year years decade decades"
)
MONTHS = "january february march april may june july august september october november december"
RELATIVE = "preceding prior previous following next current last same coming past"
NUMERALS = (
    "one two three four five six seven eight nine ten eleven twelve fifteen eighteen"
    " twenty thirty forty fifty sixty seventy eighty ninety hundred"
)
ANAPHORA = "this these that those they it such he she its their here there"
AROUND = "within after before for every per until in over than"
OPENERS = "for during under within in among across throughout with on at by against outside inside"
VALID_FROM = "effective|as of|as from|on or after|starting|from|since|valid from|after"
VALID_TO = "until|till|prior to|on or before|no later than|not later than|valid until|by|before"
CLOSING = "finally|lastly|final step|last step"
# Before a permission they make it a prohibition.
NOBODY = "no none neither nobody"
SCOPING = "for under within among outside inside across throughout on"
# Their clause means the same without them.
PLAIN = "if when whenever where wherever"
CONJUNCTIONS = "and or but nor"
THEN = "then"
QUESTION = "question q"
ANSWER = "answer a"
