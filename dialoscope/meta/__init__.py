"""Judging the judges: do metrics agree with people, with each other, and is one system really better?

Arrays and results in, numbers out; nothing here knows a metric or a model.
"""
