"""Runs: evaluate replies, keep the result, and say how certain it is.

A `Result` holds statistics for each reply, from which every number, interval and difference is computed;
saved runs can be verified. Nothing here correlates metrics with ratings.
"""
