"""The CustomResourceDefinitions, generated from the models and the rules.

Called by `baoctl.generate`.
"""
