"""What the verbs for clusters do: a module that reads, modules that decide, modules that print.

Called by baoctl.verbs.clusters, which imports a module when its verb is called.
"""
