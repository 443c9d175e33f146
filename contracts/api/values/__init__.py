"""Values that several fields share: what a URL, a schedule, a path or a public key has to look
like.

Pure. May use `contracts.api.meta`; called by models and rules.
"""
