"""The error of the rig; its message says what to do."""


class RigError(Exception):
    """A dependency of the rig is missing, was refused, or did not start in time."""
