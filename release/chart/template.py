"""Text of a template from an object of an overlay. Pure.

Actions of a template cannot stand in parsed YAML. The object gets marks in their places, is written
as YAML, and the marks are replaced afterwards.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from release.manifests import MODES

_LINE = re.compile(r"^(?P<indent> *)(?P<dash>- )?'@line (?P<name>[a-z-]+)@'(?:: null)?$", re.M)
_VALUE = re.compile(r"'@value (?P<name>[a-z-]+)@'")

SHARDED = "gt (int .Values.shards) 1"
"""Whether the clusters are divided."""

VALUES: Mapping[str, str] = {
    "controller": "openbao-operator{{ if " + SHARDED + " }}-shard-{{ $shard }}{{ end }}",
    "image": '{{ include "openbao-operator.image" . | quote }}',
    "namespace": "{{ $.Release.Namespace | quote }}",
    "each-namespace": "{{ . | quote }}",
    "namespaces": '{{ join "," .Values.namespaces | quote }}',
    "replicas": "{{ .Values.replicas }}",
    "provisioner-replicas": "{{ .Values.provisioner.replicas }}",
}
"""What stands for a value."""

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
"""What stands for whole lines. OUTER is the indent of the mark, INNER two more."""

_END = "{{- end }}\n"


class _Dumper(yaml.CSafeDumper):
    """Writes equal parts in full."""

    def ignore_aliases(self, data: object) -> bool:
        """Never use an alias."""
        return True


def value(name: str) -> str:
    """Return the mark of a value."""
    return f"@value {name}@"


def line(name: str) -> str:
    """Return the mark of lines: a key whose value is None, or an entry of a list."""
    return f"@line {name}@"


def text(content: Any, lines: Mapping[str, str] = LINES) -> str:
    """Return an object with marks as text of a template, without a condition."""
    written = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    # What looks like an action in the object is text.
    written = written.replace("{{", '{{ "{{" }}')
    written = _LINE.sub(lambda found: _lines(found, lines), written)
    return _VALUE.sub(lambda found: VALUES[found["name"]], written)


def _lines(found: "re.Match[str]", known: Mapping[str, str]) -> str:
    outer = len(found["indent"])
    body = known[found["name"]].replace("OUTER", str(outer)).replace("INNER", str(outer + 2))
    # An action that takes the line break before it away may stand at the beginning of its line.
    return "\n".join(
        part if part.startswith("{{-") else f"{found['indent']}{part}" for part in body.splitlines()
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
    """Return a template that is repeated for each shard; once without shards."""
    return f"{{{{- range $shard := until (int .Values.shards) }}}}{{{{- with $ }}}}\n{body}" + (
        f"{{{{- end }}}}{_END}"
    )


def replaced(content: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of parsed YAML with each text changed; keys stay."""
    if isinstance(content, dict):
        return {name: replaced(one, change) for name, one in content.items()}
    if isinstance(content, list):
        return [replaced(one, change) for one in content]
    return change(content) if isinstance(content, str) else content
