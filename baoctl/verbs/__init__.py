"""The verbs of `baoctl` as click sees them: names, options and help; one module per family.

Cheap to import: what a verb does is in baoctl.commands, and is imported when the verb is called.
"""
