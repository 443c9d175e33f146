"""The processes of a rig's cgroup."""

import os
import shutil
from pathlib import Path

import pytest

from e2e.rig import cgroups


def test_a_cgroup_may_disappear_while_processes_are_listed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kubelet removes the cgroup of a pod that ended at any time."""
    rig = tmp_path / "rig"
    pods = [rig / "pod-a", rig / "pod-b"]
    for folder in (rig, *pods):
        folder.mkdir()
        (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
    read_text = Path.read_text

    def remove_the_other_pod(path: Path) -> str:
        text = read_text(path)
        for pod in pods:
            if path.parent in pods and pod != path.parent:
                shutil.rmtree(pod, ignore_errors=True)
        return text

    monkeypatch.setattr(cgroups, "hierarchies", lambda: [tmp_path])
    monkeypatch.setattr(Path, "read_text", remove_the_other_pod)

    assert [process.pid for process in cgroups.processes("rig")] == [os.getpid()]
    assert len([pod for pod in pods if pod.exists()]) == 1
