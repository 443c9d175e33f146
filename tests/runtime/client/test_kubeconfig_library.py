"""The kubeconfig loader is imported without the API models, and the rest of the library works."""

import subprocess
import sys

import pytest

LOADER = "from runtime.client.kubeconfig_library import import_kubeconfig_loader as load; "


def run(program: str) -> str:
    """Run a program in its own interpreter, as imports last for a whole process."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_model_of_the_api_and_no_other_http_client_is_imported() -> None:
    program = (
        f"import sys; {LOADER}load(); load(); "
        "print(sorted(m for m in sys.modules if m.startswith(('kubernetes_asyncio', 'urllib3'))))"
    )
    expected = [
        "kubernetes_asyncio.config",
        "kubernetes_asyncio.config.config_exception",
        "kubernetes_asyncio.config.dateutil",
        "kubernetes_asyncio.config.exec_provider",
        "kubernetes_asyncio.config.google_auth",
        "kubernetes_asyncio.config.incluster_config",
        "kubernetes_asyncio.config.kube_config",
        "kubernetes_asyncio.config.openid",
    ]
    assert run(program) == str(expected)


@pytest.mark.parametrize(
    "order",
    [
        f"{LOADER}load(); import kubernetes_asyncio as k",
        f"import kubernetes_asyncio as k; {LOADER}load()",
        f"import kubernetes_asyncio.client; {LOADER}load(); import kubernetes_asyncio as k",
    ],
    ids=["loader first", "library first", "client first"],
)
def test_the_whole_library_can_be_imported_too(order: str) -> None:
    program = (
        f"{order}; from kubernetes_asyncio.client.configuration import Configuration as C; "
        "from kubernetes_asyncio.config import load_kube_config; "
        "assert k.client.Configuration is C; assert k.config.load_kube_config is load_kube_config; "
        "print(k.client.CoreV1Api.__name__, k.client.V1Pod.__name__)"
    )
    assert run(program) == "CoreV1Api V1Pod"


def test_without_the_library_it_names_the_package() -> None:
    program = (
        f"import sys; {LOADER}sys.modules['kubernetes_asyncio'] = None\n"
        "try:\n    load()\nexcept ModuleNotFoundError as error:\n    print(error.name)"
    )
    assert run(program).startswith("kubernetes_asyncio")
