"""Real replies made worse on purpose, so that an audit can show whether a metric notices.

A perturbation turns rows into worse rows; nothing here scores them.
"""
