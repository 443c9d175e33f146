"""What a Website stands for, and the pass that makes it so.

Uses the runtime alone. Called by the controller that `__main__` builds.
"""

from collections.abc import Sequence

from runtime.apply.apply import OwnedApply
from runtime.apply.apply_result import Applied
from runtime.apply.intent import Intent, digest
from runtime.apply.ownership import Owner, OwnershipKeys
from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.cache.informer import Informer
from runtime.client.client import Client
from runtime.controller.finalizer import Finalizer
from runtime.events import EventRecorder
from runtime.metrics.metrics import Metrics
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import Object, ObjectKey, Request, Resource, key_of, uid_of
from runtime.verdict import Verdict

WEBSITE = Resource("sites.example.com", "v1", "Website", "websites")
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")

MANAGER = "website-operator"
MANAGED_BY = {"app.kubernetes.io/managed-by": MANAGER}
MARKS = OwnershipKeys(
    owner_uid="sites.example.com/owner-uid",
    intent_hash="sites.example.com/intent",
    adopt="sites.example.com/adopt",
)
FINALIZER = "sites.example.com/directory"
DIRECTORY = "website-directory"


def intents(site: Object) -> list[Intent]:
    """The children of a site. Pure: the same site gives the same intents."""
    key, spec = key_of(site), site["spec"]
    labels = {**MANAGED_BY, "app.kubernetes.io/instance": key.name}
    server = {
        "name": "server",
        "image": spec["image"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "volumeMounts": [{"name": "pages", "mountPath": "/usr/share/nginx/html"}],
    }
    pod = {
        # Pages are read once at start: other pages, other pods.
        "metadata": {"labels": labels, "annotations": {"pages": digest(spec["pages"])}},
        "spec": {
            "containers": [server],
            "volumes": [{"name": "pages", "configMap": {"name": key.name}}],
        },
    }
    port = {"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}
    selector = {"matchLabels": labels}
    replicas = {"replicas": spec["replicas"], "selector": selector, "template": pod}
    bodies = {
        CONFIG_MAP: {"data": spec["pages"]},
        SERVICE: {"spec": {"selector": labels, "ports": [port]}},
        DEPLOYMENT: {"spec": replicas},
    }
    return [Intent(of, {**named(of, key, labels), **body}) for of, body in bodies.items()]


def named(of: Resource, key: ObjectKey, labels: dict[str, str] | None = None) -> Object:
    """The start of every body: which object, and whose."""
    metadata: Object = {"namespace": key.namespace, "name": key.name}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": of.api_version, "kind": of.kind, "metadata": metadata}


def judge(site: Object, applied: Sequence[Applied]) -> tuple[Outcome, int]:
    """How the pass ended, and how many replicas are ready. Pure."""
    for one in applied:
        if one.verdict in (Verdict.FOREIGN, Verdict.REJECTED):
            # Nothing tells us when a stranger's object goes away: look again in a while.
            return Blocked(one.verdict.name.title(), one.message, recheck_after=60.0), 0
        if one.live is None or not one.in_place:
            return Wait("Terminating", one.message), 0
    deployment = next(one.live for one in applied if one.intent.resource == DEPLOYMENT) or {}
    ready: int = deployment.get("status", {}).get("readyReplicas", 0)
    wanted: int = site["spec"]["replicas"]
    if ready < wanted:
        # No timer: the Deployment's own events wake us.
        return Wait("RollingOut", f"{ready} of {wanted} replicas are ready"), ready
    return Done(), ready


class WebsiteReconciler:
    """One pass: hold the site by a finalizer, apply its children, enter it, say how it went."""

    def __init__(
        self,
        client: Client,
        informers: dict[Resource, Informer],
        owned: OwnedApply,
        events: EventRecorder,
        metrics: Metrics,
    ) -> None:
        self._client = client
        self._sites = informers[WEBSITE]
        self._maps = informers[CONFIG_MAP]
        self._owned = owned
        self._events = events
        self._finalizer = Finalizer(client, WEBSITE, FINALIZER, MANAGER)
        self._pages = metrics.gauge("website_pages", "Pages of a site.", ("namespace", "name"))

    async def __call__(self, request: Request) -> Outcome:
        site = self._sites.get(request)
        if site is None:
            return Done()
        return await self._finalizer.reconcile(site, apply=self._publish, cleanup=self._retire)

    async def _publish(self, site: Object) -> Outcome:
        key = key_of(site)
        owner = Owner(WEBSITE.api_version, WEBSITE.kind, key.namespace, key.name, uid_of(site))
        outcome, ready = judge(site, await self._owned.ensure_all(owner, intents(site)))
        await self._enter(site, f"http://{key.name}.{key.namespace}.svc")
        self._pages.labels(*key).set(len(site["spec"]["pages"]))
        await self._report(site, outcome, ready)
        return outcome

    async def _retire(self, site: Object) -> Outcome:
        # The children go by their owner reference; the entry belongs to nobody but us.
        await self._enter(site, None)
        self._pages.remove(*key_of(site))
        return Done()

    async def _enter(self, site: Object, address: str | None) -> None:
        """Have exactly this entry, or none, in the directory that all sites of a namespace share.

        Each site is a field manager of its own, so that what it leaves out is taken out. Without
        an entry it leaves out everything, or managedFields would keep all sites there ever were.
        """
        key = key_of(site)
        directory = ObjectKey(key.namespace, DIRECTORY)
        listed = (self._maps.get(directory) or {}).get("data", {})
        if listed.get(key.name) == address:
            return
        body = named(CONFIG_MAP, directory)
        if address is not None:
            body = {**named(CONFIG_MAP, directory, MANAGED_BY), "data": {key.name: address}}
        signature = f"{MANAGER}/{uid_of(site)}"
        answer = await self._client.apply(CONFIG_MAP, body, field_manager=signature, force=True)
        self._maps.observe(answer.object)

    async def _report(self, site: Object, outcome: Outcome, ready: int) -> None:
        """Write the status if it has something new to say, and tell people what changed."""
        reason, message = "Published", "every replica serves"
        if not isinstance(outcome, Done):
            reason, message = outcome.reason, outcome.message
        status = {
            "observedGeneration": site["metadata"]["generation"],
            "readyReplicas": ready,
            "reason": reason,
            "message": message,
        }
        before = site.get("status", {})
        if status == before:
            return
        body = {**named(WEBSITE, key_of(site)), "status": status}
        answer = await self._client.apply(
            WEBSITE, body, field_manager=f"{MANAGER}-status", force=True, subresource="status"
        )
        # Read your writes: the next pass must not compare with what was there before.
        self._sites.observe(answer.object)
        if reason != before.get("reason"):
            warning = isinstance(outcome, Blocked)
            self._events.event(site, "Warning" if warning else "Normal", reason, message)
