"""Training: a recipe and data become a checkpoint, which is a model like any other.

What imports torch is in `engines`. It is above `runs` because the composite is fitted to scored replies.
"""
