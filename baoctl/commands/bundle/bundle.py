"""`baoctl bundle`: writes a support archive of a cluster, unless it contains a secret.

Uses baoctl.commands.bundle.collect to read, contents to decide and archive to write. Called by
baoctl.verbs.bundle.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from baoctl import __version__
from baoctl.commands.api_client import RequestError, Session, run_in_session
from baoctl.commands.bundle.archive import archive_bytes, write_archive
from baoctl.commands.bundle.collect import collect
from baoctl.commands.bundle.contents import (
    MANIFEST,
    Bundle,
    Collected,
    SecretLocation,
    as_json,
    bundle_of,
    manifest,
    redact_bundle,
    secrets_of,
)
from baoctl.commands.cluster.doctor import report_of
from baoctl.commands.cluster.doctor import screen as doctor_screen
from baoctl.commands.cluster.fetch import with_related_objects
from baoctl.commands.cluster.observed import ClusterObservation
from baoctl.commands.cluster.terminal import console, emit, format_structured
from baoctl.commands.cluster.tree import node_of
from baoctl.commands.cluster.tree import screen as tree_screen
from baoctl.commands.cluster.versions import versions_of
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.conditions.message import clean_message
from contracts.rfc3339 import rfc3339
from runtime.clock import Deadline

SECONDS: Final = 180.0
"""Deadline of all reads together."""
SHOWN_MAX: Final = 5
"""Maximum number of secrets in an error."""


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """The options of the verb."""

    cluster: str
    operator_namespace: str
    file: Path | None
    """None: `<namespace>-<cluster>.tar.gz` in the current directory."""
    log_lines: int
    force: bool
    redact: bool


def bundle(options: BundleOptions, access: Access) -> ExitCode:
    """Write the archive, and print a summary. Raises RequestError."""

    async def run(api: Session) -> tuple[str, Bundle, str]:
        target = options.file or Path(f"{api.namespace}-{options.cluster}.tar.gz")
        _check_target(target, force=options.force)
        try:
            async with Deadline(api.clock, SECONDS):
                archive = bundle_of(await _read_contents(api, options))
        except TimeoutError:
            raise RequestError(
                f"the API server took longer than {SECONDS:g} s; try again with fewer --log-lines"
            ) from None
        return str(target), archive, rfc3339(api.clock.now())

    name, archive, created = run_in_session("bundle", run, access)
    archive = without_secrets(archive, redact=options.redact)
    text = manifest(archive, created, __version__)
    target = Path(name)
    content = archive_bytes({**archive.files, MANIFEST: text}, options.cluster)
    try:
        write_archive(target, content, force=options.force)
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        raise RequestError(f"{target}: {error.strerror}; choose another file with -f") from None
    sys.stdout.write(_summary(name, archive, len(content)))
    return ExitCode.GOOD


def without_secrets(archive: Bundle, *, redact: bool) -> Bundle:
    """Return an archive without secrets. Raises RequestError if it still contains any."""
    archive = redact_bundle(archive) if redact else archive
    secrets = secrets_of(archive)
    if not secrets:
        return archive
    step = "report this as a bug" if redact else "remove them, or replace them with --redact"
    text = f"the archive was not written, because it would contain {_secrets_text(secrets)}; {step}"
    raise RequestError(text, ExitCode.REFUSED)


def _secrets_text(secrets: tuple[SecretLocation, ...]) -> str:
    locations = ", ".join(map(str, secrets[:SHOWN_MAX]))
    more = f" and {len(secrets) - SHOWN_MAX} more" if len(secrets) > SHOWN_MAX else ""
    return f"{len(secrets)} secret{'s' * (len(secrets) > 1)}: {locations}{more}"


def _check_target(target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise RequestError(
            f"{target.parent} is not a directory; choose another file with -f", ExitCode.USAGE
        )
    if target.exists() and not force:
        raise _exists(target)


def _exists(target: Path) -> RequestError:
    return RequestError(
        f"{target} exists; choose another file with -f, or use --force", ExitCode.REFUSED
    )


async def _read_contents(api: Session, options: BundleOptions) -> Collected:
    reading = await collect(api, options.cluster, options.operator_namespace, options.log_lines)
    observed = await with_related_objects(api, reading.observed, options.operator_namespace)
    return replace(
        reading.collected, reports=reports_of(observed, reading.collected, reading.server_version)
    )


def reports_of(
    observed: ClusterObservation, collected: Collected, server_version: bytes
) -> Mapping[str, str]:
    """Return the output of doctor, tree and version, and the objects of the operator."""
    report = report_of(observed)
    root = node_of(collected.cluster, (*collected.objects, *collected.secrets), observed.now)
    operator = observed.operator
    versions = versions_of((operator and operator.deployment) or {}, (observed.cluster,))
    doctor, tree = io.StringIO(), io.StringIO()
    for part in doctor_screen(report):
        emit(console(doctor), part)
    emit(console(tree), tree_screen(root))
    return {
        "doctor.json": format_structured(report, "json"),
        "doctor.txt": doctor.getvalue(),
        "operator.json": as_json(
            {
                "deployment": operator and operator.deployment,
                "lease": operator and operator.lease,
                "policies": operator and operator.policies,
            }
        ),
        "tree.txt": tree.getvalue(),
        "versions.json": as_json(
            {
                "client": versions.client,
                "operator": versions.operator,
                "servers": versions.servers,
                "kubernetes": _server_version(server_version),
            }
        ),
    }


def _server_version(body: bytes) -> str:
    try:
        version_info = json.loads(body or b"{}")
    except ValueError:
        return ""
    version = version_info.get("gitVersion") if isinstance(version_info, dict) else ""
    return version if isinstance(version, str) else ""


def _summary(name: str, archive: Bundle, size: int) -> str:
    lines = [f"{name}: {len(archive.files) + 1} files, {size} bytes"]
    if archive.redacted:
        lines.append(
            f"Replaced with [redacted]: {len(archive.redacted)} secrets, listed in {MANIFEST}"
        )
    lines += [f"Not in the archive: {item.part}: {item.reason}" for item in archive.unread]
    return "".join(f"{clean_message(line)}\n" for line in lines)
