"""Simulations with a known truth, one module a topic.

Each module has a function `figures(trials, workers)` that yields a `Figure` for each number that is measured:
how often intervals hold the truth, how often tests reject where nothing is to be found, and how far estimates
are from it. `benchmarks/calibration.py` runs them. Nothing here reads the rated corpora.
"""
