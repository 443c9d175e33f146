"""ConfigMaps for tests of the runtime."""

from runtime.types import Object


def config_map(namespace: str, name: str = "web", **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": "web"}},
        "data": data,
    }
