"""Finds the process of a server on this machine, to stop or kill it."""

from pathlib import Path


def server_pid(namespace: str, pod: str) -> int | None:
    """Find the process of the server of a pod by its environment variables."""
    variables = {f"BAO_K8S_POD_NAME={pod}".encode(), f"BAO_K8S_NAMESPACE={namespace}".encode()}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            matches = variables <= set((folder / "environ").read_bytes().split(b"\0"))
            name = (folder / "comm").read_text().strip()
        except OSError:
            continue
        if matches and name == "bao":
            return int(folder.name)
    return None
