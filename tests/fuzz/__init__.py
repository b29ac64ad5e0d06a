"""Damaged and hostile input for every reader and every verb: tables to which a row can be added.

`seeds` holds sound input, `mutations` what is done to it, `targets` what reads it, `trial` the rules that
each file is held to, and `run` is the command: `python -m tests.fuzz.run --files 100000 --seed 7`.
"""
