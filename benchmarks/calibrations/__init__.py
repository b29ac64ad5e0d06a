"""Simulations with a known truth, one module a topic: how often intervals hold it, how often tests reject nothing.

Each module has a function `figures(trials, workers)` that yields a `Figure` for each number that is measured,
and `benchmarks/calibration.py` runs them. Nothing here reads the rated corpora.
"""
