"""The runtime: what any Kubernetes controller needs, after the model of controller-runtime.

It may import nothing from the layers above (contracts, managers, baoctl), which all build on it.
The names are those of client-go and controller-runtime, so that knowledge of them carries over.

Words
-----
Object
    A Kubernetes object as decoded JSON, read-only once it is in a store (types).
Resource
    A kind and where the API server serves it (types, builtin_kinds).
Request
    The namespace and name of an object to reconcile; never what happened to it (types).
Client
    One method per verb of the API, with typed errors (client, listing, errors, codec,
    transport).
Credentials
    The address of the server and how the client authenticates (credentials).
Reflector
    Mirrors one selection of objects: a list, then a watch, and a retry whenever the watch ends
    (reflector, backoff); its decisions are a pure step function (watch).
Store, index
    The mirrored objects by key, and by values computed from them (store).
Informer
    A store that a reflector keeps current, with handlers that receive each change; one per
    selection (selection), shared by all its users (informer). A handler may request a periodic
    replay of all objects (resync).
Event handler, predicate
    A handler maps a change to requests; a predicate filters changes.
Workqueue
    Requests that wait for a worker: each at most once, never with two workers, by priority and then
    round-robin by namespace, delayed and retried with backoff (workqueue, flows, ratelimit).
Controller
    Informers that feed a workqueue, and workers that call a reconciler, each call within a deadline
    (controller, watchdog).
Reconciler, outcome
    The function that compares observed and desired state for one request, and its result: done,
    waiting, or blocked on a user (outcome).
Leader election, guard
    One active replica by a Lease; the guard refuses writes once the lease may have run out
    (leader).
Manager
    Starts and stops all of these in order; a component that crashes ends the process (manager).
Garbage
    A periodic garbage collection frees what closed connections leave behind (garbage).
Metrics, health
    The families and endpoints of controller-runtime, under the same names (metrics, families,
    flow_metrics, health).

How they work together
----------------------
A user edits object web of kind Shop. The API server sends one line on the watch that the reflector
holds open. The informer replaces web in its store, and then calls its handlers. The handler of the
Shop controller adds the request "default/web" to the workqueue; a second edit a moment later adds
nothing, because the request is already queued. A worker takes the request and calls the reconciler,
which reads web from the store, builds what should exist and applies it with the client. The
response goes into the store of the applied kind immediately, so that the next reconcile cannot read
the state from before its own write. The reconciler returns an outcome; the controller converts it
to a metric, a log line and the time of the next reconcile. When the applied object changes, whoever
changed it, its informer enqueues the request of its owner.

Every component takes the time from a Clock and randomness from its caller (clock, testing).
"""
