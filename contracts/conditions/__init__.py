"""Conditions: the types, every reason with its meaning and its next step, and how a set is merged.

Pure data but for `condition`. Called by everybody who writes a status, and by `baoctl explain`.
"""
