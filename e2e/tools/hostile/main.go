// Hostile stands in the place of an OpenBao server, as the image of a tenant who means harm. It says
// of itself, with the labels of a server, that it serves; what it answers depends on the name of its
// pod: see behaviours.
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

// Each by the beginning of the names of its pods.
var behaviours = map[string]http.HandlerFunc{
	"silent": silent,
	"bomb":   bomb,
	"flood":  flood,
	"nested": nested,
}

// silent takes a question and never answers.
func silent(_ http.ResponseWriter, request *http.Request) {
	<-request.Context().Done()
}

// bomb answers with 300 MiB of zeros, packed into 300 KiB.
func bomb(response http.ResponseWriter, _ *http.Request) {
	response.Header().Set("Content-Encoding", "gzip")
	response.Write(packed())
}

// flood answers without an end.
func flood(response http.ResponseWriter, _ *http.Request) {
	piece := bytes.Repeat([]byte(" "), 1<<20)
	for {
		if _, err := response.Write(piece); err != nil {
			return
		}
	}
}

// nested answers with 100,000 lists, one in the other.
func nested(response http.ResponseWriter, _ *http.Request) {
	io.WriteString(response, strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000))
}

// Once, and only where it is asked for: it takes seconds.
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
	behaviour, known := behaviours[strings.SplitN(pod, "-", 2)[0]]
	if !known {
		log.Fatalf("pod %q has no behaviour", pod)
	}
	go register(pod)
	server := &http.Server{Addr: ":8200", Handler: serve(behaviour)}
	go func() { log.Fatal(server.ListenAndServeTLS(certificate, privateKey)) }()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
}

// serve answers the probes of the kubelet as a server would, so that the pod is ready, and the
// operator with what was chosen. The kubelet is known by its user agent.
func serve(behaviour http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if strings.HasPrefix(request.UserAgent(), "kube-probe") {
			io.WriteString(response, health)
			return
		}
		behaviour(response, request)
	})
}

// register writes the labels by which a server says that it is initialized, unsealed and leads.
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
