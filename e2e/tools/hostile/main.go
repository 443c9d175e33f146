// Hostile replaces the OpenBao server in the image of a malicious tenant. It sets the labels of a
// serving server on its pod; its responses depend on the name of the pod: see behaviors.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	apiToken    = "/var/run/secrets/kubernetes.io/serviceaccount"
	certificate = "/etc/bao/tls/tls.crt"
	privateKey  = "/etc/bao/tls/tls.key"
	health      = `{"initialized":true,"sealed":false,"standby":false,"version":"2.7.2","cluster_id":"c"}`
)

// By the prefix of the names of the pods.
var behaviors = map[string]http.HandlerFunc{
	"silent": silent,
	"bomb":   bomb,
	"flood":  flood,
	"nested": nested,
}

// silent accepts a request and never responds.
func silent(_ http.ResponseWriter, request *http.Request) {
	<-request.Context().Done()
}

// bomb responds with 300 MiB of zeros, compressed to 300 KiB.
func bomb(response http.ResponseWriter, _ *http.Request) {
	response.Header().Set("Content-Encoding", "gzip")
	response.Write(packed())
}

// flood responds with an endless body.
func flood(response http.ResponseWriter, _ *http.Request) {
	piece := bytes.Repeat([]byte(" "), 1<<20)
	for {
		if _, err := response.Write(piece); err != nil {
			return
		}
	}
}

// nested responds with 100,000 nested lists.
func nested(response http.ResponseWriter, _ *http.Request) {
	io.WriteString(response, strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000))
}

// Computed once, on demand: it takes seconds.
var packed = sync.OnceValue(func() []byte { return pack(300 << 20) })

func pack(size int) []byte {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	piece := make([]byte, 1<<20)
	for written := 0; written < size; written += len(piece) {
		writer.Write(piece)
	}
	writer.Close()
	return buffer.Bytes()
}

func main() {
	pod := os.Getenv("BAO_K8S_POD_NAME")
	behavior, known := behaviors[strings.SplitN(pod, "-", 2)[0]]
	if !known {
		log.Fatalf("pod %q has no behavior", pod)
	}
	go register(pod)
	server := &http.Server{Addr: ":8200", Handler: serve(behavior)}
	go func() { log.Fatal(server.ListenAndServeTLS(certificate, privateKey)) }()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
}

// serve responds to probes of the kubelet (by their user agent) as a server does, so that the pod is
// ready, and to the operator with the behavior.
func serve(behavior http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if strings.HasPrefix(request.UserAgent(), "kube-probe") {
			io.WriteString(response, health)
			return
		}
		behavior(response, request)
	})
}

// register sets the labels of an initialized, unsealed and active server.
func register(pod string) {
	const labels = `{"metadata":{"labels":{"openbao-initialized":"true","openbao-sealed":"false",` +
		`"openbao-active":"true","openbao-version":"2.7.2"}}}`
	for {
		if err := patch(pod, labels); err == nil {
			return
		} else {
			log.Print(err)
		}
		time.Sleep(2 * time.Second)
	}
}

func patch(pod, body string) error {
	token, err := os.ReadFile(apiToken + "/token")
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(apiToken + "/ca.crt")
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	url := fmt.Sprintf(
		"https://%s:%s/api/v1/namespaces/%s/pods/%s",
		os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"),
		os.Getenv("BAO_K8S_NAMESPACE"), pod,
	)
	request, err := http.NewRequest(http.MethodPatch, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Content-Type", "application/merge-patch+json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return nil
}
