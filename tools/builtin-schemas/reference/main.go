// SPDX-License-Identifier: Apache-2.0

// Command reference answers, with the reference server's own libraries, what the schema checks of kube-objects answer:
// what is wrong with a value, which of its fields are unknown, and how a CustomResourceDefinition is published. It reads
// a JSON list of questions from standard input and writes the list of answers to standard output.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A question is either a value with its schema or a CustomResourceDefinition.
type question struct {
	Schema *apiextensionsv1.JSONSchemaProps          `json:"schema"`
	Value  json.RawMessage                           `json:"value"`
	CRD    *apiextensionsv1.CustomResourceDefinition `json:"crd"`
}

type fieldError struct {
	Type  string `json:"type"`
	Field string `json:"field"`
	Body  string `json:"body"`
}

type answer struct {
	Errors    []fieldError           `json:"errors"`
	Unknown   []string               `json:"unknown"`
	Documents map[string]interface{} `json:"documents,omitempty"`
	Failed    string                 `json:"failed,omitempty"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, "cannot read the questions:", err)
		os.Exit(2)
	}
	answers := make([]answer, len(questions))
	for i, q := range questions {
		answers[i] = decide(q)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, "cannot write the answers:", err)
		os.Exit(2)
	}
}

// decide answers one question; what the libraries panic about is an answer too.
func decide(q question) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = answer{Failed: fmt.Sprint(r)}
		}
	}()
	var err error
	if q.CRD != nil {
		a, err = publish(q.CRD)
	} else {
		a, err = check(q)
	}
	if err != nil {
		return answer{Failed: err.Error()}
	}
	return a
}

func publish(crd *apiextensionsv1.CustomResourceDefinition) (answer, error) {
	documents := map[string]interface{}{}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		document, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{IncludeSelectableFields: true})
		if err != nil {
			return answer{}, err
		}
		documents[version.Name] = document.Components.Schemas
	}
	return answer{Documents: documents}, nil
}

func check(q question) (answer, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(q.Schema, internal, nil); err != nil {
		return answer{}, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return answer{}, err
	}
	var value interface{}
	if err := utiljson.Unmarshal(q.Value, &value); err != nil {
		return answer{}, err
	}
	a := answer{Errors: report([]fieldError{}, validation.ValidateCustomResource(nil, value, validator)), Unknown: []string{}}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return a, nil // not structural: the server makes no further checks
	}
	if object, ok := value.(map[string]interface{}); ok {
		a.Errors = report(a.Errors, listtype.ValidateListSetsAndMaps(nil, structural, object))
	}
	a.Errors = report(a.Errors, objectmeta.Validate(nil, value, structural, false))
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	a.Unknown = append(a.Unknown, pruning.PruneWithOptions(value, structural, true, options)...)
	return a, nil
}

func report(out []fieldError, list field.ErrorList) []fieldError {
	for _, e := range list {
		out = append(out, fieldError{Type: string(e.Type), Field: e.Field, Body: e.ErrorBody()})
	}
	return out
}
