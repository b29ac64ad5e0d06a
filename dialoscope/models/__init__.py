"""Models behind the metrics: protocols, frozen descriptions that load on first use, and a fake of each.

A model takes texts and returns NumPy arrays. What imports torch is in `engines`, what is downloaded in
`registry`, and scores that were computed before in `cache`. Nothing here knows a metric.
"""
