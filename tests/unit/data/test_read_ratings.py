"""Ratings and other people's scores in files of their own."""

import gzip

import pytest

import dialoscope as ds
from dialoscope import Rating, Score

LONG = [
    {"id": "a", "system": "bot", "aspect": "fluency", "rater": "ann", "rating": 4},
    {"id": "a", "system": "bot", "aspect": "fluency", "rater": "bob", "rating": None},
    {"id": 2, "system": "bot", "aspect": "fluency", "rater": 7, "rating": 1.5},
]
RATINGS = (
    Rating("a", "bot", "fluency", "ann", 4.0),
    Rating("a", "bot", "fluency", "bob", None),
    Rating("2", "bot", "fluency", "7", 1.5),
)


@pytest.fixture
def file(write):
    """Writes rows, or the text they are written in."""
    return lambda rows, name="ratings.jsonl": write(name, *([rows] if isinstance(rows, str) else rows))


def test_a_row_for_each_rating(file):
    assert ds.read_ratings(file(LONG)) == RATINGS


def test_tables_of_text_say_the_same(file):
    head = "id,system,aspect,rater,rating\n"
    rows = "a,bot,fluency,ann,4\na,bot,fluency,bob,\n2,bot,fluency,7,1.5\n"
    assert ds.read_ratings(file(head + rows, "r.csv")) == RATINGS
    assert ds.read_ratings(file((head + rows).replace(",", "\t"), "r.tsv")) == RATINGS


def test_parquet_and_gzip_say_the_same(file, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{**row, "id": str(row["id"]), "rater": str(row["rater"])} for row in LONG]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet")
    assert ds.read_ratings(tmp_path / "r.parquet") == RATINGS
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress(file(LONG).read_bytes()))
    assert ds.read_ratings(packed) == RATINGS


def test_columns_of_other_names(file):
    rows = [{"item": "a", "what": "fluency", "who": "ann", "number": 3}]
    columns = {"id": "item", "aspect": "what", "rater": "who", "rating": "number"}
    assert ds.read_ratings(file(rows), columns=columns) == (Rating("a", "", "fluency", "ann", 3.0),)


def test_all_ratings_of_a_reply_in_one_row(file):
    rows = [{"id": "a", "response": "Hi.", "ratings": {"x": [1, None], "y": {"ann": 2}, "z": 3}}]
    found = ds.read_ratings(file(rows))
    assert found == (
        Rating("a", "", "x", "1", 1.0),
        Rating("a", "", "x", "2", None),
        Rating("a", "", "y", "ann", 2.0),
        Rating("a", "", "z", "1", 3.0),
    )
    assert ds.read_ratings(file("id,ratings.x\na,[1]\nb,\n", "r.csv")) == (Rating("a", "", "x", "1", 1.0),)


def test_a_row_for_each_rater_with_a_column_for_each_aspect(file):
    table = "id,rater,ratings.x,ratings.y\na,ann,1,2\na,bob,3,4\n"
    found = ds.read_ratings(file(table, "r.csv"))
    assert [(one.rater, one.aspect, one.value) for one in found] == [
        ("ann", "x", 1.0),
        ("ann", "y", 2.0),
        ("bob", "x", 3.0),
        ("bob", "y", 4.0),
    ]


def test_raters_without_names_are_counted_for_each_reply(file):
    rows = [{"id": name, "aspect": "x", "rating": value} for name, value in (("a", 1), ("a", 2), ("b", 3))]
    assert [one.rater for one in ds.read_ratings(file(rows))] == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        pytest.param(
            [LONG[0], LONG[0]], "ratings.jsonl:2: a second rating of 'fluency' by rater", id="twice"
        ),
        pytest.param([{"id": "a", "aspect": "x", "rating": "good"}], "`rating` is 'good' where", id="word"),
        pytest.param([{"id": "a", "aspect": "x", "rating": True}], "true or false where", id="truth"),
        pytest.param('{"id": "a", "aspect": "x", "rating": NaN}', "no finite number", id="nan"),
        pytest.param([{"id": "a", "aspect": "x", "rating": 1e300}], "1e+300, which no scale has", id="huge"),
        pytest.param([{"aspect": "x", "rating": 1}], "no column `id` among aspect, rating", id="no id"),
        pytest.param([{"id": "a", "rating": 1}], "--map aspect=COLUMN", id="no aspect"),
        pytest.param([{"id": "a", "aspect": "x", "value": 1}], "--map rating=COLUMN", id="no rating"),
        pytest.param([{"id": "", "aspect": "x", "rating": 1}], "`id` is empty", id="empty id"),
        pytest.param(
            [{"id": "a", "aspect": "x", "rating": 1, "worker_id": "w"}],
            "--map rater=worker_id",
            id="raters of another name",
        ),
        pytest.param(
            [{"id": "a", "rater": "ann", "ratings": {"x": [1, 2]}}],
            "a list where a number",
            id="raters twice",
        ),
        pytest.param("{", "not valid JSON", id="broken"),
        pytest.param([], "is empty; it should hold one rating a row", id="empty"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(file, rows, complaint):
    with pytest.raises(ds.DataError, match="rating") as told:
        ds.read_ratings(file(rows))
    assert complaint in str(told.value)


def test_a_name_that_no_column_can_have_and_columns_nobody_knows(file):
    with pytest.raises(
        ds.DataError, match=r"no column 'raters' to map \(did you mean 'rater'\?\): id, system"
    ):
        ds.read_ratings(file(LONG), columns={"raters": "x"})
    with pytest.raises(ds.DataError, match=r"names among id, system, aspect, .*--map id=COLUMN"):
        ds.read_ratings(file("u,v\n1,2\n", "r.csv"))
    with pytest.raises(ds.DataError, match="there is no such file"):
        ds.read_ratings("nowhere.csv")


def test_several_files_are_read_as_one(file):
    other = file([{**LONG[0], "aspect": "sense"}], "other.jsonl")
    assert ds.read_ratings(file(LONG), other) == (*RATINGS, Rating("a", "bot", "sense", "ann", 4.0))
    with pytest.raises(
        ds.DataError, match=r"again\.jsonl:1: a second rating .*, after .*ratings\.jsonl:1; keep"
    ):
        ds.read_ratings(file(LONG), file(LONG[:1], "again.jsonl"))
    with pytest.raises(ds.DataError, match="name at least one file of ratings"):
        ds.read_ratings()


def test_one_mapping_serves_ratings_and_scores(file):
    columns = {"id": "item", "rating": "stars", "score": "points"}
    rated = file([{"item": "a", "aspect": "x", "stars": 2}])
    scored = file([{"item": "a", "metric": "m", "points": 3}], "scores.jsonl")
    assert ds.read_ratings(rated, columns=columns)[0].value == 2
    assert ds.read_scores(scored, columns=columns)[0].value == 3


def test_a_row_for_each_score(file):
    rows = [{"corpus": "c", "id": "a", "metric": "m", "score": 0}, {"id": "a", "metric": "n", "score": None}]
    assert ds.read_scores(file(rows)) == (Score("a", "", "m", 0.0), Score("a", "", "n", None))


def test_a_column_for_each_metric(file):
    found = ds.read_scores(file("id,system,score,other metric\na,bot,.5,1e-3\nb,bot,,2\n", "s.csv"))
    assert found == (
        Score("a", "bot", "score", 0.5),
        Score("a", "bot", "other metric", 0.001),
        Score("b", "bot", "score", None),
        Score("b", "bot", "other metric", 2.0),
    )


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        pytest.param([{"id": "a", "m": 1}] * 2, "a second score of 'm' of reply 'a', after ", id="twice"),
        pytest.param(
            [{"id": "a", "m": "x"}], "the score of 'm' is 'x' where a number is expected", id="word"
        ),
        pytest.param([{"id": "a", "response": "x"}], "no score among id, response", id="none"),
        pytest.param([{"m": 1}], "no column `id` among m", id="no id"),
    ],
)
def test_what_is_wrong_with_scores_is_told_with_its_line(file, rows, complaint):
    with pytest.raises(ds.DataError) as told:
        ds.read_scores(file(rows, "scores.jsonl"))
    assert f"scores.jsonl:{len(rows)}: {complaint}" in str(told.value)
