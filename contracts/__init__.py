"""Types and names that the layers above share: API types, labels, conditions, config.hcl.

May use runtime (types only), pydantic and jinja2. No I/O, no clock, no randomness, no asyncio: only
values and pure functions. Called by managers and baoctl.
"""
