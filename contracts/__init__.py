"""The words that every layer above shares: API types, names, labels, conditions, config.hcl.

May use runtime (types only), pydantic and jinja2. No I/O, no clock, no randomness, no asyncio: what
is here is a value or a pure function. Called by managers and baoctl.
"""
