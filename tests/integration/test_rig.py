"""The errors of the rig, on a real API server."""

import pytest

from e2e.rig import Rig, RigError


def test_a_request_without_an_end_is_reported_with_the_stacks_of_both_sides(
    control_plane: Rig,
) -> None:
    control_plane.pause("etcd")
    try:
        with pytest.raises(RigError, match="does not end in 2 s") as caught:
            control_plane.kubectl("create", "namespace", "itest-endless", timeout=2.0)
    finally:
        control_plane.resume("etcd")
    kubectl, apiserver = str(caught.value).split("kube-apiserver:")
    assert "cmd/create" in kubectl
    assert "etcd3.(*store).Create" in apiserver
