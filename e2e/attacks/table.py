"""The list of attacks and the result of each: T01 to T22. Printed by

    python -m e2e.attacks.table

as the rows of docs/security.md. Pure; tests say that every row is there and that its tests exist.
"""

import sys
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["refused twice", "no way in", "harmless"]
TABLE = "e2e/attacks/test_attacks.py"
FUZZ = "tests/integration/test_attack_specs.py"
RUNS = "tests/contracts/api/test_attack_runs.py"
BY_ADMISSION = f"{TABLE}::test_attack_every_forbidden_spec_is_refused_by_admission"
BY_CODE = f"{TABLE}::test_attack_every_forbidden_spec_is_refused_by_the_operator_alone"


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: what is tried, what stops it before the operator and in it, and the proof.

    `refused twice`: by the API server and, without its rules, by the operator. `no way in`: there
    is no field, right or name by which it could be asked for. `harmless`: it may be written, and
    nothing comes of it.
    """

    id: str
    tried: str
    outcome: Outcome
    before: str
    code: str
    tests: tuple[str, ...] = ()


ATTACKS: tuple[Attack, ...] = (
    Attack(
        "T01",
        "Names that climb, are too long or are taken: cluster, paths, object keys, files",
        "refused twice",
        "CRD: pattern and length of every text; rules cluster-name, request-path, audit-name, "
        "backup-prefix, backup-bucket, gateway-path",
        "the same patterns and rules; names of objects come from metadata.name alone",
        (
            "tests/managers/cluster/test_attack_names.py::"
            "test_attack_t01_no_text_of_a_spec_becomes_another_name_or_path",
            f"{FUZZ}::test_attack_c18_a_text_that_one_refuses_is_refused_by_the_other",
        ),
    ),
    Attack(
        "T02",
        "HCL in a text: quotes, lines, templates, heredocs, NUL",
        "refused twice",
        "CRD: pattern of names and paths; free text is not refused, it stays text",
        "the same patterns; one escaper for all text, rule server-text for what cannot be written",
        (
            "tests/integration/test_hostile_text.py::"
            "test_attack_t02_a_thousand_hostile_texts_stay_where_they_were_put",
        ),
    ),
    Attack(
        "T03",
        "Listener, storage, seal or audit overridden through free maps",
        "refused twice",
        "CRD: listener-tls, kms-config, request-name-reserved, request-headers-token; policy "
        "validate-openbaocluster-free-data: spec.audit[].options",
        "the same rules; unknown keys reach no document",
        (
            "tests/contracts/hcl/test_attacks.py::"
            "test_attack_t03_reserved_keys_among_audit_options_are_refused",
        ),
    ),
    Attack(
        "T04",
        "An object of another namespace: Secret, cluster, Gateway",
        "no way in",
        "no field for a namespace (strict validation names it); RBAC refuses requests there; a "
        "Gateway decides by allowedRoutes",
        "all reads and writes are in the namespace of the cluster",
        (
            "tests/managers/cluster/test_attack_names.py::"
            "test_attack_t04_nothing_of_another_namespace_can_be_named",
            "tests/managers/networking/test_exposure.py::"
            "test_attack_t04_nothing_is_written_into_the_namespace_of_the_gateway",
            f"{RUNS}::test_attack_t04_no_field_names_another_namespace",
        ),
    ),
    Attack(
        "T05",
        "Keys of the operator by a reference: unseal key, root token, authorities, shares",
        "refused twice",
        "CRD: a rule for each reference (suffixes of the operator's Secrets); policy for values "
        "that self-init computes from files and variables",
        "the same rules, at every depth of the data",
        (
            "tests/contracts/api/test_secret_references.py::"
            "test_attack_t05_no_reference_names_a_secret_of_the_operator",
            f"{RUNS}::test_attack_t05_no_reference_of_a_restore_names_a_secret_of_the_operator",
        ),
    ),
    Attack(
        "T06",
        "A powerful ServiceAccount for pods",
        "refused twice",
        "CRD: default and the accounts of jobs; policy validate-openbaocluster: the verb use on "
        "the account that is named",
        "the same rules, and the operator's own account",
        (
            "tests/managers/identity/test_account.py::"
            "test_attack_t06_the_operators_own_account_is_refused",
        ),
    ),
    Attack(
        "T07",
        "Variables, volumes, labels or privileges through the pod template",
        "refused twice",
        "CRD: no such fields; variables by name (plugin-variable, pkcs11-variable), keys of ours "
        "in labels and annotations; Pod Security decides about securityContext outside of Hardened",
        "the same rules; keys of ours are dropped",
        (
            "tests/managers/workload/objects/test_scheduling.py::"
            "test_attack_t07_there_is_no_field_for_a_way_around_the_template",
        ),
    ),
    Attack(
        "T08",
        "Commands in values",
        "refused twice",
        "CRD: names of programs and requests are plain words",
        "the same rules; no shell, and no text of a spec in a command line",
        (
            "tests/contracts/hcl/test_attacks.py::"
            "test_attack_t08_text_of_the_spec_is_in_no_command_line",
        ),
    ),
    Attack(
        "T09",
        "Addresses of the pod, its link, or a cloud's metadata service",
        "refused twice",
        "CRD: each of the eleven fields that hold a URL, by the same patterns",
        "the same patterns; the operator itself asks registries only, and jobs alone ask stores: "
        "both look at every address before they connect",
        (
            f"{FUZZ}::test_attack_t09_every_url_is_refused_twice_in_every_field",
            "tests/managers/images/test_attack_hosts.py::"
            "test_attack_t09_no_host_of_the_table_is_connected_to",
            "tests/managers/images/test_attack_hosts.py::"
            "test_attack_t09_a_name_that_leads_to_a_metadata_service_is_not_followed",
            f"{RUNS}::test_attack_t09_a_restore_refuses_every_url_of_the_table",
            "tests/baoctl/jobs/store/test_egress_proxy.py::test_a_name_is_judged_by_every_address_that_it_has",
            "tests/baoctl/jobs/store/test_egress_proxy.py::test_a_name_is_looked_up_anew_for_each_connection",
        ),
    ),
    Attack(
        "T10",
        "Size: lists, texts, depth, patterns that go back, schedules",
        "refused twice",
        "CRD: a bound on every list, map and text; a snapshot every few minutes",
        "the same bounds, depth and number of values; every schedule; 200 ms and 20 MB at most; "
        "files in Secrets, before a library reads them",
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
        "Objects under names that the operator needs",
        "refused twice",
        "policy lock-managed-resource-mutations: nobody else writes objects with our labels",
        "condition Conflict, reason ForeignObject; never taken over",
        (
            f"{TABLE}::test_attack_t11_names_that_are_taken_are_left_alone",
            "tests/managers/cluster/test_attack_names.py::"
            "test_attack_t11_an_object_of_another_owner_is_never_adopted",
        ),
    ),
    Attack(
        "T12",
        "Forged labels and annotations: maintenance, owner, force",
        "refused twice",
        "CRD: keys of ours in every map of metadata; policy: marks on objects of ours. On her own "
        "cluster they may be written",
        "marks on a cluster are not read; forged marks on objects are undone",
        (
            f"{TABLE}::test_attack_t12_t13_marks_and_words_on_ones_own_cluster_change_nothing",
            "tests/managers/cluster/test_day_two.py::"
            "test_attack_t12_marks_on_a_cluster_change_nothing",
        ),
    ),
    Attack(
        "T13",
        "The status written or deleted",
        "refused twice",
        "RBAC: no role of users holds openbaoclusters/status",
        "the status is observed anew; nothing is decided by it",
        (
            "tests/managers/cluster/test_attack_status.py::"
            "test_attack_t13_a_whole_corrupt_status_is_corrected",
        ),
    ),
    Attack(
        "T14",
        "A false server that takes the operator's login to another cluster",
        "refused twice",
        "a token of ten minutes for one cluster; its authority out of the operator's own Secret",
        "the login of another cluster refuses the audience",
        (
            "tests/integration/test_attack_t14.py::"
            "test_attack_t14_a_captured_login_opens_no_other_cluster",
        ),
    ),
    Attack(
        "T15",
        "A restore into somebody else's cluster",
        "refused twice",
        "no field for a namespace; policy validate-openbaorestore: the verb restore on the cluster "
        "that is named, and to decide about one that nobody knows",
        "the cluster is looked up beside the restore; a snapshot of another seal key is refused by "
        "the server itself; a spec that was changed is not carried out",
        (
            "tests/integration/admission/test_runs.py::"
            "test_attack_t15_writing_a_restore_is_not_enough",
            f"{RUNS}::test_attack_t04_no_field_names_another_namespace",
        ),
    ),
    Attack(
        "T16",
        "Snapshots of others by tricks with prefixes",
        "refused twice",
        "CRD: backup-prefix, backup-bucket, restore-prefix, restore-bucket, restore-key",
        "the same rules; keys are built of parts and read back whole, and a cluster is listed with "
        "a slash at the end",
        (
            f"{RUNS}::test_attack_t16_no_key_and_no_prefix_climbs",
            f"{RUNS}::test_attack_t16_no_text_of_the_table_is_a_key_a_backup_or_a_cluster",
            "tests/contracts/naming/test_snapshot_keys.py::"
            "test_a_cluster_is_not_listed_with_one_that_begins_like_it",
        ),
    ),
    Attack(
        "T17",
        "Lines and colours in logs, events and status",
        "harmless",
        "free text is not refused",
        "one line, printable, of bounded length, wherever it is shown",
        (
            "tests/managers/cluster/test_attack_text.py::"
            "test_attack_t17_a_log_line_is_one_line_of_json",
        ),
    ),
    Attack(
        "T18",
        "More and more series of metrics",
        "harmless",
        "quotas bound the number of clusters",
        "labels are namespace, name and words of ours",
        (
            "tests/managers/cluster/test_metrics.py::"
            "test_attack_t18_a_thousand_clusters_make_a_bounded_number_of_series",
        ),
    ),
    Attack(
        "T19",
        "Made-up versions and images",
        "refused twice",
        "CRD: pattern of versions, grammar of references in every field for an image",
        "the same; no version below the one that runs; a tag that is not the version's",
        (
            "tests/managers/cluster/test_attack_versions.py::"
            "test_attack_t19_a_made_up_image_is_refused",
        ),
    ),
    Attack(
        "T20",
        "A namespace that cannot be deleted",
        "harmless",
        "deletion is not refused",
        "the finalizer goes after a bounded time, whatever servers do",
        (
            "e2e/delete_policies/test_policies.py::"
            "test_attack_t20_a_server_that_hangs_wedges_neither_cluster_nor_namespace",
        ),
    ),
    Attack(
        "T21",
        "Files over data, keys or programs: audit, logs, plugins, volumes",
        "refused twice",
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
        "A tenant for somebody else's namespace",
        "refused twice",
        "policy validate-openbaotenant: its own namespace, unless it is in the operator's",
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
        f"| {one.id} | {one.tried} | {one.outcome} | {one.before} | {one.code or '-'} | "
        f"{', '.join(f'`{test}`' for test in one.tests)} |"
        for one in ATTACKS
    ]


def as_text() -> str:
    """One line for each attack, for a person at a terminal."""
    return "\n".join(f"{one.id}  {one.outcome:<14}{one.tried}" for one in ATTACKS)


if __name__ == "__main__":
    sys.stdout.write("\n".join(rows()) + "\n")
