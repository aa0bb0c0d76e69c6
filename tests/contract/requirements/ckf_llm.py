"""What the CKF reference promises of compile_llm: keys, providers, coverage, PDFs and who pays."""

from tests.contract.requirement import Requirement

BENCH = "the bench of the two compilers: a real model, which needs a key and a network"

REQUIREMENTS: dict[str, Requirement] = {
    "ckf.compile_llm.same_call": Requirement(
        8,
        "The arguments of a ckf.compile call, plus provider and key, are taken by ckf.compile_llm "
        "as they are.",
    ),
    "ckf.compile_llm.denser": Requirement(
        8,
        "On the bench texts ckf.compile_llm gives more concepts, rules and question pairs than "
        "ckf.compile.",
        deferred=BENCH,
    ),
    "ckf.compile_llm.swap_the_name": Requirement(
        25,
        "Renaming the tool in the documented compile request and adding a key gives a package.",
    ),
    "ckf.compile_llm.needs_key_or_token": Requirement(
        56,
        "With neither byok_key nor token, ckf.compile_llm is AUTH_REQUIRED with a hint to pass a "
        "key.",
    ),
    "ckf.compile_llm.one_call": Requirement(
        57,
        "A text within the cap is compiled within one tools/call, with no job to wait for.",
        replaced=(
            "The text may be cut in several chunks inside that one call; metrics.chunks says how "
            "many."
        ),
    ),
    "ckf.compile_llm.all_stages": Requirement(
        57,
        "One call runs preflight, segment, lift, reduce, promote, coverage, sanitize, trace, "
        "numbers, quality.",
    ),
    "ckf.compile_llm.fewer_composition_errors": Requirement(
        57,
        "On the composition bench, answers from LLM packages err less than those from heuristic "
        "ones.",
        deferred=BENCH,
    ),
    "ckf.compile_llm.text_cap": Requirement(
        57,
        "A text of 60,000 characters is accepted; one more is PAYLOAD_TOO_LARGE with max 60000.",
    ),
    "ckf.compile_llm.caller_picks_model": Requirement(
        63,
        "The provider receives exactly the model name and the key that the caller passed.",
    ),
    "ckf.compile_llm.documented_request": Requirement(
        73,
        "The documented compile_llm request, sent with a well-formed key, gives a JSON package.",
    ),
    "ckf.compile_llm.provider_default_model": Requirement(
        80,
        "Without `model` the provider's default model is used, and metrics names it.",
    ),
    "ckf.compile_llm.provider_with_key": Requirement(
        79, "A byok_key without `provider` is MISSING_FIELD naming provider."
    ),
    "ckf.compile_llm.format_json": Requirement(
        83,
        "`format` takes json, yaml or markdown for ckf.compile_llm as it does for ckf.compile.",
    ),
    "ckf.compile_llm.larger_sources": Requirement(
        86,
        "For a source over the cap, the refusal's hint names the chunked pipeline, which compiles "
        "it.",
    ),
    "ckf.providers.openai": Requirement(
        57,
        "Provider openai is called at its chat endpoint with the key as a bearer token.",
    ),
    "ckf.providers.anthropic": Requirement(
        57,
        "Provider anthropic is called at its messages endpoint with the key in x-api-key.",
    ),
    "ckf.providers.google": Requirement(
        57,
        "Provider google, also named gemini, is called at generateContent with the key.",
    ),
    "ckf.providers.deepseek": Requirement(
        57,
        "Provider deepseek is called at its chat endpoint with the key as a bearer token.",
    ),
    "ckf.providers.openrouter": Requirement(
        57,
        "Provider openrouter is called at its chat endpoint with the key as a bearer token.",
    ),
    "ckf.providers.unknown": Requirement(
        72,
        "A provider outside the documented ones is INVALID_ENUM listing them.",
    ),
    "ckf.providers.failure": Requirement(
        139,
        "A provider that fails or times out gives UPSTREAM_ERROR, retryable, naming the provider.",
    ),
    "ckf.coverage.optional": Requirement(
        57,
        "Without coverage_mode a mode is chosen by the kind of source, and metrics.coverage names "
        "it.",
    ),
    "ckf.coverage.summary": Requirement(
        57, "coverage_mode summary reports uncovered spans and adds no item."
    ),
    "ckf.coverage.balanced": Requirement(
        57,
        "coverage_mode balanced adds items for uncovered spans and numbers, up to its limits.",
    ),
    "ckf.coverage.complete": Requirement(
        57, "coverage_mode complete leaves no span without a retrieval chunk."
    ),
    "ckf.coverage.other_mode": Requirement(
        57, "A fourth coverage_mode is INVALID_ENUM listing the three."
    ),
    "ckf.metrics.preflight": Requirement(
        57,
        "metrics.preflight profiles the source: size, language, format, warnings and blocks.",
    ),
    "ckf.metrics.coverage": Requirement(
        57,
        "metrics.coverage counts the spans, the covered ones and the items added by kind.",
    ),
    "ckf.metrics.numeric_integrity": Requirement(
        57,
        "metrics.numeric_integrity counts numbers found, corrected and unverifiable in the source.",
    ),
    "ckf.metrics.promotion": Requirement(
        57,
        "metrics.promotion counts items promoted to a richer section and items refused.",
    ),
    "ckf.metrics.quality": Requirement(
        57, "metrics.quality reports the scores that metadata repeats."
    ),
    "ckf.metrics.compiler_version": Requirement(
        86, "metrics.compiler_version says which pipeline ran: 1.3.1."
    ),
    "ckf.metrics.sanitizer": Requirement(
        86,
        "metrics.sanitizer counts what the sanitizer removed, set aside and merged.",
        replaced=(
            "Doubtful items are set aside and listed rather than removed, since removal lost true "
            "rules."
        ),
    ),
    "ckf.language.locked": Requirement(
        86,
        "With `language` set, every prose field of the package is in it, quotations excepted.",
    ),
    "ckf.language.drift_set_aside": Requirement(
        86,
        "An item that a model returns in another language does not reach the package as prose.",
    ),
    "ckf.operator.bearer_unlocks": Requirement(
        6,
        "An entitled caller's bearer token lets ckf.compile_llm run on the operator's model with "
        "no key.",
        replaced=(
            "The token is a PAT or an OIDC access token of this server, not one of a hosted login."
        ),
    ),
    "ckf.operator.lovable_name": Requirement(
        56,
        "provider `lovable` means the operator's model and needs a token: without one, "
        "AUTH_REQUIRED.",
        replaced=(
            "The model is the one that this server's operator configured; `operator` is another "
            "name for it."
        ),
    ),
    "ckf.operator.daily_user_quota": Requirement(
        57,
        "A user past the daily quota of the operator's model is RATE_LIMITED with the seconds to "
        "wait.",
    ),
    "ckf.operator.daily_global_quota": Requirement(
        57,
        "Past the global daily quota every user of the operator's model is RATE_LIMITED.",
    ),
    "ckf.operator.quotas_spare_byok": Requirement(
        57,
        "Used-up quotas of the operator's model never refuse a call that brings its own key.",
    ),
    "ckf.operator.kill_switch": Requirement(
        57,
        "With MCP_LOVABLE_AI_DISABLED set, the operator's model is refused to admins too, with a "
        "hint.",
    ),
    "ckf.operator.kill_switch_spares_byok": Requirement(
        57,
        "With MCP_LOVABLE_AI_DISABLED set, a call with byok_key still compiles.",
    ),
    "ckf.operator.admin": Requirement(63, "An admin may use the operator's model."),
    "ckf.operator.allowlisted": Requirement(
        63, "A user on the allowlist may use the operator's model."
    ),
    "ckf.operator.others_forbidden": Requirement(
        136,
        "A known caller who is neither admin nor on the allowlist is FORBIDDEN the operator's "
        "model.",
    ),
    "ckf.operator.byok_spends_nothing": Requirement(
        63,
        "A call with byok_key never reaches the operator's model or its budget.",
    ),
    "ckf.byok.any_provider": Requirement(
        6,
        "byok_key with any of the five providers gives a package to a caller with no special "
        "right.",
    ),
    "ckf.byok.used_once": Requirement(
        67,
        "The key goes to the chosen provider within the call and to no other host.",
    ),
    "ckf.byok.not_stored": Requirement(
        67, "After the call no table, file, job or cache holds the key."
    ),
    "ckf.byok.not_logged": Requirement(
        67,
        "The key is in no log line, audit row, metric or trace, on success and on failure.",
    ),
    "ckf.byok.not_echoed": Requirement(
        67,
        "No result and no error, a provider's own message included, repeats the key.",
    ),
    "ckf.byok.malformed": Requirement(
        132,
        "A key that does not have its provider's shape is INVALID_FORMAT before anything is sent.",
    ),
    "ckf.byok.where_to_get_keys": Requirement(
        64,
        "The guide lists the five providers, where each gives out keys and what to know of prices.",
    ),
    "ckf.pdf.front_pages": Requirement(
        57, "Bibliographic facts are found on pages 1 to 5 of a PDF."
    ),
    "ckf.pdf.back_pages": Requirement(
        57, "Bibliographic facts are found on the last three pages of a PDF."
    ),
    "ckf.pdf.middle_pages": Requirement(
        57,
        "What looks like a title, year or ISBN between those pages changes nothing.",
    ),
    "ckf.pdf.no_model": Requirement(
        57,
        "The same PDF gives the same bibliographic fields whatever the model answers.",
    ),
    "ckf.pdf.overrides_model": Requirement(
        57, "A field found in the PDF replaces the one that the model inferred."
    ),
    "ckf.pdf.source_title": Requirement(
        57, "The package of a PDF has source_title from its title page."
    ),
    "ckf.pdf.source_subtitle": Requirement(
        57, "The package of a PDF has source_subtitle when its title page shows one."
    ),
    "ckf.pdf.source_authors": Requirement(
        57,
        "The package of a PDF has source_authors, one entry an author, in printed order.",
    ),
    "ckf.pdf.source_author": Requirement(
        57, "source_author of a PDF package joins source_authors in one string."
    ),
    "ckf.pdf.source_edition": Requirement(
        57, "The package of a PDF has source_edition when an edition line is printed."
    ),
    "ckf.pdf.source_publisher": Requirement(
        57, "The package of a PDF has source_publisher when the imprint names one."
    ),
    "ckf.pdf.source_year": Requirement(
        57, "The package of a PDF has source_year from its copyright or edition line."
    ),
    "ckf.pdf.source_isbn": Requirement(
        57, "The package of a PDF has source_isbn only when the check digit holds."
    ),
    "ckf.pdf.absent_when_not_found": Requirement(
        57,
        "An optional bibliographic field that the PDF does not show is left out, never guessed.",
    ),
    "ckf.pdf.source_type": Requirement(
        57, 'source_type of a PDF is "PDF e-book" or "PDF document", nothing else.'
    ),
    "ckf.pdf.warns_of_overrides": Requirement(
        57,
        "Each override is one entry of metrics.warnings with field, page, old and new value.",
    ),
}
