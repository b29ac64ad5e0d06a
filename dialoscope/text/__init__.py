"""From texts to integers: tokenizers, n-grams, stemmers, alignment, and similarity of texts by their words.

Functions here take texts or batches of records and return arrays. Nothing here reads a file or loads a model.
"""
