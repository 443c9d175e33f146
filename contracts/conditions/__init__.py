"""Conditions: the types, every reason with its meaning and its next step, and how a set is merged.

Pure data but for `condition`. Called by all writers of a status, and by `baoctl explain`.
"""
