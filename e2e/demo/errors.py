"""The error of the demo."""


class DemoError(Exception):
    """A step of the demo failed; the message is for the user."""
