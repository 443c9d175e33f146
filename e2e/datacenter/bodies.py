"""Manifests of shared services whose containers use the operator image, which has Python."""

from typing import Any

from e2e.harness.manifests import VERSION, key_value_engine, self_init
from e2e.rig.images import openbao_reference
from runtime.types import Object

# Serves /healthz once the vault has responded over trusted TLS; logs its configuration file.
_SHIPPER = """
import http.server, os, signal, ssl, time, urllib.request
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
context = ssl.create_default_context(cafile=os.environ["BAO_CACERT"])
print("config:", open("/etc/shipper/shipper.conf").read().strip(), flush=True)
while True:
    try:
        url = os.environ["BAO_ADDR"] + "/v1/sys/health"
        print("vault:", urllib.request.urlopen(url, context=context, timeout=2).status, flush=True)
        break
    except OSError as error:
        print("vault:", error, flush=True)
        time.sleep(0.5)
class Healthz(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("", 8080), Healthz).serve_forever()
"""
# PID 1 of a container gets only signals that it handles.
SLEEP = """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    signal.pause()
"""


def part(image: str, code: str, **more: Any) -> Object:
    """Return a Main container that runs Python code."""
    return {"name": "main", "image": image, "command": ["python3", "-c"], "args": [code], **more}


def sleeper(image: str, name: str, **more: Any) -> Object:
    """Return a service that does nothing until it is stopped."""
    return {"name": name, "services": [part(image, SLEEP)], **more}


def shipper(image: str, level: str = "info") -> Object:
    """Return a DaemonSet that needs the vault of its datacenter."""
    main = part(
        image,
        _SHIPPER,
        env=[{"name": "LOG_LEVEL", "value": level}],
        ports=[{"name": "http", "port": 8080}],
        configFiles=[{"path": "/etc/shipper/shipper.conf", "content": "flush 5\n"}],
        volumes=[{"name": "spool", "mountPath": "/var/spool/shipper"}],
        healthCheck={"httpPath": "/healthz", "port": 8080, "periodSeconds": 1},
    )
    rotate = {**part(image, SLEEP), "name": "rotate", "role": "Sidecar"}
    fetch = {**part(image, "print('rules')"), "name": "fetch", "role": "Init"}
    return {
        "name": "log-shipper",
        "kind": "DaemonSet",
        "dependsOn": ["openbao:ready"],
        "services": [main, rotate, fetch],
        "labels": {"team": "platform"},
    }


def vault() -> Object:
    """Return an OpenBaoCluster of one server with deletionPolicy DeleteAll."""
    return {
        "name": "vault",
        "kind": "OpenBaoCluster",
        "openbao": {
            "version": VERSION,
            "image": openbao_reference(VERSION),
            "profile": "Development",
            "replicas": 1,
            "storage": {"size": "64Mi"},
            "deletionPolicy": "DeleteAll",
            "selfInit": self_init(key_value_engine()),
        },
    }
