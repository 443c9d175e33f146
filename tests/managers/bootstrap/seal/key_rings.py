"""Clusters whose servers have one key, and two."""

from tests import gen

OLD, NEW = "operator-generated-v1", "two"
RING_OLD, RING_NEW = f"{OLD}=key", f"{NEW}=key-2"
FIRST = gen.secret("x-unseal-key", key_id=OLD)


def world(template: str, *pods: str, rewrap_key: str = "", ready: bool = True) -> gen.World:
    """Return a StatefulSet with the key ring `template`, and pods with those key rings.

    Pod 0 is the leader and has the annotation `rewrapped`.
    """
    pods_with_keys = []
    for number, ring in enumerate(pods):
        pod = gen.pod(number).with_keys(ring, rewrap_key if number == 0 else "")
        pods_with_keys.append(pod.ready(leading=number == 0) if ready or number else pod.unready())
    live = gen.stateful_set().with_replicas(len(pods)).with_keys(template)
    return gen.world().with_set(live).with_pods(*pods_with_keys)
