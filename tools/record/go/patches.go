// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

func newReader(text string) io.Reader { return strings.NewReader(text) }

type patchQuestion struct {
	Type  string
	Doc   json.RawMessage
	Patch json.RawMessage
	Kind  string
	// Error is the recorded one, if any.
	Error string
}

func init() {
	subjects["patches"] = func(raw json.RawMessage) (any, error) {
		var question patchQuestion
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		result, err := question.applyAsRecorded()
		if err != nil {
			return map[string]any{"error": err.Error()}, nil
		}
		return map[string]any{"result": json.RawMessage(result)}, nil
	}
}

// applyAsRecorded applies a patch with several problems until the recorded one is met: which comes first depends on the order in
// which Go walks a map, and one of them may be a panic. When the recorded one never comes, the last answer stands.
func (q patchQuestion) applyAsRecorded() (result []byte, err error) {
	const attempts = 300
	for attempt := 1; attempt <= attempts; attempt++ {
		result, err = q.applySafely()
		if err == nil || q.Error == "" || err.Error() == q.Error {
			return result, err
		}
	}
	return result, err
}

func (q patchQuestion) applySafely() (result []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return q.apply()
}

func (q patchQuestion) apply() ([]byte, error) {
	switch q.Type {
	case "json":
		patch, err := jsonpatch.DecodePatch(q.Patch)
		if err != nil {
			return nil, err
		}
		return patch.Apply(q.Doc)
	case "merge":
		return jsonpatch.MergePatch(q.Doc, q.Patch)
	case "strategic":
		return q.applyStrategic()
	}
	return nil, fmt.Errorf("unknown type of patch %q", q.Type)
}

// applyStrategic merges by the Go type of the kind, wherever among the groups it is.
func (q patchQuestion) applyStrategic() ([]byte, error) {
	if q.Kind == "CustomResourceDefinition" {
		return strategicpatch.StrategicMergePatch(q.Doc, q.Patch, &apiextensionsv1.CustomResourceDefinition{})
	}
	for _, group := range []string{"", "apps", "batch", "rbac.authorization.k8s.io", "discovery.k8s.io"} {
		object, err := scheme.Scheme.New(schema.GroupVersionKind{Group: group, Version: "v1", Kind: q.Kind})
		if err == nil {
			return strategicpatch.StrategicMergePatch(q.Doc, q.Patch, object)
		}
	}
	return nil, fmt.Errorf("unknown kind %q", q.Kind)
}
