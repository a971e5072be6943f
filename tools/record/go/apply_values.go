// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

func init() {
	subjects["apply-values"] = compareValues
	subjects["apply-extract"] = extractFields
	subjects["apply-problems"] = applyOnce
	subjects["scale-managers"] = moveManagers
}

// compareValues merges and compares two values of one schema.
func compareValues(raw json.RawMessage) (any, error) {
	var question struct {
		Type         *spec.Schema `json:"type"`
		Live, Config json.RawMessage
	}
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	converted, err := schemaconv.ToSchemaFromOpenAPI(map[string]*spec.Schema{"t": question.Type}, false)
	if err != nil {
		return nil, err
	}
	parser := typed.Parser{Schema: smdschema.Schema{Types: converted.Types}}
	live, err := typedValue(parser.Type("t"), question.Live)
	if err != nil {
		return nil, err
	}
	config, err := typedValue(parser.Type("t"), question.Config)
	if err != nil {
		return nil, err
	}
	comparison, err := live.Compare(config)
	if err != nil {
		return nil, err
	}
	set, err := config.ToFieldSet()
	if err != nil {
		return nil, err
	}
	answer := map[string]any{
		"added": fieldsOf(comparison.Added), "removed": fieldsOf(comparison.Removed), "modified": fieldsOf(comparison.Modified),
		"set": fieldsOf(set),
	}
	if merged, err := live.Merge(config); err != nil {
		answer["mergeError"] = err.Error()
	} else {
		answer["merged"] = merged.AsValue().Unstructured()
	}
	return answer, nil
}

func typedValue(of typed.ParseableType, raw json.RawMessage) (*typed.TypedValue, error) {
	value, err := decodeAny(raw)
	if err != nil {
		return nil, err
	}
	return of.FromUnstructured(value, typed.AllowDuplicates)
}

func fieldsOf(set *fieldpath.Set) json.RawMessage {
	encoded, err := set.ToJSON()
	if err != nil {
		panic(err)
	}
	return encoded
}

// extractFields takes fields out of a widget, in both directions. Without fields it answers with all that the widget has.
func extractFields(raw json.RawMessage) (any, error) {
	var question struct {
		Schemas        widgetSchemas
		Object, Fields json.RawMessage
	}
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	types, err := question.Schemas.converter()
	if err != nil {
		return nil, err
	}
	object, err := decodeObject(question.Object)
	if err != nil {
		return nil, err
	}
	value, err := types.ObjectToTyped(object)
	if err != nil {
		return nil, err
	}
	if question.Fields == nil {
		set, err := value.ToFieldSet()
		return map[string]any{"set": fieldsOf(set)}, err
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(newReader(string(question.Fields))); err != nil {
		return nil, err
	}
	return map[string]any{
		"removed":   value.RemoveItems(set).AsValue().Unstructured(),
		"extracted": value.ExtractItems(set).AsValue().Unstructured(),
		"leaves":    value.ExtractItems(set.Leaves()).AsValue().Unstructured(),
	}, nil
}

// applyOnce creates a widget by applying a configuration.
func applyOnce(raw json.RawMessage) (any, error) {
	var question struct {
		Schemas widgetSchemas
		Config  json.RawMessage
	}
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	types, err := question.Schemas.converter()
	if err != nil {
		return nil, err
	}
	manager, err := newWidgetManager(types, "v1", "", nil)
	if err != nil {
		return nil, err
	}
	config, err := decodeObject(question.Config)
	if err != nil {
		return nil, err
	}
	live, _ := widgetMaker{}.New(widgetKind("v1"))
	applied, err := manager.Apply(live, config, "m", false)
	if err != nil {
		code := int32(http.StatusInternalServerError)
		var known *apierrors.StatusError
		if errors.As(err, &known) {
			code = known.ErrStatus.Code
		}
		return map[string]any{"error": err.Error(), "code": code}, nil
	}
	fields := json.RawMessage("{}")
	if entries := applied.(*unstructured.Unstructured).GetManagedFields(); len(entries) > 0 {
		fields = entries[0].FieldsV1.Raw
	}
	return map[string]any{"fields": fields}, nil
}

// moveManagers converts managed fields between an object and its scale subresource.
func moveManagers(raw json.RawMessage) (any, error) {
	var question struct {
		Dir, Group, Version string
		Parent, Scale       []metav1.ManagedFieldsEntry
		Paths               map[string][]string
	}
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	mappings := managedfields.ResourcePathMappings{}
	for version, path := range question.Paths {
		mappings[version] = nil
		if path != nil {
			mappings[version] = fieldpath.MakePathOrDie(path[0], path[1])
		}
	}
	handler := managedfields.NewScaleHandler(question.Parent, schema.GroupVersion{Group: question.Group, Version: question.Version}, mappings)
	entries, err := handler.ToSubresource()
	if question.Dir == "parent" {
		entries, err = handler.ToParent(question.Scale)
	}
	if entries == nil {
		entries = []metav1.ManagedFieldsEntry{}
	}
	return map[string]any{"entries": entries}, err
}
