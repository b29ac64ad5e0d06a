import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import dialoscope as ds
from dialoscope.core import files
from dialoscope.core.render.markdown import markdown_table
from dialoscope.core.render.sections import Grid, number
from dialoscope.core.safe_text import list_in_markdown, printable
from dialoscope.runs import resampling, store


@pytest.fixture(scope="module")
def result(sample):
    return ds.evaluate(ds.read(sample), ds.suite("lexical"))


@pytest.fixture
def run(result, tmp_path):
    return result.save(tmp_path / "runs" / "monday")


def test_a_saved_run_comes_back_the_same(result, run):
    again = ds.Result.load(run)
    assert again == result
    assert again.provenance == result.provenance
    assert again.table().json() == result.table().json()  # of cells without an interval no two are equal
    assert np.array_equal(again.ratings.value, result.ratings.value)
    assert (again.ratings.aspect, again.ratings.rater) == (result.ratings.aspect, result.ratings.rater)
    assert str(again) == str(result)


def test_the_run_folder_is_what_it_says(result, run):
    assert sorted(path.name for path in run.iterdir()) == [
        "manifest.json",
        "ratings.parquet",
        "replies.parquet",
        "statistics.parquet",
    ]
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["metrics"][3]["signature"].startswith("bleu|order:4|tokenizer:13a")
    assert manifest["provenance"]["data"].startswith("sha256:")
    assert manifest["provenance"]["seed"] == 0
    assert {"dialoscope", "numpy", "python"} <= manifest["provenance"]["versions"].keys()
    assert len(manifest["table"]["cells"]) == len(result.metrics) * 4
    replies = pq.read_table(run / "replies.parquet")
    assert replies.num_rows == 176
    assert replies["bleu-4"].to_pylist() == result.values("bleu-4").tolist()
    assert [path for path in run.parent.iterdir() if path != run] == []


def test_the_command_of_a_run_is_recorded_without_secrets(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["judge.py", "--api-key", "sk-secret-7f3a", "--note", "a  b"])
    found = ds.evaluate([ds.Example("1", "s", "hi")], ["words"])
    assert found.provenance.command == "judge.py --api-key … --note 'a  b'"
    manifest = found.save(tmp_path / "run") / "manifest.json"
    assert "sk-secret" not in manifest.read_text()


def test_undefined_is_null_on_disk_and_nan_in_memory(tmp_path):
    found = ds.evaluate(
        [ds.Example("1", "s", "hi"), ds.Example("2", "s", "how are you")], ["distinct-2", "repetition-2"]
    )
    assert math.isnan(found.values("repetition-2")[0])
    run = found.save(tmp_path / "run")
    assert pq.read_table(run / "replies.parquet")["repetition-2"].to_pylist() == [None, 0.0]
    assert ds.Result.load(run) == found
    cell = found.table().cell("s", "repetition-2")
    assert (cell.replies, cell.undefined, cell.value) == (2, 1, 0.0)
    assert "distinct-2, repetition-2 are undefined for 1 of 2 replies of s." in found.table().notes()
    assert found.to_polars()["repetition-2"].to_list() == [None, 0.0]


def test_data_frames_hold_the_replies(result):
    frame = result.to_pandas()
    assert list(frame.columns[:3]) == ["id", "system", "bleu-1"]
    assert "self-bleu-4" not in frame.columns
    assert frame.shape[0] == result.to_polars().shape[0] == 176
    assert frame[frame.system == "parrot"]["copying-2"].mean() == pytest.approx(
        result.score("copying-2", "parrot")
    )


def test_a_taken_name_is_refused_and_replaced_only_when_asked(result, run):
    with pytest.raises(
        ds.RunError, match=r"exists already. Choose another name, or replace it with --overwrite"
    ):
        result.save(run)
    result.save(run, overwrite=True)
    assert ds.Result.load(run) == result
    foreign = run.parent / "thesis"
    foreign.mkdir()
    (foreign / "chapter1.txt").write_text("precious")
    with pytest.raises(ds.RunError, match="is not a run, or holds more than one, so it is not replaced"):
        result.save(foreign, overwrite=True)
    (foreign / "manifest.json").write_text('{"name": "my site"}')  # web pages have such a file too
    with pytest.raises(ds.RunError, match="so it is not replaced"):
        result.save(foreign, overwrite=True)
    (run / "notes.txt").write_text("mine")
    with pytest.raises(ds.RunError, match="so it is not replaced"):
        result.save(run, overwrite=True)
    assert (foreign / "chapter1.txt").exists()


def test_a_write_that_fails_leaves_nothing_behind(result, tmp_path, monkeypatch):
    def full(path, table):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "_write", full)
    with pytest.raises(ds.RunError, match="cannot be written: No space left on device"):
        result.save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(result, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ds.RunError, match="file/run cannot be written"):
        result.save(tmp_path / "file" / "run")


def write_sealed(manifest, content):
    """As somebody would who knows how runs are sealed."""
    content = {key: value for key, value in content.items() if key != "seal"}
    manifest.write_text(json.dumps({**content, "seal": store._seal(content)}))


def test_a_run_saved_when_missing_was_called_lacking_is_loaded_and_verified(tmp_path, sample):
    result = ds.evaluate(ds.read(sample), "copying", missing="undefined")
    manifest = result.save(tmp_path / "run") / "manifest.json"
    content = json.loads(manifest.read_text())
    content["provenance"]["lacking"] = content["provenance"].pop("missing")
    write_sealed(manifest, content)
    assert ds.Result.load(tmp_path / "run").provenance == result.provenance
    assert ds.verify(tmp_path / "run").holds


def test_an_interval_does_not_depend_on_the_other_metrics_of_the_run(sample):
    every = ds.evaluate(ds.read(sample))
    for name in ("bleu-4", "distinct-2", "words", "copying-2"):
        alone = ds.evaluate(ds.read(sample), name, missing="undefined")
        for system in every.systems:
            assert every.interval(name, system) == alone.interval(name, system)
            ours, theirs = (one.table().cell(system, name) for one in (every, alone))
            assert (ours.low, ours.high) == (theirs.low, theirs.high) == alone.interval(name, system)


def test_a_table_that_was_shown_is_not_made_again_for_the_file(tmp_path, sample, monkeypatch):
    result = ds.evaluate(ds.read(sample), "words")
    table = result.table()
    monkeypatch.setattr(ds.Words, "score", lambda *_: pytest.fail("it was scored again"))
    assert result.table() is table
    saved = json.loads((result.save(tmp_path / "run") / "manifest.json").read_text())
    assert saved["table"]["cells"] == json.loads(table.json())


def damage(run, how):
    manifest = run / "manifest.json"
    text = manifest.read_text()
    if how == "no folder":
        shutil.rmtree(run)
    elif how == "no manifest":
        manifest.unlink()
    elif how == "not json":
        manifest.write_text(text[:100])
    elif how == "foreign":
        manifest.write_text('{"name": "my-app"}')
    elif how == "list":
        manifest.write_text("[]")
    elif how == "newer":
        manifest.write_text(text.replace('"version": 1,', '"version": 99,', 1))
    elif how == "missing file":
        (run / "statistics.parquet").unlink()
    elif how == "flipped byte":
        content = bytearray((run / "replies.parquet").read_bytes())
        content[len(content) // 2] ^= 1
        (run / "replies.parquet").write_bytes(content)
    elif how == "truncated":
        (run / "replies.parquet").write_bytes((run / "replies.parquet").read_bytes()[:-10])
    elif how == "no files listed":
        write_sealed(manifest, {**json.loads(text), "files": {}})
    elif how == "other version of a metric":
        write_sealed(manifest, json.loads(text.replace("|v:1", "|v:0")))
    elif how == "keys missing":
        write_sealed(manifest, {key: value for key, value in json.loads(text).items() if key != "metrics"})
    elif how == "strange metric":
        write_sealed(manifest, json.loads(text.replace('"metric": "bleu-1"', '"metric": 5')))
    elif how == "unknown metric":
        write_sealed(manifest, json.loads(text.replace('"metric": "words"', '"metric": "wonders"')))
    elif how == "better number":
        content = json.loads(text)
        content["table"]["cells"][0]["value"] = 99.9
        manifest.write_text(json.dumps(content))
    elif how == "no ratings":
        (run / "ratings.parquet").unlink()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no folder", "There is no run at"),
        ("no manifest", "is not a run: it has no manifest.json"),
        ("not json", "manifest.json cannot be read"),
        ("foreign", "its manifest.json was written by something else"),
        ("list", "its manifest.json was written by something else"),
        ("newer", "has run format 99, this Dialoscope reads 1"),
        ("missing file", "damaged: statistics.parquet is missing"),
        ("flipped byte", r"replies.parquet has the hash sha256:\w+, the manifest says sha256:\w+"),
        ("truncated", "damaged or was changed: replies.parquet"),
        ("no files listed", "does not list the run's files"),
        ("other version of a metric", r"holds bleu\|.*v:0, but this Dialoscope makes bleu\|.*v:1"),
        ("keys missing", "is not a whole run"),
        ("strange metric", "is not a whole run"),
        ("unknown metric", "has a metric that is not installed here: There is no metric 'wonders'"),
        ("better number", r"manifest.json was changed: its seal is sha256:\w+, its content has sha256:\w+"),
        ("no ratings", "damaged: ratings.parquet is missing"),
    ],
)
def test_a_damaged_or_foreign_run_is_refused_in_words(run, how, message):
    damage(run, how)
    with pytest.raises(ds.RunError, match=message):
        ds.Result.load(run)


def test_asking_for_what_is_not_there_is_answered_with_what_is(result):
    with pytest.raises(ds.DialoscopeError, match="no system 'bot' in this run; it has: attentive, generic"):
        result.score("bleu", "bot")
    with pytest.raises(ds.DialoscopeError, match="This run has no bleu-5; it has: bleu-1"):
        result.score("bleu-5", "generic")


def test_intervals_are_seeded_and_hold_the_value(result, sample):
    for cell in result.table().cells:
        assert cell.low <= cell.value <= cell.high or math.isnan(cell.low), "nothing varies there"
    again = ds.evaluate(ds.read(sample), ["bleu", "distinct"])
    other = ds.evaluate(ds.read(sample), ["bleu", "distinct"], seed=1)
    assert again.interval("bleu", "parrot") == result.interval("bleu", "parrot")
    assert other.interval("bleu", "parrot") != result.interval("bleu", "parrot")


def test_the_interval_of_a_mean_is_the_textbook_one():
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 30, 400)
    found = ds.evaluate([ds.Example(str(i), "s", "w " * n) for i, n in enumerate(lengths)], ["words"])
    low, high = found.interval("words", "s", draws=4000)
    half = 1.96 * lengths.std(ddof=1) / 20
    assert (low, high) == pytest.approx((lengths.mean() - half, lengths.mean() + half), abs=0.15)


@pytest.mark.parametrize("blocks", [2, 44, 2000])
def test_sums_of_draws_do_not_depend_on_the_order_of_adding_up(blocks):
    """As it differs between processors and numbers of threads."""
    rng = np.random.default_rng(blocks)
    sums = resampling.round_for_exact_sums(rng.lognormal(sigma=3, size=(blocks, 3)) * [1, -1e12, 1e-9])
    (weights,) = resampling.bootstrap_weights(blocks, resampling.Resamples(100, seed=0))
    order = rng.permutation(blocks)
    one_by_one = np.array([[sum(row * column) for column in sums.T] for row in weights])
    assert (weights @ sums == one_by_one).all()
    assert (weights[:, order] @ sums[order] == one_by_one).all()


def test_rounding_for_exact_sums_loses_next_to_nothing():
    sums = np.random.default_rng(0).normal(size=(44, 4)) * [1, 1e300, 1e-300, 0]
    rounded = resampling.round_for_exact_sums(sums)
    assert (np.abs(rounded - sums) <= 2.0**-40 * np.abs(sums).max(axis=0)).all()
    assert (
        resampling.round_for_exact_sums(np.array([[3.0, -0.25], [7.0, 1.0]])) == [[3, -0.25], [7, 1]]
    ).all()


def test_many_items_are_resampled_in_blocks_without_changing_the_width():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20_000, 1))
    blocks = resampling.blocks_of(np.arange(20_000), resampling.MOST_BLOCKS, seed=0)
    assert len(np.unique(blocks)) == resampling.MOST_BLOCKS
    sums = resampling.block_sums(values, blocks, resampling.MOST_BLOCKS)
    drawn = resampling.bootstrap_sums(sums, resampling.Resamples(2000, seed=0))[:, 0] / 20_000
    low, high = resampling.percentile_interval(drawn, 0.95, resampling.MOST_BLOCKS)
    assert high - low == pytest.approx(2 * 1.96 / math.sqrt(20_000), rel=0.08)


def test_replies_to_one_context_are_resampled_together():
    """Two hundred copies of ten different items are worth ten observations, not two thousand."""
    alone = [ds.Example(f"{i}", "s", "w " * (i + 1), (f"context {i}",)) for i in range(10)]
    copies = [
        ds.Example(f"{i}-{j}", "s", "w " * (i + 1), (f"context {i}",)) for i in range(10) for j in range(200)
    ]
    narrow, wide = (ds.evaluate(examples, ["words"]).interval("words", "s") for examples in (copies, alone))
    assert (narrow.low, narrow.high) == pytest.approx((wide.low, wide.high), abs=1e-9)


def test_one_item_has_no_interval():
    found = ds.evaluate([ds.Example("1", "s", "hello there")], ["words", "distinct-1", "self-bleu"])
    assert all(math.isnan(found.interval(metric, "s").low) for metric in found.metrics)
    assert "2.000" in str(found)
    assert math.isnan(found.score("self-bleu", "s"))


def test_a_draw_without_a_defined_reply_is_undefined_not_zero():
    examples = [ds.Example(str(i), "s", "good day to you") for i in range(3)]
    examples += [ds.Example("9", "s", "good day to you", (), ("good day to you all",))]
    found = ds.evaluate(examples, ["bleu", "rouge-l"], missing="undefined")
    assert all(math.isnan(found.interval(metric, "s").low) for metric in found.metrics)
    assert found.table().cell("s", "bleu-4").undefined == 3


def systems(gap: int, items: int = 60):
    rng = np.random.default_rng(1)
    base = rng.integers(5, 15, items)
    return [
        ds.Example(str(i), name, " ".join(f"{name}{j}" if j > 2 else "same" for j in range(n + extra)))
        for name, extra in (("a", 0), ("b", gap))
        for i, n in enumerate(base + rng.integers(0, 3, items) if name == "b" else base)
    ]


@pytest.mark.parametrize("metric", ["words", "distinct-1:level=reply", "entropy-1"])
def test_a_clear_difference_is_significant_and_none_is_not(metric):
    apart = ds.evaluate(systems(gap=4), [metric])
    assert apart.significance(metric, "a", "b") < 0.01
    twins = [ds.Example(ex.id, name, ex.response) for name in ("a", "b") for ex in systems(0)[:60]]
    assert ds.evaluate(twins, [metric]).significance(metric, "a", "b") == 1.0


def test_the_test_of_a_mean_is_the_textbook_one():
    """Against the exact sign-flip distribution of eight pairs, all 256 of them."""
    differences = np.array([3, 1, -1, 2, 4, 1, 2, -2])
    examples = [ds.Example(str(i), "a", "w " * 10) for i in range(8)]
    examples += [ds.Example(str(i), "b", "w " * int(10 + d)) for i, d in enumerate(differences)]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 8)).reshape(8, -1)
    exact = np.mean(np.abs(signs.T @ differences) >= abs(differences.sum()))
    found = ds.evaluate(examples, ["words"]).significance("words", "a", "b", draws=20_000)
    assert found == pytest.approx(exact, abs=0.01)


def test_systems_without_common_items_cannot_be_compared():
    examples = [ds.Example(f"{name}{i}", name, "hello there " * (i + 1)) for name in "ab" for i in range(5)]
    found = ds.evaluate(examples, ["words", "distinct-1"])
    assert math.isnan(found.significance("words", "a", "b"))
    assert math.isnan(found.significance("distinct-1", "a", "b"))


def test_the_table_is_tested_against_the_best_on_request(result):
    table = result.table(significance=True)
    best = [cell for cell in table.cells if cell.metric == "rouge-l" and cell.best]
    assert [cell.system for cell in best] == ["attentive"]
    assert best[0].p is None
    assert all(0 < cell.p < 0.01 for cell in table.cells if cell.metric == "rouge-l" and not cell.best)
    assert all(cell.p is None for cell in table.cells if cell.metric == "words")
    assert "p=" not in str(result)
    assert "p<.001" in table.text()


def test_a_table_too_wide_for_the_screen_goes_on_below(result):
    whole, cut = result.table().text().splitlines(), result.table().text(width=70).splitlines()
    assert max(map(len, cut)) <= 70 < max(map(len, whole))
    assert len(cut) == 2 * len(whole) + 1
    assert str(result.table()) == result.table().text()
    assert len(result.table().text(width=5).splitlines()) == 4 * len(whole) + 3


def test_tables_escape_what_systems_are_called():
    hostile = "evil|bot\x1b[2J\n<b>"
    found = ds.evaluate([ds.Example("1", hostile, "hello"), ds.Example("2", hostile, "hello you")], ["words"])
    table = found.table()
    assert "\x1b" not in table.text() + table.markdown()
    assert "evil\\|bot\\x1b\\[2J\\n&lt;b&gt;" in table.markdown()
    lines = table.markdown().splitlines()
    assert len(lines) == 3
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert json.loads(table.json())[0]["system"] == hostile


@pytest.mark.parametrize(
    ("value", "text"), [(0.12345, "0.123"), (12.345, "12.3"), (math.nan, "–"), (-3.0, "-3.000")]
)
def test_numbers_have_enough_digits(value, text):
    assert number(value) == text


def test_printable_text_stays_and_the_rest_is_escaped():
    assert printable("naïve 你好 😀") == "naïve 你好 😀"
    assert printable("a\x1b[31m\x07\u202e\r\n") == "a\\x1b[31m\\x07\\u202e\\r\\n"


@pytest.mark.parametrize(
    ("name", "cell"),
    [("a|b", r"a\|b"), (r"a\|b", r"a\\\|b"), (r"a\\|b", r"a\\\\\|b"), (r"a\b", r"a\b")],
)
def test_a_pipe_in_a_name_never_ends_a_cell(name, cell):
    """The backslash that was there is escaped itself, or it would escape ours."""
    assert markdown_table(Grid(["x", "y"], [[name, "1"]])).splitlines()[2] == f"| {cell} | 1 |"


def test_markdown_makes_neither_tags_nor_links_of_what_systems_are_called():
    assert list_in_markdown(["<img src=x> of [you](http://x) & me"]) == [
        "- &lt;img src=x&gt; of \\[you](http:/\\/x) &amp; me"
    ]


def test_ratings_that_the_manifest_does_not_list_are_not_read(run, result):
    bare = ds.evaluate([ds.Example("1", "s", "hello")], ["words"]).save(run.parent / "bare")
    shutil.copy(run / "ratings.parquet", bare)
    assert len(ds.Result.load(bare).ratings) == 0


def test_an_overwrite_that_fails_brings_the_old_run_back(result, run, monkeypatch):
    before = (run / "manifest.json").read_text()
    plain, targets = Path.rename, []

    def fail_in_the_second_step(self, target):
        targets.append(target)
        if targets.count(run) == 2:  # the first time it is refused, since the run is there
            raise OSError(5, "Input/output error")
        return plain(self, target)

    monkeypatch.setattr(files, "_find_renameat2", lambda: None)
    monkeypatch.setattr(Path, "rename", fail_in_the_second_step)
    with pytest.raises(ds.RunError, match="cannot be written: Input/output error"):
        result.save(run, overwrite=True)
    assert (run / "manifest.json").read_text() == before
    assert [path for path in run.parent.iterdir() if path != run] == []


def test_a_folder_name_that_no_disk_takes_is_refused(result, tmp_path):
    with pytest.raises(ds.RunError, match="cannot be written: File name too long"):
        result.save(tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    "metric", [ds.Rouge("w", weight=1.2345678), ds.Rouge(1, beta=2), ds.Rouge(beta=1 / 3)]
)
def test_numbers_as_settings_survive_saving(metric, tmp_path):
    examples = [ds.Example("1", "s", "good day to you", (), ("good day", "to you"))]
    result = ds.evaluate(examples, [metric, ds.Rouge("w", weight=1.2345679)])
    assert ds.Result.load(result.save(tmp_path / "run")) == result
    assert len(result.to_columns()) == 4


class TestAMetricOfOnesOwn:
    @dataclass(frozen=True)
    class Shout(ds.MeanMetric):
        """Capital letters."""

        name = "shout"
        version = 1
        paper = "https://example.org"
        higher_is_better = False

        @property
        def bounds(self):
            return ds.Bounds(0, math.inf)

        def grade(self, batch):
            return [float(sum(map(str.isupper, example.response))) for example in batch]

    def test_scores_like_any_other(self):
        found = ds.evaluate([ds.Example("1", "s", "HEllo")], self.Shout())
        assert found.score("shout", "s") == 2
        assert found.values("shout").tolist() == [2]

    def test_is_not_saved_where_it_could_not_be_loaded(self, tmp_path):
        found = ds.evaluate([ds.Example("1", "s", "HEllo")], [self.Shout()])
        with pytest.raises(
            ds.RunError, match=r"shout cannot be saved, for it could not be loaded.*entry point"
        ):
            found.save(tmp_path / "run")
        assert list(tmp_path.iterdir()) == []

    def test_that_forgets_a_reply_is_told_so(self):
        @dataclass(frozen=True)
        class Lazy(self.Shout):
            def grade(self, batch):
                return [1.0]

        with pytest.raises(ds.MetricError, match="shout measured 1 replies where there are 2; it has a bug"):
            ds.evaluate([ds.Example("1", "s", "a"), ds.Example("2", "s", "b")], [Lazy()])


def test_what_is_no_example_or_metric_is_answered_in_words(sample):
    for wrong in (str(sample), [{"id": "1", "response": "hi"}], ["hello"]):
        with pytest.raises(
            ds.DataError,
            match=r"(is no Example|not a list of examples, but .*)\. Read a file with ds.read\(path\)",
        ):
            ds.evaluate(wrong, "bleu")
    with pytest.raises(ds.MetricError, match=r"is no metric; name one, such as 'bleu-4', or make one"):
        ds.evaluate([ds.Example("1", "s", "hi")], [ds.Words])
    assert (
        ds.evaluate([ds.Example("1", "s", "hi")]).metrics == ds.evaluate([ds.Example("1", "s", "hi")]).metrics
    )
    with pytest.raises(ds.DialoscopeError, match="confidence must lie between 0 and 1"):
        ds.evaluate([ds.Example("1", "s", "hi")], "words").table(confidence=95)
    with pytest.raises(ds.DialoscopeError, match="The table has no bleu of s; it has: s, words"):
        ds.evaluate([ds.Example("1", "s", "hi")], "words").table().cell("s", "bleu")


def test_a_notebook_shows_a_table_and_a_debugger_a_line(result):
    assert repr(result) == "<Result: 176 replies, 4 systems, 18 metrics>"
    assert result._repr_markdown_().startswith("|  | attentive |")


def test_turns_of_one_dialogue_are_resampled_together(tmp_path):
    """Forty dialogues of ten equal replies are worth forty observations, not four hundred."""
    rows = [{"turns": ["hi", "w " * (i + 1)] * 10} for i in range(40)]
    path = tmp_path / "bot.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = ds.evaluate(ds.read(path), ["words"])
    single = ds.evaluate([ds.Example(str(i + 1), "bot", "w " * (i + 1)) for i in range(40)], ["words"])
    assert len(whole.replies) == 400
    assert whole.interval("words", "bot") == pytest.approx(single.interval("words", "bot"))


def test_systems_are_paired_by_id_or_else_by_context():
    lengths = [3, 9, 4, 8, 5, 7, 6, 2]

    def examples(name, more, ids, contexts):
        return [ds.Example(ids(i), name, "w " * (n + more), (contexts(i),)) for i, n in enumerate(lengths)]

    same_ids = [
        *examples("a", 0, str, lambda i: f"context {i}"),
        *examples("b", 1, str, lambda i: f"Context {i}!"),
    ]
    same_contexts = [
        *examples("a", 0, lambda i: f"a{i}", lambda i: f"context {i}"),
        *examples("b", 1, lambda i: f"b{i}", lambda i: f"context {i}"),
    ]
    for case in (same_ids, same_contexts):
        assert ds.evaluate(case, ["words"]).significance("words", "a", "b") < 0.05
    (warning,) = ds.evaluate(same_ids, ["words"]).provenance.warnings
    assert warning.startswith("8 ids stand for different contexts")


def test_a_test_on_few_items_or_none_says_so():
    examples = [ds.Example(str(i), "a", "w " * (i + 2), (), ("w w",)) for i in range(10)]
    examples += [ds.Example(str(i), "b", "v " * (i % 3 + 1), (), ("w w",)) for i in range(7, 20)]
    table = ds.evaluate(examples, ["rouge-1"]).table(significance=True)
    assert table.cell("b", "rouge-1").compared == 3
    assert "b and the best system are compared on the 3 of 13 contexts that both answered." in table.notes()
    apart = [ds.Example(f"{name}{i}", name, "w" * (i + 1), (), ("w",)) for name in "ab" for i in range(5)]
    apart[0] = ds.Example("a0", "a", "other", (), ("w",))
    table = ds.evaluate(apart, ["rouge-1"]).table(significance=True)
    assert "p=–" in table.text()


def test_two_replies_prove_nothing_about_what_a_system_says():
    """The jackknife sees no error here; a paired test of two items can still not be surer than .5."""
    examples = [ds.Example(str(i), "a", "a b c") for i in range(2)]
    examples += [ds.Example(str(i), "b", f"u{i} v{i} w{i}") for i in range(2)]
    found = ds.evaluate(examples, ["distinct-1", "entropy-1"])
    for metric in found.metrics:
        assert found.significance(metric, "a", "b") >= 0.5
    assert math.isnan(found.interval("distinct-1", "a").low)


def test_a_test_does_not_depend_on_who_is_named_first():
    examples = [ds.Example(f"{i}-{j}", "a", f"w{i} v{j}", (f"c{i}",)) for i in range(60) for j in range(3)]
    examples += [ds.Example(f"b{i}", "b", f"w{i % 7} w{i % 5}", (f"c{i}",)) for i in range(60)]
    found = ds.evaluate(examples, ["distinct-1", "words"])
    for metric in found.metrics:
        one, other = found.significance(metric, "a", "b"), found.significance(metric, "b", "a")
        assert one == pytest.approx(other)


def test_results_with_other_ratings_or_items_are_not_equal(sample):
    examples = [ds.Example("1", "s", "hi", ("a",)), ds.Example("2", "s", "hi", ("a",))]
    apart = [ds.Example("1", "s", "hi", ("a",)), ds.Example("2", "s", "hi", ("b",))]
    rated = ds.Replies.of(examples, [ds.Rating("1", "s", "fluency", "1", 4.0)])
    assert ds.evaluate(examples, "words") != ds.evaluate(apart, "words")
    assert ds.evaluate(examples, "words") != ds.evaluate(rated, "words")
    assert ds.evaluate(examples, "words") == ds.evaluate(examples, "words")


def test_wide_characters_keep_the_columns_straight():
    examples = [ds.Example("1", name, "hi there") for name in ("机器人", "bot")]
    first, second = ds.evaluate(examples, ["words"]).table().text().splitlines()[2:]
    assert first.index("2.000") + 3 == second.index("2.000"), "each of the three takes two columns"


def test_a_link_to_a_run_is_followed(result, run):
    link = run.parent / "latest"
    link.symlink_to(run)
    result.save(link, overwrite=True)
    assert link.is_symlink()
    assert ds.Result.load(link) == result
