"""The admission policies: rules that only the API server can check, when it receives a request.

Uses contracts.api, contracts.naming.labels and contracts.rbac.rules. Called by `baoctl.generate
admission`, which writes deploy/admission, and by managers.context.reads, which checks that the
policies are installed. Pure.
"""
