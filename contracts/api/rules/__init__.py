"""The rules about our objects that go beyond the shape of one field, in CEL and in Python.

A rule is one declaration: `combinators.rule` with the node that it stands at, the field that it
complains about, a message, and a condition of `checks`, which is both halves of it. Of the rules
with a common shape, `unique`, `immutable_spec` and, for profile Hardened, `hardened`, `absent`,
`false`, `true` and `other_than` make the condition, too; `placed` moves the rules of a part to
where an object has it. A pair of CEL and a Python function (`rule.RuleOf`) is for what no condition
says simply. `cluster` lists the rules of an OpenBaoCluster. May use `contracts.api.cluster` and
`contracts.api.values`; called by `contracts.api.schema` and by the resolve step.
"""
