"""Figures of trust as they would be of a run at hand."""

from dataclasses import replace

import pytest

from dialoscope.analysis.trust.known import load_shipped


@pytest.fixture
def learned_from(monkeypatch):
    """Let the first metric of a run be one whose weights were fitted to the ratings of these very data."""
    known = load_shipped()

    def pretended(run):
        corpus = replace(known.corpora[0], data=run.provenance.data)
        learned = replace(known.families[0], signature=run.metrics[0].signature, how="somehow")
        monkeypatch.setattr(
            "dialoscope.analysis.trust.known.load_shipped",
            lambda: replace(known, corpora=(corpus,), families=(learned,)),
        )

    return pretended
