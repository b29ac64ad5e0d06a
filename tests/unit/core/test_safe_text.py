"""Hostile text where it is shown: no command for a terminal, no formula, no markup."""

import csv
import io
import json
import pickle
import re
import unicodedata

import pytest
from markdown_it import MarkdownIt

import dialoscope as ds
from dialoscope.core.errors import DataError, DialoscopeError, MissingExtra
from dialoscope.core.render.markdown import markdown_table
from dialoscope.core.render.sections import Grid, Quantity
from dialoscope.core.safe_text import list_in_markdown, plain_in_csv, plain_in_markdown, printable

INVISIBLE = [chr(code) for code in (*range(32), *range(127, 160), 0x200B, 0x2028, 0x2029, 0xFEFF)] + [
    chr(code) for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
]
"""All control characters, all that turn the direction of text, and separators that only some programs see."""

FORMULAS = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://x.example","you")',
    "+1+1",
    "-1+1",
    "-cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "  =1+1",
    "＝1+1",
    "-",
    "=",
    "=1e5",
    "--5",
    "-5 5",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_compute_is_text(text):
    assert plain_in_csv(text) == f"'{text}"


@pytest.mark.parametrize("space", ["\t", "\r", "\n", " \t", "\u00a0"], ids=ascii)
def test_a_formula_behind_space_does_not_begin_a_cell(space):
    """The space becomes an escape, so that a backslash comes first."""
    assert plain_in_csv(f"{space}=1+1") == f"{printable(space)}=1+1"


@pytest.mark.parametrize(
    "text", ["-0.5", "+1", "-.5", "-1e-05", "3", "a=b", "rouge-l", "–", "", "'=1", "bleu-4"]
)
def test_numbers_and_plain_texts_stay(text):
    assert plain_in_csv(text) == text


@pytest.mark.parametrize("character", INVISIBLE, ids=ascii)
def test_nothing_invisible_is_shown_in_any_form(character):
    name = f"a{character}b"
    replies = [ds.Example(str(place), name, "hello you") for place in range(2)]
    table = ds.evaluate(replies, ["words"]).table()
    for text in (table.csv(), table.json(), table.markdown(), table.text()):
        assert all(line.isprintable() for line in text.split("\n"))
    assert json.loads(table.json())[0]["system"] == name, "JSON says what it was"
    assert next(csv.DictReader(io.StringIO(table.csv())))["system"] == printable(name)


@pytest.mark.parametrize("character", INVISIBLE, ids=ascii)
@pytest.mark.parametrize("error", [DialoscopeError, DataError])
def test_the_text_of_an_error_can_be_printed_and_is_escaped_once(character, error):
    text = str(error(f"no {character} here"))
    assert text == ("no \n here" if character == "\n" else printable(f"no {character} here"))
    assert str(error(text)) == text == str(pickle.loads(pickle.dumps(error(text))))  # noqa: S301


def test_errors_of_readers_can_be_printed(tmp_path):
    path = tmp_path / "replies\x1b[2J\u202e.jsonl"
    path.write_bytes(b"1\n")
    with pytest.raises(DataError) as caught:
        list(ds.read(path))
    assert "replies\\x1b[2J\\u202e.jsonl:1: the line is a number" in str(caught.value)
    path.write_bytes(b'{"response": "hello", "\\u009b31m": 1}\n')
    with pytest.raises(DataError, match=r"Its columns are: response, \\x9b31m"):
        list(ds.read(path, columns={"id": "number"}))
    assert all(map(str.isprintable, ds.evaluate(ds.read(path), ["words"]).provenance.warnings))


def test_an_extra_that_is_missing_is_named():
    assert str(MissingExtra("A figure", "matplotlib", "plot")).startswith(
        "A figure needs matplotlib. Install"
    )


NAMES = [
    "**bold**",
    "*a*",
    "__a__",
    "_a_",
    "a_b_c",
    "a __b__ c",
    "_",
    "~~a~~",
    "~a~",
    "`code`",
    "``",
    "```",
    "~~~",
    "# title",
    "#",
    "###### a",
    "a|b",
    r"a\|b",
    r"a\\|b",
    r"a\\\|b",
    "|---|---|",
    "|",
    "\\",
    "a\\",
    r"\*a\*",
    r"\\<b>",
    r"C:\new_\_a",
    "<b>a</b>",
    "<script>alert(1)</script>",
    "<http://a.example>",
    "<a@b.example>",
    "<!-- a -->",
    "&lt;b&gt;",
    "&#42;a&#42;",
    "[a](http://b.example)",
    "[a](<b>)",
    "![a](b.png)",
    "[a][b]",
    "[a]",
    "[a]: http://b.example",
    "[.1, .2](http://b.example)",
    "[.1, .2]: /b",
    "[1%](/b)",
    "[x [.1, .2]](/b)",
    "[^1]",
    "[^1]: a",
    "[ ] a",
    "[x] a",
    "- a",
    "-",
    "---",
    "- - -",
    "+ a",
    "* a",
    "1. a",
    "12) a",
    "123456789. a",
    "1.",
    "===",
    "= a",
    "> a",
    "    code",
    " a",
    "$a$ $$b$$",
    "http://a.example",
    "https://a.example/b_c_d?e=f#g",
    "HTTP://A.EXAMPLE",
    "ftp://a.example",
    "http://127.0.0.1:80/v1#m",
    "http://localhost",
    "//a.example",
    "//localhost",
    "www.a.example",
    "www.1a.example",
    "WWW.A.EXAMPLE",
    "(www.a.example)",
    "a.com",
    "a-b.co.uk",
    "a_.com",
    "пример.рф",
    "a@b.com",
    "a.b+c@d-e.org",
    "1@2.com",
    "mailto:a@b.com",
    "xmpp:a@b.com/c",
    "@someone",
    "@",
    "a\nb",
    "a\n\n# b",
    "a\r\n| b |",
    "a\u2028b",
    "\x1b[2J",
    "\x00",
]
"""Names each of which would be more than text in Markdown, or looks so."""


def rendered(text: str, *, links: bool = False) -> tuple[set[str], list[str]]:
    """The tags that Markdown as on GitHub makes of this, and the texts of its leaves."""
    markdown = MarkdownIt("commonmark", {"linkify": links}).enable(["table", "strikethrough"])
    if links:
        markdown.enable("linkify")
    blocks = markdown.parse(text)
    inline = [block for block in blocks if block.type == "inline"]
    tags = {token.tag or token.type for block in blocks for token in (block, *(block.children or ()))}
    return tags - {"inline", "text"}, ["".join(map(leaf, block.children)) for block in inline]


def leaf(token) -> str:
    return token.content.replace("\u200b", "")


def bold(text: str) -> Quantity:
    """A cell that is the best of its metric."""
    return Quantity(0, form=lambda _: text, best=True)


TABLE = {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_stays_text_in_a_cell_a_list_and_a_paragraph(name):
    shown = printable(name)
    grid = Grid(["", name, "b"], [[name, "1", bold(name)], ["c", name, name]])
    assert rendered(markdown_table(grid)) == (
        TABLE | {"strong"},
        ["", shown, "b", shown, "1", shown, "c", shown, shown],
    )
    assert rendered("\n".join(list_in_markdown([name, name]))) == ({"ul", "li", "p"}, [shown, shown])
    assert rendered(plain_in_markdown(name)) == ({"p"}, [shown])


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_github_links_nothing_in_a_name(name):
    """Its extension for bare links looks at the source, and for addresses at the text that comes of it."""
    source = plain_in_markdown(name)
    assert not re.search(r"(?i)(https?|ftp|mailto|xmpp)://|(?<![0-9a-z])www\.|<[a-z!]", source)
    text = "".join(token.content for block in MarkdownIt().parse(source) for token in block.children or ())
    assert not re.search(r"[\w.+-]@[\w-]|(^|\W)@\w", unicodedata.normalize("NFC", text), re.ASCII)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_linkify_links_nothing_in_a_name(name):
    source = "\n".join([markdown_table(Grid([name], [[bold(name)]])), "", *list_in_markdown([name])])
    assert rendered(source, links=True)[0] == TABLE | {"strong", "ul", "li", "p"}


@pytest.mark.parametrize(
    "text",
    [
        "0.123 [0.100, 0.200]",
        "-0.5 [-.61, .20] p=.012",
        "ρ [95%]",
        "rouge-l:part=recall",
        "human_likeness",
        "it's 1.5!",
    ],
)
def test_what_is_no_markup_is_left_readable(text):
    assert plain_in_markdown(text) == text


def test_the_best_is_bold_still():
    examples = [ds.Example(str(i), s, t) for s, t in (("*a*", "hi"), ("b", "hi you")) for i in range(2)]
    table = ds.evaluate(examples, ["distinct-1", "repetition"]).table()
    assert any(cell.best for cell in table.cells)
    assert "**" in table.markdown()
    assert "\\*a\\*" in table.markdown()
    assert rendered(table.markdown())[0] == TABLE | {"strong"}
