"""Simulations with a known truth, one module a topic.

Each module has a function `figures(trials, workers)` that yields a `Figure` for each measured number, such as
coverage of intervals, type I errors of tests, and bias of estimates. `benchmarks/calibration.py` runs them.
Nothing here reads the rated corpora.
"""
