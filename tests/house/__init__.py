"""The rules of this repository that a program can check.

`checkout` reads the repository; the other modules without `test_` hold the rules, each with an
example that breaks it. May use the standard library and, for the rules about conditions and
manifests, contracts.
"""
