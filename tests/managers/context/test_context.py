"""managers.context: the annotations of ownership, and the subject of the operator in a token."""

from contracts.naming import labels
from managers.cluster.apply.status_writer import ADMINOPS_MANAGER, STATUS_MANAGER
from managers.context.context import FIELD_MANAGER, MARKS
from tests import gen


def test_the_marks_are_the_documented_annotations() -> None:
    assert MARKS.owner_uid == labels.OWNER_UID
    assert MARKS.intent_hash == labels.INTENT_HASH
    assert MARKS.adopt == "openbao.org/adopt"


def test_each_writer_has_its_own_field_manager() -> None:
    assert len({FIELD_MANAGER, STATUS_MANAGER, ADMINOPS_MANAGER}) == 3


def test_the_subject_is_that_of_a_service_account_token() -> None:
    assert gen.INSTALLATION.subject == "system:serviceaccount:operators:the-operator"
