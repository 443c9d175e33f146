"""Text of templates from objects."""

from release.chart.template import each_namespace, in_modes, line, text, value, when
from release.manifests import MODES


def test_text_that_looks_like_an_action_is_escaped() -> None:
    assert text({"format": "{{pod}}"}) == "format: '{{ \"{{\" }}pod}}'\n"


def test_a_value_placeholder_becomes_an_action() -> None:
    assert text({"replicas": value("replicas")}) == "replicas: {{ .Values.replicas }}\n"


def test_a_block_placeholder_keeps_its_indentation() -> None:
    assert text({"pod": {line("resources"): None, "name": "x"}}) == (
        "pod:\n"
        "{{- with .Values.resources }}\n"
        "  resources:\n"
        "    {{- toYaml . | nindent 4 }}\n"
        "{{- end }}\n"
        "  name: x\n"
    )


def test_a_placeholder_in_a_list_becomes_list_items() -> None:
    lines = {"more": "{{- if .x }}\n- b\n{{- end }}"}
    assert text({"list": ["a", line("more")]}, lines) == (
        "list:\n- a\n{{- if .x }}\n- b\n{{- end }}\n"
    )


def test_all_modes_need_no_condition() -> None:
    assert when(in_modes(MODES), "a: b\n") == "a: b\n"
    assert when(in_modes(["multi-tenant"]), "a: b\n") == (
        '{{- if has .Values.mode (list "multi-tenant") }}\na: b\n{{- end }}\n'
    )


def test_each_namespace_gets_a_document() -> None:
    assert each_namespace("a: {{ . }}\n") == (
        "{{- range .Values.namespaces }}\n---\na: {{ . }}\n{{- end }}\n"
    )
