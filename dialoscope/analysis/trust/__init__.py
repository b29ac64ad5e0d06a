"""The trust in each metric, from its correlations with ratings on rated corpora."""
