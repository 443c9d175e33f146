"""The verbs for clusters: modules that read, modules that decide, and modules that print.

Called by baoctl.verbs, which imports a module when its verb is called.
"""
