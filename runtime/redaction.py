"""The placeholder for a secret in logs, in the text of values, and in archives.

A separate module, so that its users need not import logging. Called by runtime.process.logs,
managers.context.sensitive and baoctl.commands.bundle.
"""

from typing import Final

REDACTED: Final = "[redacted]"
