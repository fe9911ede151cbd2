"""Pages and Markdown hold whatever text is put into them."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import UndefinedError
from markdown_it import MarkdownIt

from tileport_skill.pages import markdown
from tileport_skill.pages.render import duration, html_prose, render

HOSTILE = [
    "```\n</details>\n<script>alert(1)</script>",
    "~~~~\n````\n`````",
    "a | b `c | d` || \\| e",
    "[x](javascript:alert(1)) ![y](http://example.org/y.png) <img src=x>",
    "@octocat and example/team@v1, #12, GH-34",
    "_a_ __b__ *c* **d** ~~e~~ __init__.py snake_case_name",
    "# heading\n1. one\n- two\n> three\n===",
    "unbalanced ` tick and \\",
    "\x1b[31mred\x1b[0m\x00\x07 \u202eright-to-left",
    "😀" * 500,
    "",
]


def html(text: str) -> str:
    return MarkdownIt("gfm-like", {"linkify": False}).render(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_prose_renders_as_one_paragraph_of_text_and_code(text: str) -> None:
    rendered = html(f"x {markdown.plain(text)} y")
    assert rendered.count("<p>") == 1
    inner = rendered.replace("<code>", "").replace("</code>", "").removeprefix("<p>").removesuffix("</p>\n")
    assert "<" not in inner


def test_prose_at_the_start_of_a_line_starts_no_list_heading_or_quote() -> None:
    for text in ("# a", "1. a", "12) a", "- a", "+ a", "> a", "* a"):
        assert html(markdown.plain(text)) == f"<p>{text.replace('>', '&gt;')}</p>\n"


def test_names_with_underscores_are_shown_as_they_are() -> None:
    for name in ("__init__.py", "_private", "snake_case_name", "trailing_"):
        assert html(markdown.plain(name)) == f"<p>{name}</p>\n"


def test_nobody_is_notified_and_nothing_is_linked() -> None:
    assert markdown.plain("@octocat closes #12 and GH-34") == "@\u200boctocat closes #\u200b12 and GH-\u200b34"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_code_span_holds_its_text_whole(text: str) -> None:
    rendered = html(f"x {markdown.code(text)} y")
    assert rendered.startswith("<p>x <code>")
    assert rendered.endswith("</code> y</p>\n")
    assert rendered.count("<") == 4


@pytest.mark.parametrize("text", HOSTILE)
def test_a_table_row_keeps_its_number_of_cells(text: str) -> None:
    row = f"| {markdown.cell(markdown.plain(text))} | {markdown.cell(markdown.code(text))} | end |"
    rendered = html(f"| a | b | c |\n|---|---|---|\n{row}\n")
    assert rendered.count("<tr>") == 2
    # Cells too many would be dropped without a word, the last one first.
    assert "<td>end</td>\n</tr>" in rendered


@pytest.mark.parametrize("text", [*HOSTILE, "x\n" * 100_000, "y" * 1_000_000])
def test_a_fence_is_closed_by_its_own_end_only_and_stays_short(text: str) -> None:
    block = markdown.fence(text, "text")
    assert len(block) < 25_000
    rendered = html(f"{block}\n\nafter")
    assert rendered.count("<pre>") == 1
    assert rendered.endswith("</code></pre>\n<p>after</p>\n")


def test_of_a_long_log_the_beginning_and_more_of_the_end_are_kept() -> None:
    short = markdown.shorten("\n".join(str(n) for n in range(1_000)), max_lines=30, max_chars=10_000).split("\n")
    assert short[0] == "0"
    assert short[10] == "… 970 lines left out …"
    assert short[11:] == [str(n) for n in range(980, 1_000)]


def test_a_body_that_is_too_long_is_cut_with_everything_closed() -> None:
    log = "a line of the log 😀\n" * 10_000
    for body in (
        f"<details>\n<summary>x</summary>\n\n````text\n```\n{log}````\n</details>\n",
        f"<details>\n\n<details>\n\n~~~\n</details>\n{log}",
        log,
        "z" * 200_000,
    ):
        cut = markdown.fit(body)
        assert len(cut) <= markdown.COMMENT_LIMIT
        rendered = html(f"{cut}\n\nafter")
        assert rendered.endswith("<p>after</p>\n")
        outside = rendered.split("</code></pre>")[-1] if "<pre>" in rendered else rendered
        assert outside.count("</details>") == body.partition("~~~")[0].partition("````")[0].count("<details>")
        assert "The whole record lies" in cut


def test_a_body_that_fits_is_left_alone() -> None:
    assert markdown.fit("x" * markdown.COMMENT_LIMIT) == "x" * markdown.COMMENT_LIMIT


def test_what_looks_like_a_key_is_masked() -> None:
    for secret in ("ghp_" + "a1" * 18, "sk-ant-" + "api03-xyz123456", "github_pat_" + "b2" * 20):
        assert markdown.clean(f"token {secret}.") == "token [masked]."
    assert markdown.clean("https://user:hunter2@example.org/x") == "https://[masked]@example.org/x"
    assert markdown.clean("https://example.org:8080/x@y") == "https://example.org:8080/x@y"


def test_sentences_keep_their_code_spans_in_html_and_nothing_else() -> None:
    assert html_prose("run `a < b` <now>") == "run <code>a &lt; b</code> &lt;now&gt;"
    assert html_prose("an odd ` tick") == "an odd ` tick"


def test_seconds_are_said_as_people_say_them() -> None:
    said = [duration(s) for s in (0.04, 0.44, 9.94, 9.96, 59.4, 59.6, 185, 3_599.6, 7_800)]
    assert said == [
        "under 0.1 s",
        "0.4 s",
        "9.9 s",
        "10 s",
        "59 s",
        "1 min 00 s",
        "3 min 05 s",
        "1 h 00 min",
        "2 h 10 min",
    ]


def test_a_name_the_template_misspells_is_an_error_and_html_is_escaped(tmp_path: Path) -> None:
    page = tmp_path / "x.html.j2"
    page.write_text("{{ there }}")
    assert render(page, there="<i>") == "&lt;i&gt;"
    with pytest.raises(UndefinedError, match="there"):
        render(page)


def test_parts_show_verdicts_in_words_and_ratios_within_their_track(tmp_path: Path) -> None:
    page = tmp_path / "parts_in_use.html.j2"
    page.write_text(
        '{% from "parts.html.j2" import badge, ratio_bar, table %}'
        "{{ badge('passed') }}{{ badge('something new') }}{{ ratio_bar(0.2, 0.97, 9.0, 0.95) }}"
        "{{ table(('A', 'B'), [('<x>', badge('failed'))]) }}"
    )
    text = render(page)
    assert 'class="badge good"' in text
    assert 'class="badge open"><span aria-hidden="true">○</span> something new' in text
    assert "left: 0.0%; right: calc(100% - 100.0%)" in text
    assert '<td data-label="A"><div>&lt;x&gt;</div></td>' in text
    assert '<td data-label="B"><div><span class="badge bad">' in text
