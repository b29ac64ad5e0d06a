"""The agreement of metrics with people and with each other, and comparisons of systems.

Functions here take results and arrays and return reports. Nothing here knows a metric's code or a model.
"""
