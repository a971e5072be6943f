// SPDX-License-Identifier: Apache-2.0

// Clients of Kubernetes as controllers have them: informers that must end up with what the server has, and leader
// election. What they find is printed as one JSON object, the same for every server that behaves.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if len(os.Args) != 4 {
		fail(fmt.Errorf("usage: go-clients informers|election KUBECONFIG NAMESPACE"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	if err != nil {
		fail(err)
	}
	config.QPS, config.Burst = 400, 400
	found, err := run(os.Args[1], config, os.Args[3])
	if err != nil {
		fail(err)
	}
	text, err := json.Marshal(found)
	if err != nil {
		fail(err)
	}
	fmt.Println(string(text))
}

func run(mode string, config *rest.Config, namespace string) (any, error) {
	switch mode {
	case "informers":
		return runInformers(context.Background(), config, namespace)
	case "election":
		return runElection(context.Background(), config, namespace)
	}
	return nil, fmt.Errorf("unknown mode %q", mode)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
