"""What the conditions say of images: rows of test_conditions."""

from runtime.outcome import Done, Outcome
from tests import gen
from tests.contracts.api.cases_images import KEY

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
ASKING = OLD.wanting(imageVerification={"enabled": True, "publicKey": KEY})

IMAGE_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "nobody has looked at the image": (ASKING, FINE, Done(), "ImageVerified", "Unknown Unknown")
}
