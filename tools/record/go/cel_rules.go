// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"regexp"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"
)

// ruleQuestion is an object under the rules of its schema.
type ruleQuestion struct {
	Schema  *apiextensionsv1.JSONSchemaProps `json:"schema"`
	Self    json.RawMessage                  `json:"self"`
	OldSelf json.RawMessage                  `json:"oldSelf"`
	Budget  *int64                           `json:"budget"`
}

type ruleAnswer struct {
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
	Left     int64    `json:"left"`
}

func init() {
	subjects["cel-validations"] = func(raw json.RawMessage) (any, error) {
		var question ruleQuestion
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		return validateRules(question)
	}
	subjects["cel-schemas"] = func(raw json.RawMessage) (any, error) {
		var question ruleQuestion
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		return checkRules(question.Schema)
	}
}

// warningTexts collects warnings that belong to a request.
type warningTexts struct{ texts []string }

func (w *warningTexts) AddWarning(_, text string) { w.texts = append(w.texts, text) }

func validateRules(question ruleQuestion) (*ruleAnswer, error) {
	structural, err := structuralOf(question.Schema)
	if err != nil {
		return nil, err
	}
	object, err := decodeAny(question.Self)
	if err != nil {
		return nil, err
	}
	budget := int64(celconfig.RuntimeCELCostBudget)
	if question.Budget != nil {
		budget = *question.Budget
	}
	answer := &ruleAnswer{Errors: []string{}, Left: budget}
	warnings := &warningTexts{texts: []string{}}
	if validator := schemacel.NewValidator(structural, true, celconfig.PerCallLimit); validator != nil {
		var old any
		var options []schemacel.Option
		if question.OldSelf != nil {
			if old, err = decodeAny(question.OldSelf); err != nil {
				return nil, err
			}
			correlated := common.NewCorrelatedObject(object, old, &model.Structural{Structural: structural})
			options = append(options, schemacel.WithRatcheting(correlated))
		}
		ctx := warning.WithWarningRecorder(context.Background(), warnings)
		list, left := validator.Validate(ctx, nil, structural, object, old, budget, options...)
		answer.Errors, answer.Left = errorTexts(list), left
	}
	sort.Strings(warnings.texts)
	answer.Warnings = warnings.texts
	return answer, nil
}

func decodeAny(raw json.RawMessage) (any, error) {
	var value any
	err := utiljson.Unmarshal(raw, &value)
	return value, err
}

// The API server numbers the type of self again each time.
var selfType = regexp.MustCompile(`selfType\d+`)

// Go walks maps in random order, so errors are sorted.
func errorTexts(list field.ErrorList) []string {
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = selfType.ReplaceAllString(one.Error(), "selfType1")
	}
	sort.Strings(texts)
	return texts
}

// checkRules answers with the errors that the rules of a schema add to the check of its CRD.
func checkRules(props *apiextensionsv1.JSONSchemaProps) (any, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, err
	}
	list := validation.ValidateCustomResourceDefinition(context.Background(), definitionOf(internal))
	return map[string]any{"errors": errorTexts(list)}, nil
}

func definitionOf(schema *apiextensions.JSONSchemaProps) *apiextensions.CustomResourceDefinition {
	preserve := false
	definition := &apiextensions.CustomResourceDefinition{}
	definition.Name = "widgets.example.org"
	definition.Spec = apiextensions.CustomResourceDefinitionSpec{
		Group:                 "example.org",
		Version:               "v1",
		Names:                 apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
		Scope:                 apiextensions.NamespaceScoped,
		Versions:              []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
		Validation:            &apiextensions.CustomResourceValidation{OpenAPIV3Schema: schema},
		PreserveUnknownFields: &preserve,
	}
	definition.Status.StoredVersions = []string{"v1"}
	return definition
}
