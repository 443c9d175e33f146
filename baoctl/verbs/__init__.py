"""The click commands of `baoctl`: names, options and help, one module per group of verbs.

No module here imports a third-party package but click: the code of a verb is in baoctl.commands,
and is imported when the verb is called. Called by baoctl.cli.
"""
