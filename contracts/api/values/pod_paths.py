"""Checks of paths in a server pod that a user sets.

Uses contracts.naming.mount_paths and contracts.api.values.pattern. Called by the rules about audit
devices and the log. A server writes to the path that a user sets, so the path must not be in a
directory with other files of the server.
"""

from contracts.api.values.pattern import Pattern
from contracts.naming import mount_paths

_PLAIN = Pattern(r"^(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+$")
_SYSTEM_FOLDERS = (
    "/bao",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var/run",
    mount_paths.PLUGINS,
    mount_paths.LOGS,
    mount_paths.TMP,
)


def is_below(file: str, folder: str) -> bool:
    """Return whether a path is absolute, below a directory, and without .., empty elements and
    special characters."""
    return _PLAIN.found_in(file) and file.startswith(f"{folder}/")


def is_below_cel(file: str, folder: str) -> str:
    """Return CEL for `is_below`; `folder` is CEL too."""
    return f"({_PLAIN.cel(file)} && {file}.startsWith({folder} + '/'))"


def is_free_folder(folder: str) -> bool:
    """Return whether a volume may be mounted at a directory without hiding files of the server."""
    if not _PLAIN.found_in(folder):
        return False
    return not any(
        folder == taken or folder.startswith(f"{taken}/") or taken.startswith(f"{folder}/")
        for taken in _SYSTEM_FOLDERS
    )


def is_free_folder_cel(folder: str) -> str:
    """Return CEL for `is_free_folder`."""
    return (
        f"{_PLAIN.cel(folder)} && !{list(_SYSTEM_FOLDERS)}.exists(taken, {folder} == taken || "
        f"{folder}.startsWith(taken + '/') || taken.startsWith({folder} + '/'))"
    )
