"""Mutation testing: changes one place of the product, and runs the unit tests that import it.

`make mutants` calls it; nothing imports it. A change that no test notices is a survivor: either a
test is missing, or the change makes no difference. The package may use the standard library,
pytest, runtime.clock, the list of files of tests.house.checkout and the tables of e2e.demo.

The mutants are drawn with a seed from a sorted list, so the same source and the same seed give the
same mutants. The digest in the first line of the output says whether two runs had the same list.
"""
