"""The CustomResourceDefinitions, made of the models and the rules.

Called by `baoctl.generate`.
"""
