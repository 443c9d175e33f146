"""The vocabulary that every layer above shares: API types, names, labels, conditions, config.hcl.

May use runtime (types only), pydantic and jinja2. No I/O, no clock, no randomness, no asyncio: it
holds values and pure functions. Called by managers and baoctl.
"""
