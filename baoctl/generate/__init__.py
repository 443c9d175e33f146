"""`python -m baoctl.generate`: the files of the repository that are generated from code.

Called by `make crd` and `make verify-crd`. MkDocs calls baoctl.generate.site_hooks.
"""
