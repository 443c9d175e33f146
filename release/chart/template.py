"""Converts an object of an overlay to a template. Pure.

Parsed YAML cannot contain template actions. So the object gets markers, is written as YAML, and
then the markers are replaced with actions.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baoctl.generate.yaml_file import to_yaml
from release.manifests import MODES

_LINE = re.compile(r"^(?P<indent> *)(?P<dash>- )?'@line (?P<name>[a-z-]+)@'(?:: null)?$", re.M)
_VALUE = re.compile(r"'@value (?P<name>[a-z-]+)@'")

SHARDED = "gt (int .Values.shards) 1"
"""Whether the installation has shards."""

VALUES: Mapping[str, str] = {
    "controller": "openbao-operator{{ if " + SHARDED + " }}-shard-{{ $shard }}{{ end }}",
    "image": '{{ include "openbao-operator.image" . | quote }}',
    "namespace": "{{ $.Release.Namespace | quote }}",
    "each-namespace": "{{ . | quote }}",
    "namespaces": '{{ join "," .Values.namespaces | quote }}',
    "replicas": "{{ .Values.replicas }}",
    "provisioner-replicas": "{{ .Values.provisioner.replicas }}",
}
"""The replacements of markers for values."""

LINES: Mapping[str, str] = {
    "pull-policy": """\
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}""",
    "resources": """\
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent INNER }}
{{- end }}""",
    "provisioner-resources": """\
{{- with .Values.provisioner.resources }}
resources:
  {{- toYaml . | nindent INNER }}
{{- end }}""",
    "shard-label": f"""\
{{{{- if {SHARDED} }}}}
openbao.org/shard: {{{{ $shard | quote }}}}
{{{{- end }}}}""",
    "shard": f"""\
{{{{- if {SHARDED} }}}}
- name: SHARD
  value: "{{{{ $shard }}}}/{{{{ .Values.shards }}}}"
{{{{- end }}}}""",
    "environment": """\
{{- with .Values.logLevel }}
- name: LOG_LEVEL
  value: {{ . }}
{{- end }}
{{- with .Values.openbaoImageRepository }}
- name: RELATED_IMAGE_OPENBAO
  value: {{ . | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{- toYaml . | nindent OUTER }}
{{- end }}""",
    "pod": """\
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent INNER }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent INNER }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent INNER }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}""",
    "keep": """\
{{- if .Values.crds.keep }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}""",
}
"""The replacements of markers for lines. OUTER is the indent of the marker, INNER two more."""

_END = "{{- end }}\n"


def value(name: str) -> str:
    """Return the marker of a value."""
    return f"@value {name}@"


def line(name: str) -> str:
    """Return the marker of lines: a key whose value is None, or an entry of a list."""
    return f"@line {name}@"


def text(content: Any, lines: Mapping[str, str] = LINES) -> str:
    """Return an object with markers as a template, without a condition."""
    # Escape texts of the object that look like an action.
    written = to_yaml(content).replace("{{", '{{ "{{" }}')
    written = _LINE.sub(lambda match: _lines(match, lines), written)
    return _VALUE.sub(lambda match: VALUES[match["name"]], written)


def _lines(match: "re.Match[str]", known: Mapping[str, str]) -> str:
    outer = len(match["indent"])
    body = known[match["name"]].replace("OUTER", str(outer)).replace("INNER", str(outer + 2))
    # An action that trims the preceding whitespace needs no indent.
    return "\n".join(
        part if part.startswith("{{-") else f"{match['indent']}{part}" for part in body.splitlines()
    )


def when(condition: str, body: str) -> str:
    """Return a template that is empty unless the condition holds."""
    return f"{{{{- if {condition} }}}}\n{body}{_END}" if condition else body


def in_modes(modes: Sequence[str]) -> str:
    """Return the condition for some modes; "" for all of them."""
    if set(modes) == set(MODES):
        return ""
    return f"has .Values.mode (list {' '.join(f'{chr(34)}{mode}{chr(34)}' for mode in modes)})"


def each_namespace(body: str) -> str:
    """Return a template that is repeated for each namespace of the list."""
    return f"{{{{- range .Values.namespaces }}}}\n---\n{body}{_END}"


def each_shard(body: str) -> str:
    """Return a template that is repeated for each shard; used once without shards."""
    return f"{{{{- range $shard := until (int .Values.shards) }}}}{{{{- with $ }}}}\n{body}" + (
        f"{{{{- end }}}}{_END}"
    )


def replaced(content: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of parsed YAML with each text changed; keys are not changed."""
    if isinstance(content, dict):
        return {name: replaced(item, change) for name, item in content.items()}
    if isinstance(content, list):
        return [replaced(item, change) for item in content]
    return change(content) if isinstance(content, str) else content
