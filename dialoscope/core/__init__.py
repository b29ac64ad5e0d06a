"""The basis of all packages: errors, records, arrays, statistics, signatures, files, safe text, rendering.

Modules here take and return plain Python and NumPy objects. Nothing here reads data, knows a metric, or
loads a model.
"""
