"""Paraphrases of queries, to see how much the replies of a system vary with the wording.

Methods propose drafts, and a selection keeps those that are similar enough and differ from each other.
Nothing here asks a system or scores a reply.
"""
