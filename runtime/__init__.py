"""The runtime: what any Kubernetes controller needs, after the model of controller-runtime.

It may import nothing from the layers above (contracts, managers, baoctl), which all build on it.
The names are those of client-go and controller-runtime, so that knowledge of them carries over.

Words
-----
Object
    A Kubernetes object as decoded JSON, read-only once it is in a store (types).
Resource
    A kind and where the API server serves it (types, resources).
Request
    The namespace and name of an object to reconcile; never what happened to it (types).
Client
    One method per verb of the API, with typed errors (client, listing, errors, codec,
    transport).
Credentials
    Where the server is and how we prove who we are (credentials).
Reflector
    Keeps one selection of objects mirrored: a list, then a watch, and every way in which a watch
    can end (reflector, backoff); its decisions are a pure step function (watch).
Store, index
    The mirrored objects by key, and by values computed from them (store).
Informer
    A store kept current by a reflector, with handlers that get each change; one per selection
    (selection), shared by all its users (informer). A handler may request a periodic replay of
    all objects (resync).
Event handler, predicate
    What turns a change into requests, and what decides that a change is of no interest.
Workqueue
    Requests waiting for a worker: each at most once, never with two workers, by priority and then
    by namespace in turn, delayed and retried with backoff (workqueue, flows, ratelimit).
Controller
    Informers feeding a workqueue, and workers that call a reconciler, each pass within a deadline
    (controller, watchdog).
Reconciler, outcome
    The function that compares observed and desired state for one request, and how it ended: done,
    waiting, or blocked on a user (outcome).
Leader election, guard
    One active replica by a Lease; the guard refuses writes once the lease may have run out
    (leader).
Manager
    Starts and stops all of these in order; what crashes ends the process (manager).
Garbage
    What ended connections leave behind is collected by the clock (garbage).
Metrics, health
    The families and endpoints of controller-runtime, under the same names (metrics, series,
    flow_series, health).

How they work together
----------------------
A user edits object web of kind Shop. The API server sends one line on the watch that the
reflector holds open. The informer replaces web in its store, and then calls its handlers; the
handler of the Shop controller adds the request "default/web" to the workqueue, where a second
edit a moment later finds it already waiting and changes nothing. A worker takes the request and
calls the reconciler, which reads web from the store, builds what should exist and applies it
with the client. The answer goes into the store of the applied kind at once, so that the next
pass cannot see the state from before its own write. The reconciler returns an outcome; the
controller turns it into a metric, a log line and the time of the next reconcile. When the applied
object changes, by us or by others, its own informer leads back to the request of its owner.

Time comes from a Clock and randomness from the caller, in every part (clock, testing).
"""
