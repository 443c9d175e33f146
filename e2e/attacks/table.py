"""The list of attacks and their outcomes: T01 to T22. The command

    python -m e2e.attacks.table

prints the rows of docs/security.md. Pure; tests check that the page has every row and that the
named tests exist.
"""

import sys
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["rejected twice", "not possible", "no effect"]
TABLE = "e2e/attacks/test_attacks.py"
FUZZ = "tests/integration/test_attack_specs.py"
RUNS = "tests/contracts/api/test_attack_runs.py"
BY_ADMISSION = f"{TABLE}::test_attack_every_forbidden_spec_is_refused_by_admission"
BY_CODE = f"{TABLE}::test_attack_every_forbidden_spec_is_refused_by_the_operator_alone"


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: what is tried, what prevents it before the operator and in it, and the tests.

    `rejected twice`: by the API server and, without its rules, by the operator. `not possible`: no
    field, right or name exists that would allow it. `no effect`: the object is accepted, and the
    attack changes nothing.
    """

    id: str
    attempt: str
    outcome: Outcome
    before: str
    code: str
    tests: tuple[str, ...] = ()


ATTACKS: tuple[Attack, ...] = (
    Attack(
        "T01",
        "Names with path traversal, too long or in use: cluster, paths, object keys, files",
        "rejected twice",
        "CRD: pattern and length of every text; rules cluster-name, request-path, audit-name, "
        "backup-prefix, backup-bucket, gateway-path",
        "the same patterns and rules; the names of objects depend only on metadata.name",
        (
            "tests/managers/cluster/test_attack_names.py::"
            "test_attack_t01_no_text_of_a_spec_becomes_another_name_or_path",
            f"{FUZZ}::test_attack_c18_schema_and_operator_refuse_the_same_texts",
        ),
    ),
    Attack(
        "T02",
        "HCL in a text: quotes, line breaks, templates, heredocs, NUL",
        "rejected twice",
        "CRD: patterns of names and paths; free text is accepted and rendered as text",
        "the same patterns; one function escapes all text, and the rule server-text rejects text "
        "that HCL cannot express",
        (
            "tests/integration/test_hostile_text.py::"
            "test_attack_t02_a_thousand_hostile_texts_stay_where_they_were_put",
        ),
    ),
    Attack(
        "T03",
        "Override of listener, storage, seal or audit through free-form maps",
        "rejected twice",
        "CRD: listener-tls, kms-config, request-name-reserved, request-headers-token; policy "
        "validate-openbaocluster-free-data: spec.audit[].options",
        "the same rules; unknown keys are not rendered",
        (
            "tests/contracts/hcl/test_attacks.py::"
            "test_attack_t03_reserved_keys_among_audit_options_are_refused",
        ),
    ),
    Attack(
        "T04",
        "An object of another namespace: Secret, cluster, Gateway",
        "not possible",
        "no field for a namespace (strict validation rejects it); RBAC denies requests there; "
        "a Gateway restricts routes by allowedRoutes",
        "all reads and writes are in the namespace of the cluster",
        (
            "tests/managers/cluster/test_attack_names.py::"
            "test_attack_t04_nothing_of_another_namespace_can_be_named",
            "tests/managers/networking/test_exposure.py::"
            "test_attack_t04_nothing_is_written_to_the_namespace_of_the_gateway",
            f"{RUNS}::test_attack_t04_no_field_names_another_namespace",
        ),
    ),
    Attack(
        "T05",
        "A reference to a Secret of the operator: unseal key, root token, CAs, recovery key shares",
        "rejected twice",
        "CRD: a rule for each reference (suffixes of the operator's Secrets); policy: values "
        "that self-init reads from files and variables",
        "the same rules, at every depth of the data",
        (
            "tests/contracts/api/test_secret_references.py::"
            "test_attack_t05_no_reference_names_a_secret_of_the_operator",
            f"{RUNS}::test_attack_t05_no_reference_of_a_restore_names_a_secret_of_the_operator",
        ),
    ),
    Attack(
        "T06",
        "A privileged ServiceAccount for pods",
        "rejected twice",
        "CRD: not default and not one of a Job; policy validate-openbaocluster: requires "
        "the verb use on the named ServiceAccount",
        "the same rules, and never the ServiceAccount of the operator",
        (
            "tests/managers/identity/test_account.py::"
            "test_attack_t06_the_operators_own_account_is_refused",
        ),
    ),
    Attack(
        "T07",
        "Variables, volumes, labels or privileges through the pod template",
        "rejected twice",
        "CRD: no such fields; variables by name (plugin-variable, pkcs11-variable), our keys "
        "in labels and annotations; Pod Security checks securityContext unless the profile is "
        "Hardened",
        "the same rules; our keys are dropped",
        (
            "tests/managers/workload/objects/test_scheduling.py::"
            "test_attack_t07_no_field_bypasses_the_template",
        ),
    ),
    Attack(
        "T08",
        "Shell commands in values",
        "rejected twice",
        "CRD: names of programs and requests are plain words",
        "the same rules; no shell, and no text of a spec in a command line",
        (
            "tests/contracts/hcl/test_attacks.py::"
            "test_attack_t08_text_of_the_spec_is_in_no_command_line",
        ),
    ),
    Attack(
        "T09",
        "URLs with a loopback or link-local address, or that of a cloud metadata service",
        "rejected twice",
        "CRD: the same patterns for all eleven URL fields",
        "the same patterns; the operator (image registries) and the Jobs (stores) check every "
        "resolved address before they connect",
        (
            f"{FUZZ}::test_attack_t09_every_url_is_refused_twice_in_every_field",
            "tests/managers/images/test_attack_hosts.py::"
            "test_attack_t09_no_host_of_the_table_is_contacted",
            "tests/managers/images/test_attack_hosts.py::"
            "test_attack_t09_a_name_that_resolves_to_a_metadata_service_is_not_contacted",
            f"{RUNS}::test_attack_t09_a_restore_refuses_every_url_of_the_table",
            "tests/baoctl/jobs/store/test_egress_proxy.py::test_every_address_of_a_name_is_checked",
            "tests/baoctl/jobs/store/test_egress_proxy.py::test_a_name_is_resolved_for_each_connection",
        ),
    ),
    Attack(
        "T10",
        "Size: lists, texts, depth, regular expressions with backtracking, schedules",
        "rejected twice",
        "CRD: a limit for every list, map and text; a minimum of minutes between snapshots",
        "the same limits, and limits for depth, number of values and every schedule; validation "
        "takes at most 200 ms and 20 MB; files in Secrets are checked before a library parses them",
        (
            "tests/contracts/api/test_attack_size.py::"
            "test_attack_t10_ten_thousand_of_anything_are_refused",
            f"{FUZZ}::test_attack_t10_no_forbidden_spec_costs_the_operator_much",
            "tests/managers/cluster/test_attack_secrets.py::"
            "test_attack_t10_a_file_of_a_seal_is_refused_and_named",
        ),
    ),
    Attack(
        "T11",
        "Objects with names that the operator needs",
        "rejected twice",
        "policy lock-managed-resource-mutations: only the operator writes objects with our labels",
        "condition Conflict, reason ForeignObject; the object is not changed",
        (
            f"{TABLE}::test_attack_t11_an_object_of_another_owner_is_not_changed",
            "tests/managers/cluster/test_attack_names.py::"
            "test_attack_t11_an_object_of_another_owner_is_never_adopted",
        ),
    ),
    Attack(
        "T12",
        "Forged labels and annotations: maintenance, owner, force",
        "rejected twice",
        "CRD: our keys in every map of metadata; policy: annotations on our objects; accepted on "
        "the cluster itself",
        "annotations on a cluster are not read; forged annotations on objects are reverted",
        (
            f"{TABLE}::test_attack_t12_t13_forged_annotations_and_status_have_no_effect",
            "tests/managers/cluster/test_day_two.py::"
            "test_attack_t12_marks_on_a_cluster_change_nothing",
        ),
    ),
    Attack(
        "T13",
        "Writing or deleting the status",
        "rejected twice",
        "RBAC: no user role includes openbaoclusters/status",
        "the status is observed again; no decision depends on it",
        (
            "tests/managers/cluster/test_attack_status.py::"
            "test_attack_t13_a_whole_corrupt_status_is_corrected",
        ),
    ),
    Attack(
        "T14",
        "A fake server that captures the operator's login for another cluster",
        "rejected twice",
        "a token for one cluster, valid for ten minutes; its CA comes from the operator's own "
        "Secret",
        "the other cluster rejects the audience of the token",
        (
            "tests/integration/test_attack_t14.py::"
            "test_attack_t14_a_captured_login_opens_no_other_cluster",
        ),
    ),
    Attack(
        "T15",
        "A restore into the cluster of another user",
        "rejected twice",
        "no field for a namespace; policy validate-openbaorestore: the verb restore on the "
        "named cluster, also to resolve a restore with an unknown outcome",
        "the cluster is looked up in the namespace of the restore; the server itself rejects "
        "a snapshot of another seal key; a restore whose spec was changed does not run",
        (
            "tests/integration/admission/test_runs.py::"
            "test_attack_t15_writing_a_restore_is_not_enough",
            f"{RUNS}::test_attack_t04_no_field_names_another_namespace",
        ),
    ),
    Attack(
        "T16",
        "Snapshots of other clusters by crafted prefixes",
        "rejected twice",
        "CRD: backup-prefix, backup-bucket, restore-prefix, restore-bucket, restore-key",
        "the same rules; keys are built from parts and parsed as a whole, and the prefix of a "
        "list ends with a slash",
        (
            f"{RUNS}::test_attack_t16_no_key_and_no_prefix_traverses_directories",
            f"{RUNS}::test_attack_t16_hostile_text_is_not_a_valid_key_or_name",
            "tests/contracts/naming/test_snapshot_keys.py::"
            "test_a_list_prefix_excludes_clusters_with_a_longer_name",
        ),
    ),
    Attack(
        "T17",
        "Line breaks and colors in logs, events and status",
        "no effect",
        "free text is accepted",
        "shown as one printable line of limited length",
        (
            "tests/managers/cluster/test_attack_text.py::"
            "test_attack_t17_a_log_line_is_one_line_of_json",
        ),
    ),
    Attack(
        "T18",
        "An unbounded number of metric series",
        "no effect",
        "quotas limit the number of clusters",
        "labels are namespace, name and constants",
        (
            "tests/managers/cluster/test_metrics.py::"
            "test_attack_t18_a_thousand_clusters_make_a_bounded_number_of_series",
        ),
    ),
    Attack(
        "T19",
        "Invalid versions and images",
        "rejected twice",
        "CRD: pattern of versions, grammar of references in every field with an image",
        "the same; no version below the running one; no tag that differs from the version",
        (
            "tests/managers/cluster/test_attack_versions.py::"
            "test_attack_t19_a_made_up_image_is_refused",
        ),
    ),
    Attack(
        "T20",
        "A namespace that cannot be deleted",
        "no effect",
        "deletion is accepted",
        "the finalizer is removed after a bounded time, even if servers do not respond",
        (
            "e2e/delete_policies/test_policies.py::"
            "test_attack_t20_a_hanging_server_blocks_neither_cluster_nor_namespace",
        ),
    ),
    Attack(
        "T21",
        "Files that overwrite data, keys or programs: audit, logs, plugins, volumes",
        "rejected twice",
        "CRD: audit-file-place, log-place, audit-mount-place, plugin-file-name, acme-ca-root; "
        "policy: file_path among audit options",
        "the same rules",
        (
            "tests/contracts/hcl/test_attacks.py::"
            "test_attack_t21_an_audit_file_is_written_to_its_own_volume_only",
        ),
    ),
    Attack(
        "T22",
        "A tenant for the namespace of another user",
        "rejected twice",
        "policy validate-openbaotenant: a tenant outside the operator's namespace may only request "
        "its own namespace",
        "condition Provisioned=False, reason SecurityViolation; nothing is written there",
        (
            "tests/integration/admission/test_tenants.py::"
            "test_attack_t22_a_tenant_reaches_its_own_namespace_only",
        ),
    ),
)


def rows() -> list[str]:
    """The rows of the table in docs/security.md."""
    return [
        f"| {attack.id} | {attack.attempt} | {attack.outcome} | {attack.before} | "
        f"{attack.code or '-'} | "
        f"{', '.join(f'`{test}`' for test in attack.tests)} |"
        for attack in ATTACKS
    ]


def as_text() -> str:
    """One line per attack, for a terminal."""
    return "\n".join(f"{attack.id}  {attack.outcome:<16}{attack.attempt}" for attack in ATTACKS)


if __name__ == "__main__":
    sys.stdout.write("\n".join(rows()) + "\n")
