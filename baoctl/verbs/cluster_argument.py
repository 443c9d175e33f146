"""The argument CLUSTER of the verbs.

Imports only click. Used by the other modules of baoctl.verbs.
"""

from __future__ import annotations

import click

from baoctl.options import fits
from baoctl.verbs.access_options import names_of

IS_NAME = fits(bool, "must not be empty; check the variables of your shell")
"""Rejects an empty name: the URL of such an object is the URL of the list of all objects."""
CLUSTER = click.argument("cluster", callback=IS_NAME, shell_complete=names_of("clusters"))
OPTIONAL_CLUSTER = click.argument(
    "cluster", required=False, callback=IS_NAME, shell_complete=names_of("clusters")
)
