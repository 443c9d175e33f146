"""The error of the rig; its message has the next step."""


class RigError(Exception):
    """A dependency of the rig is missing, was refused, or did not start in time."""
