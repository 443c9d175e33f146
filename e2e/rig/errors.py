"""The one error of the rig, raised with a sentence that a person can act on."""


class RigError(Exception):
    """Something the rig needs is missing, refused or did not come up in time."""
