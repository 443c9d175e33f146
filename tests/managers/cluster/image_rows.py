"""Rows of test_conditions about images."""

from tests import gen
from tests.contracts.api.cases_images import KEY
from tests.managers.cluster.passes import Row

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
ASKING = OLD.with_spec(imageVerification={"enabled": True, "publicKey": KEY})

IMAGE_ROWS = {"nobody has looked at the image": Row(ASKING, FINE, "ImageVerified=Unknown Unknown")}
