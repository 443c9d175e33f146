"""config.hcl and the self-init document, rendered from a record of plain values.

May use jinja2 and contracts.naming.names. `contracts.hcl.render` is the entry point. It quotes
every value with `contracts.hcl_quote`, so that the text of a user cannot add attributes or blocks.
"""
