"""Text that no file may contain: registry hosts, local paths, bare waivers, and more."""

import io
import re
import tokenize
from collections.abc import Iterator

from tests.house.checkout import PYTHON, Source
from tests.house.rule import Rule, below, everywhere

_PRODUCT = re.compile("open" + "bao", re.IGNORECASE)
_REGISTRIES = re.compile(
    r"\b(docker\.io|ghcr\.io|quay\.io|gcr\.io|registry\.k8s\.io|mcr\.microsoft\.com"
    r"|public\.ecr\.aws|pypi\.org|pythonhosted\.org|proxy\.golang\.org|sum\.golang\.org"
    r"|registry\.npmjs\.org|deb\.debian\.org)\b"
)
_HOST = re.compile(r"\b(?:https?|oci)://([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
# Names that no registry can have, of the license and of XML namespaces, the metadata service of a
# cloud, and addresses by number.
_HARMLESS = re.compile(
    r"(.*\.)?(example\.(com|org|net)|(cluster\.)?local|svc|test|invalid|apache\.org|w3\.org)"
    r"|metadata\.google\.internal|[0-9.]+|0x[0-9a-f]+(\.[0-9]+)*"
)
_MACHINE = re.compile(r"(?<![\w.~$}-])/(?:work|root|home|Users)/\w")
_NOQA = re.compile(r"#\s*(?:ruff:\s*)?noqa\b(?P<rest>.*)")
_CODES = re.compile(r"\s*:\s*[A-Z]+[0-9]+(?:\s*,\s*[A-Z]+[0-9]+)*(?P<reason>.*)")
_LOCKS = ("go.mod", "go.sum")
# Formats with a host name: the registry of an image without one, and types of documents.
_FORMATS = (
    "contracts/image_reference.py",
    "managers/images/cosign.py",
    "tests/contracts/test_image_reference.py",
    "tests/managers/images/",
)


def product(source: Source) -> Iterator[str]:
    """The runtime serves any controller."""
    for number, line in enumerate(source.lines, start=1):
        if _PRODUCT.search(line):
            yield f"line {number} names the product"


def registry_host(source: Source) -> Iterator[str]:
    """The source of packages and images is a setting of the user's machine."""
    if source.path.endswith(_LOCKS) or source.path.startswith(_FORMATS):
        return
    for number, line in enumerate(source.lines, start=1):
        hosts = [host for host in _HOST.findall(line) if not _HARMLESS.fullmatch(host)]
        for host in (*hosts, *_REGISTRIES.findall(line)):
            yield f"line {number} names the host {host}"


def machine_path(source: Source) -> Iterator[str]:
    """A path of one machine does not exist on another."""
    for number, line in enumerate(source.lines, start=1):
        if _MACHINE.search(line):
            yield f"line {number} names a folder of one machine"


def bare_waiver(source: Source) -> Iterator[str]:
    """A waiver names its rule and the reason, on its line."""
    if "noqa" not in source.text:
        return
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        waiver = _NOQA.search(token.string) if token.type == tokenize.COMMENT else None
        if waiver is None:
            continue
        match = _CODES.fullmatch(waiver["rest"])
        if match is None:
            yield f"line {token.start[0]}: noqa without a code"
        elif not re.search(r"[A-Za-z]{3}", match["reason"]):
            yield f"line {token.start[0]}: noqa without a reason"


RULES = (
    Rule(
        "the runtime does not know the product",
        product,
        below("runtime", suffix=""),
        invalid=(
            Source("runtime/client/client.py", f"AGENT = '{'Open' + 'Bao'}'"),
            Source("runtime/notes.md", f"for {'open' + 'bao'}-operator"),
        ),
        valid=(Source("managers/plan.py", "open" + "bao"),),
    ),
    Rule(
        "no file names the host of a registry",
        registry_host,
        everywhere,
        invalid=(
            Source("Dockerfile", "FROM docker" + ".io/library/python:3.11"),
            Source("requirements/dev.txt", "--index-url https://" + "mirror.corp.net/simple"),
            Source("docs/x.md", "from " + "quay" + ".io/x/y"),
        ),
        valid=(
            Source("README.md", "https://example.com/x and https://bao.example.org"),
            Source("contracts/x.py", "https://kubernetes.default.svc.cluster.local"),
            Source("tests/x.py", "https://10.96.0.1:443 https://host/path"),
            Source("contracts/image_reference.py", "HUB = 'docker" + ".io'"),
        ),
    ),
    Rule(
        "no file names a folder of one machine",
        machine_path,
        everywhere,
        invalid=(
            Source("docs/x.md", "see /" + "root/notes"),
            Source("e2e/x.py", "CACHE = '/" + "home/me/.cache'"),
        ),
        valid=(Source("docs/x.md", "see tests/" + "work/x and ~/" + "root/x"),),
    ),
    Rule(
        "a waiver names its reason",
        bare_waiver,
        below(*PYTHON),
        invalid=(
            Source("runtime/x.py", "x = 1  # noqa\n"),
            Source("runtime/x.py", "x = 1  # noqa: S105\n"),
            Source("runtime/x.py", "x = 1  # noqa: S105, S106 -\n"),
            Source("runtime/x.py", "# ruff: noqa\n"),
        ),
        valid=(
            Source("runtime/x.py", "x = 1  # noqa: S105  the name of a volume\n"),
            Source("runtime/x.py", "x = 1  # noqa: S105, S106 - a header's name\n"),
            Source("runtime/x.py", 'x = "# noqa"\n'),
        ),
    ),
)
