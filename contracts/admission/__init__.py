"""The admission policies: what only the API server can know at the moment of a request.

Uses contracts.api, contracts.naming.labels and contracts.rbac.rules. Called by `baoctl.generate
admission`, which writes deploy/admission, and by who looks whether the policies stand. Pure.
"""
