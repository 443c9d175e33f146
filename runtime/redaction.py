"""What stands in the place of a secret, in logs, in texts of values, and in archives.

A module of its own: who prints it need not load the logs. Called by runtime.process.logs,
managers.context.sensitive and baoctl.commands.bundle.
"""

from typing import Final

REDACTED: Final = "[redacted]"
