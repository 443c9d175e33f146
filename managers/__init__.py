"""What the operator knows about OpenBao on Kubernetes, one package per concern.

`cluster` calls the feature packages, which never import each other. Shared types are in
`contracts`, and shared facts in `contracts.records.observed`. `bao` is the client of OpenBao. In a
feature package, `plan.py` is pure and `actions.py` has the side effects.
"""
