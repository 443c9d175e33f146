// Bench does on controller-runtime what e2e/bench does on the runtime of this repository, so that
// both can be measured on the same API server. One mode per run; the result is one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type order struct {
	namespace string
	shape     string
	count     int
	rounds    int
	workers   int
	busy      bool
	config    *rest.Config
}

type results map[string]float64

// scheme knows the built-in kinds.
var scheme = runtime.NewScheme()

func main() {
	given := order{}
	mode := flag.String("mode", "", "sync, events, latency, passes, noop or apply")
	flag.StringVar(&given.namespace, "namespace", "", "the only namespace that is looked at")
	flag.StringVar(&given.shape, "shape", "full", "metadata, full or dynamic")
	flag.IntVar(&given.count, "count", 1000, "objects, requests or writes")
	flag.IntVar(&given.rounds, "rounds", 1, "how often over all of them")
	flag.IntVar(&given.workers, "workers", 1, "concurrent reconciles")
	flag.BoolVar(&given.busy, "busy", false, "keep the queue full of other requests")
	flag.Parse()

	log.SetLogger(logr.Discard())
	must(clientgoscheme.AddToScheme(scheme))
	// From the flag -kubeconfig, which controller-runtime brings; no client-side limit.
	config, err := ctrl.GetConfig()
	must(err)
	given.config = config

	modes := map[string]func(context.Context, order) results{
		"sync": syncCache, "events": events, "latency": latency,
		"passes": passes, "noop": noop, "apply": applies,
	}
	run, known := modes[*mode]
	if !known {
		must(fmt.Errorf("no mode %q", *mode))
	}
	must(json.NewEncoder(os.Stdout).Encode(run(ctrl.SetupSignalHandler(), given)))
}

// newManager caches one namespace and drops managedFields, as the other side does.
func newManager(given order) manager.Manager {
	options := manager.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{given.namespace: {}},
			DefaultTransform:  cache.TransformStripManagedFields(),
		},
	}
	made, err := manager.New(given.config, options)
	must(err)
	return made
}

// ready signals the measuring process to start its writes.
func ready() { fmt.Println(`{"ready":1}`) }

func isEnd(name string) bool { return name == "zz-end" }

func sentAt(obj *corev1.ConfigMap) int64 {
	sent, err := strconv.ParseInt(obj.Data["sent"], 10, 64)
	must(err)
	return sent
}

// usage is a moment: wall time and the CPU time of this process, in seconds.
type usage struct{ wall, cpu float64 }

func now() usage {
	var spent syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &spent))
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	wall := float64(time.Now().UnixNano()) / 1e9
	return usage{wall, seconds(spent.Utime) + seconds(spent.Stime)}
}

func (begin usage) until(end usage) results {
	return results{"wall": end.wall - begin.wall, "cpu": end.cpu - begin.cpu}
}

// memory reads a line of /proc/self/status, in bytes.
func memory(field string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	must(err)
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) > 1 && words[0] == field+":" {
			size, err := strconv.ParseFloat(words[1], 64)
			must(err)
			return size * 1024
		}
	}
	panic("no " + field)
}

// percentile of samples, by the nearest rank.
func percentile(samples []float64, share float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := append([]float64(nil), samples...)
	sort.Float64s(sorted)
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
