"""What the operator knows about OpenBao on Kubernetes, one package per concern.

`cluster` is the spine and binds the others; features stand side by side and never import each other
(shared shapes live in `contracts`, shared facts in `contracts.records.observed`); `bao` at the
bottom speaks to OpenBao. In a feature, `plan.py` is pure and `run.py` acts.
"""
