"""Builds the files of a release: `python -m release`.

May use e2e.rig for the pinned kubectl; not part of the installed command. Called by `make release`.
"""
