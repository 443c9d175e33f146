"""The click commands of `baoctl`: names, options and help, one module per group of verbs.

Cheap to import: the code of a verb is in baoctl.commands and is imported when the verb is called.
"""
