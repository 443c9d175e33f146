"""Conditions: the types, all reasons with meaning and next step, and the merge of conditions.

Pure data except for `condition`. Called by all writers of a status, and by `baoctl explain`.
"""
