"""Figures hold what they were given, look the same everywhere, and survive any name."""

import builtins
import subprocess
import sys
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from dialoscope.core.errors import DialoscopeError, MissingExtra
from dialoscope.report import figures
from dialoscope.report.figures.drawing import label

NAN = float("nan")
HOSTILE = ["$\\frac{", "</text><script>", "a\nb\x1b[2J", "机器人甲", "हिन्दी", "_hidden", "x" * 200]
MATRIX = np.array([[1, 0.9, -0.2], [0.9, 1, NAN], [-0.2, NAN, 1]])
TREE = linkage([0.1, 1.2, 0.9], "average")


def panel(metric="bleu", aspect="overall", n=30, told=""):
    ratings = np.repeat([1.0, 2.0, 3.0], n // 3)
    return figures.ScatterPanel(metric, aspect, 2 * ratings + 1, ratings, told)


def each_kind(names):
    """One figure of each kind, with these three names."""
    rows = [figures.ForestRow(name, 0.2, 0.1, 0.3, names[0], 0.8) for name in names]
    return {
        "scatter": figures.scatter([panel(name, name, told=name) for name in names]),
        "heatmap": figures.heatmap(MATRIX, names, title=names[0]),
        "dendrogram": figures.dendrogram(TREE, names, np.array([0.5, NAN])),
        "clustermap": figures.clustermap(MATRIX, TREE, names),
        "intervals": figures.intervals(rows, names[1], names[2]),
    }


KINDS = list(each_kind(["a", "b", "c"]))


def words(path):
    """Every text of an SVG."""
    tree = ElementTree.parse(path)  # noqa: S314 - made here
    return ["".join(node.itertext()) for node in tree.iter() if node.tag.endswith("}text")]


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "SVG"])
def test_the_same_figure_gives_the_same_bytes_in_a_file_of_its_kind(tmp_path, ending):
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    for path in (first, second):
        assert figures.save(each_kind(["a", "b", "c"])["clustermap"], path) == path
    assert first.read_bytes() == second.read_bytes()
    head = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[ending.lower()]
    assert first.read_bytes().startswith(head)
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(len(HOSTILE)), ids=lambda place: f"name{place}")
def test_no_name_breaks_a_figure(tmp_path, kind, first):
    names = [*HOSTILE[first:], *HOSTILE][:3]
    path = figures.save(each_kind(names)[kind], tmp_path / "out.svg")
    shown = words(path)  # so it is still XML
    assert any(label(names[0], 26)[:5] in text for text in shown)
    assert not any("\x1b" in text for text in shown)


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_characters_without_a_picture_are_no_warning(tmp_path, ending):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.save(
            figures.intervals([figures.ForestRow("\U0001f600 机", 1, 0, 2)]), tmp_path / f"out.{ending}"
        )


def test_a_panel_has_its_names_its_coefficient_and_the_line_through_the_true_places():
    axes = figures.scatter([panel("bleu", "overall", told="ρ .42"), panel()]).axes
    assert len(axes) == 2
    assert axes[0].get_title() == "bleu\nρ .42"
    assert axes[0].get_xlabel() == "overall"
    (line,) = axes[0].lines
    assert line.get_ydata() == pytest.approx([3, 7])  # y = 2x + 1, whatever the jitter
    dots = axes[0].collections[0].get_offsets()
    assert len(dots) == 30
    assert np.ptp(dots[:10, 0]) > 0
    assert np.abs(dots[:, 0] - np.repeat([1, 2, 3], 10)).max() < 0.1


def test_panels_leave_out_what_is_undefined_and_say_so_where_nothing_is_left():
    nothing = panel()._replace(values=np.full(30, NAN))
    some = panel()._replace(values=np.where(np.arange(30) < 3, NAN, 1.0))
    empty, left = figures.scatter([nothing, some]).axes
    assert empty.texts[0].get_text() == "no rated replies\nwith a value"
    assert len(left.collections[0].get_offsets()) == 27


def test_of_very_many_replies_a_part_is_drawn(monkeypatch):
    monkeypatch.setattr("dialoscope.report.figures.scattered.MOST_DOTS", 40)
    axes = figures.scatter([panel(n=30), panel(n=30)]).axes[0]
    assert len(axes.collections[0].get_offsets()) == 20
    assert axes.lines[0].get_ydata() == pytest.approx([3, 7])


def test_a_heatmap_shows_the_values_it_has():
    axes = figures.heatmap(MATRIX, ["a", "b", "c"]).axes[0]
    shown = {(text.get_position()): text.get_text() for text in axes.texts}
    assert shown == {
        (0, 0): "1",
        (1, 0): ".90",
        (2, 0): "−.20",
        (0, 1): ".90",
        (1, 1): "1",
        (0, 2): "−.20",
        (2, 2): "1",
    }
    assert axes.images[0].get_clim() == (-1, 1)
    assert axes.patch.get_hatch()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b", "c"]


def test_a_heatmap_may_have_other_columns_than_rows():
    axes = figures.heatmap(MATRIX[:2], ["a", "b"], ["x", "y", "z"]).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["x", "y", "z"]


def test_a_tree_has_its_merges_at_their_heights_and_its_leaves_in_order():
    axes = figures.dendrogram(TREE, ["a", "b", "c"], np.array([0.5, NAN])).axes[0]
    assert [max(line.get_xdata()) for line in axes.lines] == pytest.approx([0.1, 1.05])
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert sorted(names) == ["a", "b", "c"]
    assert abs(names.index("a") - names.index("b")) == 1
    assert [text.get_text() for text in axes.texts] == [".50"]


def test_a_clustermap_has_the_rows_in_the_order_of_the_tree():
    matrix = np.arange(9).reshape(3, 3) / 10
    tree = linkage([1.2, 0.1, 0.9], "average")  # a and c are the near ones
    axes = figures.clustermap(matrix, tree, ["a", "b", "c"]).axes[1]
    names = [text.get_text() for text in axes.get_yticklabels()]
    order = [["a", "b", "c"].index(name) for name in names]
    assert np.array_equal(axes.images[0].get_array(), matrix[np.ix_(order, order)])
    assert names in (["b", "a", "c"], ["a", "c", "b"], ["b", "c", "a"], ["c", "a", "b"])


def test_intervals_stand_below_each_other_with_headings_and_ceilings():
    rows = [
        figures.ForestRow("bleu", 0.2, 0.1, 0.3, "reply", 0.8),
        figures.ForestRow("pmi", 0.4, NAN, NAN, "reply"),
        figures.ForestRow("bleu", NAN, NAN, NAN, "system"),
    ]
    axes = figures.intervals(rows, "ρ").axes[0]
    assert [text.get_text() for text in axes.texts] == ["reply", "system", " undefined"]
    assert axes.get_yticks().tolist() == [1, 2, 4]
    assert axes.get_xlabel() == "ρ\ndashes: the most that could be reached"
    xs = [list(line.get_xdata()) for line in axes.lines]
    assert xs == [[0.8, 0.8], [0.1, 0.3], [0.2], [0.4], [0, 0]]


def test_without_groups_and_ceilings_nothing_is_said_of_them():
    axes = figures.intervals([figures.ForestRow("bleu", 0.2, 0.1, 0.3)], "ρ").axes[0]
    assert axes.get_xlabel() == "ρ"
    assert not axes.texts
    assert axes.get_yticks().tolist() == [0]


def test_figures_grow_with_what_they_show(tmp_path):
    heights = [
        figures.intervals([figures.ForestRow("a", 0, 0, 0)] * n).get_size_inches()[1] for n in (1, 100)
    ]
    assert heights[1] > 10 * heights[0]
    tall = figures.intervals([figures.ForestRow("a", 0, 0, 0)])
    tall.set_size_inches(0.1, 400)  # more than a picture can hold at the usual resolution
    tall.set_layout_engine("none")
    assert figures.save(tall, tmp_path / "tall.png").exists()


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("out.jpg", r"out.jpg cannot be drawn: the name of a figure ends in .svg, .png or .pdf"),
        ("out", r"ends in .svg, .png or .pdf"),
        ("none/out.svg", r"none/out.svg cannot be written: its folder does not exist"),
        ("taken.svg", r"taken.svg cannot be written: there is a folder of that name"),
    ],
    ids=["ending", "no-ending", "no-folder", "folder"],
)
def test_a_figure_that_could_not_be_written_is_told_before_it_is_drawn(tmp_path, name, complaint):
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(DialoscopeError, match=complaint):
        figures.check_file(tmp_path / name)


def test_without_matplotlib_the_command_that_brings_it_is_told(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **how):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **how)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"A figure needs matplotlib.*pip install 'dialoscope\[plot\]'"):
        figures.check_file(tmp_path / "out.svg")


def test_matplotlib_is_loaded_when_something_is_drawn():
    code = "import sys, dialoscope.report.figures; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_drawing_leaves_the_settings_of_others_alone(tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    with mpl.rc_context({"font.size": 40}):
        large = figures.save(figures.heatmap(MATRIX, ["a", "b", "c"]), tmp_path / "a.svg").read_bytes()
    usual = figures.save(figures.heatmap(MATRIX, ["a", "b", "c"]), tmp_path / "b.svg").read_bytes()
    assert large == usual
    assert dict(mpl.rcParams) == before


def test_long_names_keep_both_ends():
    assert label("bleu-4:variant=nlg-eval", 12) == "bleu-4:…eval"
    assert label("bleu") == "bleu"
