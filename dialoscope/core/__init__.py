"""What every room uses: errors, records, arrays, statistics, signatures, files, safe text, rendering.

Modules here take and give plain Python and NumPy. Nothing here reads data, knows a metric, or loads a model.
"""
