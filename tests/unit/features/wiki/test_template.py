"""Templates filled in: variables, dates as moment.js has them, frontmatter that stays YAML."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.features.wiki.template.fill import (
    TemplateValues,
    fill_template,
    find_variables,
    format_moment,
)
from pecia.kernel.text.markdown.frontmatter import read_frontmatter, split_document

NOW = datetime(2026, 1, 2, 15, 4, 5, tzinfo=UTC)


def values(title: str = "Kick-off", **given: str) -> TemplateValues:
    return TemplateValues("meetings/2026/kick-off", title, "ana", NOW, given)


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("YYYY-MM-DD", "2026-01-02"),
        ("dddd, MMMM Do YYYY", "Friday, January 2nd 2026"),
        ("ddd D MMM YY", "Fri 2 Jan 26"),
        ("h:mm A", "3:04 PM"),
        ("HH:mm:ss", "15:04:05"),
        ("GGGG-[W]WW", "2026-W01"),
        ("[Today is] DD", "Today is 02"),
        ("Q/M/D/H/m/s", "1/1/2/15/4/5"),
        ("DDDD DDD E d a", "002 2 5 5 pm"),
    ],
)
def test_a_date_is_formatted_as_moment_does(form: str, wanted: str) -> None:
    assert format_moment(NOW, form) == wanted


@pytest.mark.parametrize(("day", "wanted"), [(1, "1st"), (3, "3rd"), (12, "12th"), (22, "22nd")])
def test_days_have_their_endings(day: int, wanted: str) -> None:
    assert format_moment(NOW.replace(day=day), "Do") == wanted


def test_an_offset_is_that_of_the_zone() -> None:
    at = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert format_moment(at, "HH:mm Z ZZ") == "20:34 +05:30 +0530"


def test_variables_are_filled_in_once_and_others_stay() -> None:
    text = (
        "# {{title}}\n{{ Date }} {{time:HH}} {{author}} {{name}} {{folder}} {{who}} {{date+1d}}\n"
    )
    done = fill_template(text, values(title="{{author}}"))
    assert done.text == (
        "# {{author}}\n2026-01-02 15 ana kick-off meetings/2026 {{who}} {{date+1d}}\n"
    )
    assert done.unfilled == ("who",)
    assert find_variables(text) == ["who"]
    assert fill_template(text, values(who="bo", title="x")).unfilled == ()


def test_content_goes_where_the_template_says_or_below() -> None:
    inside = fill_template("# {{title}}\n\n{{content}}\n\n## End\n", values(), "words\n")
    assert inside.text == "# Kick-off\n\nwords\n\n\n## End\n"
    below = fill_template("# {{title}}\n\n", values(), "words\n")
    assert below.text == "# Kick-off\n\nwords\n"
    assert fill_template("a {{content}}b\n", values()).text == "a b\n"


def test_frontmatter_keeps_dates_and_lists() -> None:
    text = (
        "---\ntitle: {{title}}\ndate: {{date}}\ntags: [{{kind}}, weekly]\nby: '{{author}}'\n"
        "open: {{nobody}}\nlist:\n  - {{kind}}\n---\n# {{title}}\n"
    )
    done = fill_template(text, values(title="Q1: 50% # goals", kind="a, b"))
    assert "\ndate: 2026-01-02\n" in done.text
    found = read_frontmatter(done.text).values
    assert found["title"] == "Q1: 50% # goals"
    assert found["tags"] == ["a, b", "weekly"]
    assert found["by"] == "ana"
    assert found["list"] == ["a, b"]
    assert found["open"] == "{{nobody}}"
    assert done.text.endswith("\n---\n# Q1: 50% # goals\n")


LINE = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1)
FORMS = ("{{title}}", '"{{title}}"', "'{{title}}'", "[{{title}}]", 'say "{{title}}"')


@given(LINE, st.sampled_from(FORMS))
def test_no_title_breaks_the_frontmatter(title: str, form: str) -> None:
    text = f"---\nbefore: 1\ntitle: {form}\nafter: 2\n---\nbody\n"
    done = fill_template(text, values(title=title))
    found = read_frontmatter(done.text).values
    wanted = {"[": [title], "s": f'say "{title}"'}.get(form[0], title)
    assert found == {"before": 1, "title": wanted, "after": 2}
    assert split_document(done.text).body == "body\n"
