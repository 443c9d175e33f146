"""What ends the demo before its end."""


class DemoError(Exception):
    """Something that the demo promises did not happen; the text is for a person."""
