"""The validation rules that the schema of a field cannot express, in CEL and in Python.

A rule is declared once: `combinators.rule` takes the schema node, the field, a message, and a
condition from `checks`, which has the CEL and the Python form. `unique`, `immutable_spec` and, for
profile Hardened, `hardened`, `absent`, `false`, `true` and `other_than` also build the condition;
`prefix_rules` moves the rules of a part of the spec to its path in an object. `rule.RuleOf` with
separate CEL and a Python function is for conditions that `checks` cannot express. `cluster` lists
the rules of an OpenBaoCluster. May use `contracts.api.cluster` and `contracts.api.values`; called
by `contracts.api.schema` and by `contracts.spec_refusal`.
"""
