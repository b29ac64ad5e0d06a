"""Halves of characters in a text, the same wherever a text leaves Python."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialoscope.core.safe_text import without_surrogates


@given(st.text(st.characters(exclude_categories=[]), max_size=8))
def test_every_text_can_be_written_and_keeps_its_places(text):
    found = without_surrogates(text)
    found.encode()
    assert len(found) == len(text)
    for old, new in zip(text, found, strict=True):
        assert new == ("\ufffd" if "\ud800" <= old <= "\udfff" else old)


def test_models_read_the_replacement_character():
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    from dialoscope.models.engines.token_ids import Vocabulary

    words = Vocabulary(Tokenizer(WordLevel({"unknown": 0, "?": 1, "\ufffd": 2}, "unknown")))
    assert words.encode(["\ud800", "\ufffd", "?"]) == [(2,), (2,), (1,)]


def test_encoders_read_the_replacement_character():
    pytest.importorskip("torch")
    from dialoscope.models.engines.reader import _readable
    from dialoscope.models.protocols import Pair

    assert _readable("a\ud800") == "a\ufffd"
    assert _readable(Pair("a\ud800", "\udfff")) == ("a\ufffd", "\ufffd")
