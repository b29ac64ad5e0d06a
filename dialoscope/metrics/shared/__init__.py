"""What several metrics need: the base classes, n-grams, word vectors, likelihoods, distributions.

One module for each thing that is shared; a metric itself is a file of `dialoscope.metrics`.
"""
