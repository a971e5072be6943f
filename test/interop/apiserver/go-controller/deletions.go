// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A deletion is what the API server answered to one delete.
type deletion struct {
	Object  string `json:"object"`
	DryRun  bool   `json:"dryRun"`
	Code    int32  `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// deleteEach deletes ConfigMaps, given as NAMESPACE/NAME with commas between, each as a dry run first. It prints a line of JSON for each.
func deleteEach(ctx context.Context, kubeconfig, objects string) error {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	live, err := client.New(access, client.Options{})
	if err != nil {
		return err
	}
	lines := json.NewEncoder(os.Stdout)
	lines.SetEscapeHTML(false)
	for _, object := range strings.Split(objects, ",") {
		namespace, name, _ := strings.Cut(object, "/")
		target := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		for _, isDryRun := range []bool{true, false} {
			options := []client.DeleteOption{}
			if isDryRun {
				options = append(options, client.DryRunAll)
			}
			answer := deletion{Object: object, DryRun: isDryRun, Code: 200}
			if err := live.Delete(ctx, target, options...); err != nil {
				var status apierrors.APIStatus
				if !errors.As(err, &status) {
					return fmt.Errorf("cannot delete %s: %w", object, err)
				}
				answer.Code, answer.Reason, answer.Message = status.Status().Code, string(status.Status().Reason), status.Status().Message
			}
			if err := lines.Encode(answer); err != nil {
				return err
			}
		}
	}
	return nil
}
