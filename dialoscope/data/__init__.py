"""From files to records: replies, contexts, ratings and scores in every format, and warnings about odd data.

Readers stream: a row is checked when it is read, and an error names the file and the line. `perturb` makes
real replies worse on purpose. Nothing here computes a metric.
"""
