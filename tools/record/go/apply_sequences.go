// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// applySequence is a history of one object. The schemas come with the first question and stay for the others.
type applySequence struct {
	Schemas map[string]widgetSchemas `json:"schemas"`
	Group   string                   `json:"group"`
	Steps   []applyStep              `json:"steps"`
}

type applyStep struct {
	Kind        string                `json:"kind"`
	Version     string                `json:"version"`
	Manager     string                `json:"manager"`
	Force       bool                  `json:"force"`
	Subresource string                `json:"subresource"`
	Schema      string                `json:"schema"`
	Object      json.RawMessage       `json:"object"`
	Reset       map[string][][]string `json:"reset"`
}

func init() {
	converters := map[string]managedfields.TypeConverter{"deduced": managedfields.NewDeducedTypeConverter()}
	subjects["apply-sequences"] = func(raw json.RawMessage) (any, error) {
		var question applySequence
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		for name, schemas := range question.Schemas {
			converter, err := schemas.converter()
			if err != nil {
				return nil, err
			}
			converters[name] = converter
		}
		results, err := question.run(converters)
		return map[string]any{"results": results}, err
	}
}

func (s applySequence) run(converters map[string]managedfields.TypeConverter) ([]any, error) {
	var live *unstructured.Unstructured
	results := make([]any, len(s.Steps))
	for i, step := range s.Steps {
		types := converters["granular"]
		if s.Group == "deduced" {
			types = converters["deduced"]
		} else if step.Schema == "A" {
			types = converters["atomic"]
		}
		manager, err := newWidgetManager(types, step.Version, step.Subresource, step.resetFields())
		if err != nil {
			return nil, err
		}
		made, err := step.take(manager, live)
		if err != nil {
			results[i] = map[string]any{"error": describeError(err)}
			continue
		}
		live = stored(made, time.Date(2020, 1, 1, 0, 0, i, 0, time.UTC))
		results[i] = map[string]any{"object": live.DeepCopy().Object}
	}
	return results, nil
}

func (s applyStep) resetFields() map[fieldpath.APIVersion]fieldpath.Filter {
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	for version, paths := range s.Reset {
		set := fieldpath.NewSet()
		for _, path := range paths {
			parts := make([]any, len(path))
			for i, part := range path {
				parts[i] = part
			}
			set.Insert(fieldpath.MakePathOrDie(parts...))
		}
		filters[fieldpath.APIVersion(version)] = fieldpath.NewExcludeSetFilter(set)
	}
	return filters
}

func (s applyStep) take(manager *managedfields.FieldManager, live *unstructured.Unstructured) (runtime.Object, error) {
	object, err := decodeObject(s.Object)
	if err != nil || s.Kind == "set" {
		return object, err
	}
	current, err := currentObject(live, s.Version)
	if err != nil {
		return nil, err
	}
	switch s.Kind {
	case "apply":
		return manager.Apply(current, object, s.Manager, s.Force)
	case "update":
		return manager.Update(current, object, s.Manager)
	case "updateNoErrors":
		return manager.UpdateNoErrors(current, object, s.Manager), nil
	}
	return nil, fmt.Errorf("unknown kind of step %q", s.Kind)
}

// currentObject is the live object at a version; an empty one before it is created.
func currentObject(live *unstructured.Unstructured, version string) (runtime.Object, error) {
	kind := widgetKind(version)
	if live == nil {
		return widgetMaker{}.New(kind)
	}
	if live.GroupVersionKind() == kind {
		return live.DeepCopy(), nil
	}
	return widgetConversion{}.ConvertToVersion(live, kind.GroupVersion())
}

// stored gives an object a uid, as the store does, and the entries that were just written the time of the step.
func stored(object runtime.Object, now time.Time) *unstructured.Unstructured {
	copied := object.DeepCopyObject().(*unstructured.Unstructured)
	if copied.GetUID() == "" {
		copied.SetUID("u")
	}
	entries, _, _ := unstructured.NestedSlice(copied.Object, "metadata", "managedFields")
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		text, _ := fields["time"].(string)
		if written, err := time.Parse(time.RFC3339, text); err == nil && time.Since(written) < time.Hour {
			fields["time"] = now.Format(time.RFC3339)
		}
	}
	if len(entries) > 0 {
		_ = unstructured.SetNestedSlice(copied.Object, entries, "metadata", "managedFields")
	}
	return copied
}

// describeError answers with the status of an error, or with its text where the server would make an internal error of it.
func describeError(err error) any {
	var known *apierrors.StatusError
	if errors.As(err, &known) && known.ErrStatus.Code != http.StatusInternalServerError {
		return map[string]metav1.Status{"status": statusWithoutType(known.ErrStatus)}
	}
	return map[string]string{"message": err.Error()}
}
