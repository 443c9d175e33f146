"""The attacks in the namespace of the hostile tenant: Secrets, objects, and fake servers.

Called by the scenario, and by e2e.churn for the large clusters. Admission policies would refuse
some of the objects; they are not installed.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.harness.kubernetes import Api, ApiError
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import self_init
from e2e.rig import Rig, builds
from e2e.rig.images import BinaryImage, archive
from e2e.rig.versions import HOSTILE_SERVER, OPENBAO
from runtime.builtin_kinds import SECRET, STATEFUL_SET
from runtime.types import Object, Resource
from tests.gen import key_files

IMAGE = f"localhost/openbao-hostile:{OPENBAO}"
# The behaviors of e2e/tools/hostile, and the number of clusters of each. A silent cluster has two
# servers: its leader is unknown, and such clusters are polled most often.
SERVERS: Mapping[str, int] = {"silent": 10, "bomb": 2, "flood": 2, "nested": 2}
LARGE = 100
"""Clusters about as large as the API server accepts: etcd's limit of a request is 1.5 MiB."""
LARGE_BYTES = 1_400_000
REPLICAS = 100_000
SECRET_BYTES = 700_000

# The default quota allows 20 clusters; the operator must cope with more.
QUOTA = {"hard": {"pods": "50", "count/openbaoclusters.openbao.org": "500"}}
# Less than the defaults of a tenant: two cores have no room for that many default pods.
RESOURCES = {
    "requests": {"cpu": "1m", "memory": "16Mi"},
    "limits": {"cpu": "200m", "memory": "128Mi"},
}

Made = tuple[Resource, Object]


def load_image(rig: Rig) -> None:
    """Load the image of the hostile servers on the node."""
    (binary,) = builds.build(rig.cache, [HOSTILE_SERVER], rig.progress)
    # The user of the real image, which may read the certificate.
    rig.load_image(archive(rig.cache, BinaryImage(IMAGE, binary, "/bin/bao", "100:1000")))


def objects(namespace: str) -> Iterator[Made]:
    """Yield all objects, the most dangerous first."""
    yield from _seals(namespace)
    yield from _foreign(namespace)
    yield from _servers(namespace)
    yield from large_clusters(namespace, LARGE)


def begin(api: Api, made: Iterable[Made]) -> tuple[int, list[str]]:
    """Create the objects; return how many, and the errors of the API server for the others."""
    count, refusals = 0, []
    for resource, body in made:
        try:
            api.create(resource, body)
            count += 1
        except ApiError as error:
            refusals.append(str(error)[:300])
    return count, refusals


def _seals(namespace: str) -> Iterator[Made]:
    """Clusters whose seal names a Secret that is dangerous to read."""
    for name, files in _files().items():
        data = {key: base64.b64encode(content).decode() for key, content in files.items()}
        metadata = {"name": f"{name}-seal", "namespace": namespace}
        yield SECRET, {"metadata": metadata, "data": data}
        transit = {"address": "https://a.test:8200", "keyName": "k", "mountPath": "transit/"}
        unseal = {
            "type": "transit",
            "transit": transit,
            "credentialsSecretRef": {"name": f"{name}-seal"},
        }
        yield CLUSTERS, manifest(namespace, name, unseal=unseal)


def _files() -> dict[str, dict[str, bytes]]:
    """Contents of Secrets, by the name of the cluster that reads each."""
    large = key_files.key_pem(key_files.rsa_key(14_336))
    longest = key_files.key_pem(key_files.rsa_key(8192))
    deep = key_files.deep_json(50_000)
    return {
        "seal-long-key": {"VAULT_CLIENT_KEY": large, "BAO_CLIENT_KEY": large},
        "seal-many-keys": {f"key-{n}": longest for n in range(SECRET_BYTES // len(longest))},
        "seal-many-blocks": {"BAO_CLIENT_KEY": longest * (SECRET_BYTES // len(longest))},
        "seal-deep": {"credentials.json": deep, "BAO_TOKEN": deep},
        "seal-dsa": {"BAO_CLIENT_KEY": key_files.dsa_pem(8192)},
        "seal-dh": {"BAO_CLIENT_KEY": key_files.diffie_hellman_pem(8192)},
    }


def _foreign(namespace: str) -> Iterator[Made]:
    """A cluster, and StatefulSets with the names of its pools and very many replicas."""
    yield CLUSTERS, manifest(namespace, "foreign", image="localhost/no-such:1")
    for name in (names.stateful_set("foreign"), names.read_stateful_set("foreign")):
        marks = {**labels.base("foreign"), "app": name}
        template: dict[str, Any] = {
            "metadata": {"labels": {"app": name}},
            "spec": {
                "containers": [{"name": "c", "image": "localhost/no-such:1"}],
                "nodeSelector": {"no-such-label": "x"},
            },
        }
        spec = {
            "replicas": REPLICAS,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        }
        yield (
            STATEFUL_SET,
            {"metadata": {"name": name, "namespace": namespace, "labels": marks}, "spec": spec},
        )


def _servers(namespace: str) -> Iterator[Made]:
    """Clusters of the hostile image; the behavior follows from the name."""
    for behavior, count in SERVERS.items():
        for number in range(count):
            replicas = 2 if behavior == "silent" else 1
            yield (
                CLUSTERS,
                manifest(
                    namespace,
                    f"{behavior}-{number}",
                    image=IMAGE,
                    replicas=replicas,
                    resources=RESOURCES,
                ),
            )


def large_clusters(namespace: str, count: int) -> Iterator[Made]:
    """Yield clusters of almost the largest size that the API server accepts."""
    for number in range(count):
        request = {
            "name": "large",
            "operation": "update",
            "path": "sys/policies/acl/large",
            "data": {"policy": "x" * LARGE_BYTES},
        }
        yield CLUSTERS, manifest(namespace, f"large-{number}", selfInit=self_init(request))
