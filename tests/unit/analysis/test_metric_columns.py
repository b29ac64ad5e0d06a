"""The numbers of a run as columns, with those of other people's code beside them."""

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.analysis.metric_columns import columns, system_level_metrics
from dialoscope.core.errors import DialoscopeError


@pytest.fixture
def result(sample):
    return ds.evaluate(ds.read(sample), ["rouge-l", "distinct-2:level=reply", "self-bleu", "words"])


def test_every_metric_of_replies_is_a_column(result):
    found = columns(result)
    assert [column.name for column in found] == ["rouge-l", "distinct-2:level=reply", "words"]
    np.testing.assert_array_equal(found[0].values, result.values("rouge-l"))
    assert found[0].higher_is_better
    assert found[0].signature.startswith("rouge|")


def test_metrics_of_systems_alone_are_named(result):
    names = {column.name for column in columns(result)}
    assert not names & set(system_level_metrics(result))
    assert len(names) + len(system_level_metrics(result)) == len(result.metrics)


def test_scores_of_others_come_last(result):
    some = [ds.Score(result.replies.ids[0], result.systems[0], "theirs", 0.5)]
    last = columns(result, some)[-1]
    assert (last.name, last.signature, last.higher_is_better) == ("theirs", "", None)
    assert last.values[0] == 0.5
    assert np.isnan(last.values[1:]).all()


def test_a_score_may_not_take_the_name_of_a_metric(result):
    some = [ds.Score(result.replies.ids[0], result.systems[0], "words", 0.5)]
    with pytest.raises(DialoscopeError, match="The scores name words, which the run has as well; rename"):
        columns(result, some)
