// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A schemaQuestion is either a value with its schema or a CustomResourceDefinition.
type schemaQuestion struct {
	Schema *apiextensionsv1.JSONSchemaProps          `json:"schema"`
	Value  json.RawMessage                           `json:"value"`
	CRD    *apiextensionsv1.CustomResourceDefinition `json:"crd"`
}

type schemaAnswer struct {
	Errors    []fieldError   `json:"errors"`
	Unknown   []string       `json:"unknown"`
	Documents map[string]any `json:"documents,omitempty"`
}

func init() {
	subjects["schema-checks"] = schemaSubject(func(q schemaQuestion) (schemaAnswer, error) { return checkValue(q) })
	subjects["crd-documents"] = schemaSubject(func(q schemaQuestion) (schemaAnswer, error) { return publish(q.CRD) })
}

func schemaSubject(decide func(schemaQuestion) (schemaAnswer, error)) subject {
	return func(raw json.RawMessage) (any, error) {
		var question schemaQuestion
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		return decide(question)
	}
}

func publish(crd *apiextensionsv1.CustomResourceDefinition) (schemaAnswer, error) {
	documents := map[string]any{}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		document, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{IncludeSelectableFields: true})
		if err != nil {
			return schemaAnswer{}, err
		}
		documents[version.Name] = document.Components.Schemas
	}
	return schemaAnswer{Documents: documents}, nil
}

func checkValue(q schemaQuestion) (schemaAnswer, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(q.Schema, internal, nil); err != nil {
		return schemaAnswer{}, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return schemaAnswer{}, err
	}
	var value any
	if err := utiljson.Unmarshal(q.Value, &value); err != nil {
		return schemaAnswer{}, err
	}
	a := schemaAnswer{Errors: report([]fieldError{}, validation.ValidateCustomResource(nil, value, validator)), Unknown: []string{}}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return a, nil // not structural: the server makes no further checks
	}
	if object, ok := value.(map[string]any); ok {
		a.Errors = report(a.Errors, listtype.ValidateListSetsAndMaps(nil, structural, object))
	}
	a.Errors = report(a.Errors, objectmeta.Validate(nil, value, structural, false))
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	a.Unknown = append(a.Unknown, pruning.PruneWithOptions(value, structural, true, options)...)
	return a, nil
}
