"""Sections as text, Markdown and LaTeX: nothing is cut within a cell, and nothing in a name is markup."""

import math
import re

import pytest

from dialoscope.core.render.document import MORE, Report, describe_amounts
from dialoscope.core.render.latex import escape_latex, render_latex
from dialoscope.core.render.markdown import render_markdown
from dialoscope.core.render.plain_text import columns_of, render_text
from dialoscope.core.render.sections import CodeCell, Grid, LinkCell, NoteLines, Paragraph, Quantity

HOSTILE = r"50%_of {x} & $1 #2 ~^\ <b> | --csv 'a' ``b`` " + "\x1b[2J\n[0]"


def wide(systems: int, metrics: int) -> Grid:
    rows = [
        [f"metric-{row}", *(Quantity(row / 7, 0.1, 0.2, best=not column) for column in range(systems))]
        for row in range(metrics)
    ]
    return Grid(["", *(f"system-{column}" for column in range(systems))], rows, turns=True)


def cells(lines: list[str]) -> list[str]:
    return [cell for line in lines for cell in re.split(r"  +", line.strip()) if cell and "─" not in cell]


@pytest.mark.parametrize(("systems", "metrics"), [(2, 18), (5, 18), (12, 18), (12, 3), (40, 2)])
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_table_fits_the_terminal_and_no_cell_is_broken(systems, metrics, width):
    grid = wide(systems, metrics)
    whole, cut = (render_text([grid], ends).splitlines() for ends in (None, width))
    assert set(cells(cut)) == set(cells(whole))
    widest_pair = 2 + max(map(columns_of, cells(whole))) + len("system-11")
    assert all(columns_of(line) <= max(width, widest_pair) for line in cut)


def test_a_table_turns_where_that_makes_it_shorter():
    grid = wide(12, 2)
    assert render_text([grid], 80).splitlines()[0].split() == ["metric-0", "metric-1"]
    assert render_text([grid]).splitlines()[0].split()[0] == "system-0"
    assert grid.transpose().transpose().rows == [list(row) for row in grid.rows]


def test_columns_that_name_a_row_are_repeated_below():
    grid = Grid(["metric", "A", "B", "p", "verdict"], [["bleu", "old", "new", ".012", "better"]], stub=3)
    assert render_text([grid], 24).splitlines() == [
        "metric  A    B    p",
        "──────  ───  ───  ────",
        "bleu    old  new  .012",
        "",
        "metric  A    B    verdict",
        "──────  ───  ───  ───────",
        "bleu    old  new  better",
    ]


def test_lists_that_follow_each_other_are_one_in_markdown():
    assert (
        render_markdown([NoteLines(["a"]), NoteLines(["b"]), Paragraph("c"), NoteLines(["d"])])
        == "- a\n- b\n\nc\n\n- d"
    )
    assert render_text([NoteLines(["a"], title="Advice:", bullets=True)]) == "Advice:\n- a"
    assert render_markdown([NoteLines(["a"], title="Advice:")]) == "Advice:\n\n- a"


def test_pictures_are_for_text_alone():
    picture = Grid(["r"], [["█▓"]], picture=True)
    assert "█▓" in render_text([picture])
    assert render_markdown([picture, Paragraph("a")]) == "a"
    assert render_latex([picture, Paragraph("a")]) == "% a"


def test_a_table_for_a_paper():
    grid = Grid(
        ["", "a_b"],
        [
            ["bleu-4 ↓", Quantity(-0.5, -0.7, 0.25, best=True)],
            ["[x]", Quantity(math.nan)],
            ["c", CodeCell("d")],
        ],
        title="coherence: ceiling .9",
    )
    assert render_latex([grid, NoteLines(["5 % are missing."])]).splitlines() == [
        "% coherence: ceiling .9",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r" & a\_b \\",
        r"\midrule",
        r"bleu-4 $\downarrow$ & \textbf{$-$0.500 [$-$0.700, 0.250]} \\",
        r"{}[x] & -- \\",
        r"c & \texttt{d} \\",
        r"\bottomrule",
        r"\end{tabular}",
        "",
        "% 5 % are missing.",
    ]


def test_nothing_in_a_name_is_a_command_of_latex():
    text = escape_latex(HOSTILE)
    assert text.isprintable()
    bare = re.sub(r"\\(?:[a-z]+|char\d+)\{\}|\\[&%$#_{}]|-\{\}", "", text)
    assert not re.search(r"[\\{}$&#^_~%<>|`\"]|--", bare)
    table = render_latex([Grid(["", HOSTILE], [[HOSTILE, "1"]], title=HOSTILE), NoteLines([HOSTILE])])
    lines = table.splitlines()
    assert len(lines) == 10
    assert all(line.startswith("% ") for line in (lines[0], lines[-1]))
    assert [len(re.findall(r"(?<!\\)&", line)) for line in (lines[3], lines[5])] == [1, 1]


def test_links_and_code_are_text_where_there_are_none():
    grid = Grid(["a", "b"], [[LinkCell("x|y", "x.md"), CodeCell("z")]])
    assert render_markdown([grid]).splitlines()[-1] == r"| [x\|y](x.md) | `z` |"
    assert render_text([grid]).splitlines()[-1] == "x|y  z"


def test_many_systems_are_summed_up_in_a_short_note():
    amounts = {f"s{number}": 100 * number for number in range(1, 7)}
    assert describe_amounts(["entropy-1"], "words", amounts, details=False) == (
        "entropy-1 depends on the number of words: 100 (s1) to 600 (s6)."
    )
    assert describe_amounts(["a", "b"], "words", amounts).endswith(
        "s1 100, s2 200, s3 300, s4 400, s5 500, s6 600."
    )


def test_a_report_needs_sections_and_rows_alone():
    class Short(Report):
        def sections(self, *, notes=False):
            return [Grid(["a"], [["1"]]), NoteLines(["b", *(["c"] if notes else [MORE])])]

        def rows(self):
            return [{"a": 1, "beside": {"n": 2.0, "null": math.nan}}]

        def signatures(self):
            return ["a: made"]

    report = Short()
    assert report.printed(notes=True, signatures=True, sources=["from"]).splitlines() == [
        *("a", "─", "1", "", "b", "c", "a: made", "from")
    ]
    assert report.printed("markdown", signatures=True).endswith(f"- b\n- {MORE}\n- a: made")
    assert report.printed("latex", signatures=True).endswith("% b\n% " + MORE + "\n% a: made")
    assert report.csv() == "a,beside\n1,n=2 null="
    assert report.printed("json", signatures=True) == report.json()
    assert str(report) == report.text()
    assert report._repr_markdown_() == report.markdown()
