"""Which metrics agree with people and with each other, and is one system really better?

Functions here take results and arrays and return reports. Nothing here knows a metric's code or a model.
"""
