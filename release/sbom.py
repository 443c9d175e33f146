"""The SBOM of the image, in CycloneDX format. Runs cyclonedx-py. Called by release.main."""

from pathlib import Path

import orjson

from release.cli_archive import Tools

FILE = "sbom.cdx.json"
_LOCK = Path("requirements") / "image.txt"


def sbom(root: Path, version: str, tools: Tools, target: Path) -> None:
    """Write the SBOM: all locked packages with their hashes, and the release as the root."""
    options = ["--output-reproducible", "--pyproject", str(root / "pyproject.toml")]
    options += ["--output-format", "JSON", "--output-file", str(target)]
    tools.run("cyclonedx-py", "requirements", *options, root / _LOCK)
    target.write_bytes(with_version(target.read_bytes(), version))


def with_version(document: bytes, version: str) -> bytes:
    """Add the version of the release, which pyproject.toml does not contain."""
    content = orjson.loads(document)
    content["metadata"]["component"]["version"] = version
    return orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n"
