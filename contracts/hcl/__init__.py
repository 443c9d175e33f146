"""config.hcl and the self-init document, rendered from a record of plain values.

May use jinja2 and contracts.naming.names. `contracts.hcl.render` is the way in; every value passes
through `contracts.hcl_quote`, so that text of a user stays the leaf that it is.
"""
