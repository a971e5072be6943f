// SPDX-License-Identifier: Apache-2.0

// A composition function in Go on Purlin's own proto, without any SDK. It serves as real functions do: calls on :9443 and metrics on :8080 of
// all interfaces, mutual TLS from TLS_SERVER_CERTS_DIR, and it keeps running when the metrics port is taken.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	fn "purlin.dev/interop/function/proto"
)

type server struct {
	fn.UnimplementedFunctionRunnerServiceServer
	address string
	metrics string
}

// RunFunction composes one ConfigMap that names its author.
func (s *server) RunFunction(_ context.Context, req *fn.RunFunctionRequest) (*fn.RunFunctionResponse, error) {
	spec := req.GetObserved().GetComposite().GetResource().GetFields()["spec"].GetStructValue()
	object, err := structpb.NewStruct(map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"data": map[string]any{
			"language": "go",
			"greeting": spec.GetFields()["greeting"].GetStringValue() + " from Go",
			"address":  s.address,
			"metrics":  s.metrics,
			"function": os.Getenv("FUNCTION_NAME"),
			"uid":      fmt.Sprint(os.Getuid()),
		},
	})
	if err != nil {
		return nil, err
	}
	desired := req.GetDesired()
	if desired == nil {
		desired = &fn.State{}
	}
	if desired.Resources == nil {
		desired.Resources = map[string]*fn.Resource{}
	}
	desired.Resources["go"] = &fn.Resource{Resource: object, Ready: fn.Ready_READY_TRUE}
	meta := &fn.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(0)}
	return &fn.RunFunctionResponse{Meta: meta, Desired: desired, Context: req.GetContext()}, nil
}

func main() {
	address := flag.String("address", ":9443", "where to listen for calls")
	certs := flag.String("tls-certs-dir", os.Getenv("TLS_SERVER_CERTS_DIR"), "folder with tls.crt, tls.key and ca.crt")
	metrics := flag.String("metrics-address", ":8080", "where to serve metrics")
	flag.Parse()
	security, err := mutualTLS(*certs)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	s := &server{address: listener.Addr().String(), metrics: serveMetrics(*metrics)}
	calls := grpc.NewServer(grpc.Creds(security))
	fn.RegisterFunctionRunnerServiceServer(calls, s)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		calls.GracefulStop()
	}()
	log.Printf("listening on %s", s.address)
	if err := calls.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

func serveMetrics(address string) string {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err.Error()
	}
	go func() { _ = http.Serve(listener, http.NotFoundHandler()) }()
	return listener.Addr().String()
}

func mutualTLS(folder string) (credentials.TransportCredentials, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, err
	}
	callers := x509.NewCertPool()
	callers.AppendCertsFromPEM(authority)
	return credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    callers,
		MinVersion:   tls.VersionTLS12,
	}), nil
}
