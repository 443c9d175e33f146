"""Sanitizes the message of a condition, and other text of an object for a terminal.

Pure. Imports nothing of the API: verbs of `baoctl` start without its models.
"""

MESSAGE_MAX = 1024
_ELLIPSIS = "..."


def clean_message(text: str) -> str:
    """Return the text on one line, control characters escaped, at most MESSAGE_MAX characters."""
    escaped = "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in text
    )
    if len(escaped) <= MESSAGE_MAX:
        return escaped
    return escaped[: MESSAGE_MAX - len(_ELLIPSIS)] + _ELLIPSIS
