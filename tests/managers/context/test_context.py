"""managers.context: the marks of ownership, and how the operator is named in a token."""

from contracts.naming import labels
from managers.cluster.apply.status_writer import ADMINOPS_MANAGER, STATUS_MANAGER
from managers.context.context import FIELD_MANAGER, MARKS
from tests import gen


def test_the_marks_are_the_documented_annotations() -> None:
    assert MARKS.owner_uid == labels.OWNER_UID
    assert MARKS.intent_hash == labels.INTENT_HASH
    assert MARKS.adopt == "openbao.org/adopt"


def test_each_writer_has_a_field_manager_of_its_own() -> None:
    assert len({FIELD_MANAGER, STATUS_MANAGER, ADMINOPS_MANAGER}) == 3


def test_the_subject_is_that_of_a_service_account_token() -> None:
    assert gen.INSTALLATION.subject == "system:serviceaccount:operators:the-operator"
