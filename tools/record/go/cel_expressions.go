// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// expressionQuestion is an expression over a schema. IsNew means that there is no old value.
type expressionQuestion struct {
	Expr    string         `json:"expr"`
	IsNew   bool           `json:"isNew"`
	OptOld  bool           `json:"optOld"`
	Subject *celSubjectDoc `json:"subject"`
}

type celSubjectDoc struct {
	Schema  *apiextensionsv1.JSONSchemaProps `json:"schema"`
	Self    json.RawMessage                  `json:"self"`
	OldSelf json.RawMessage                  `json:"oldSelf"`
}

type expressionAnswer struct {
	Compile string  `json:"compile,omitempty"`
	Plan    string  `json:"plan,omitempty"`
	Type    string  `json:"type,omitempty"`
	Value   *string `json:"value,omitempty"`
	Error   string  `json:"error,omitempty"`
	Cost    *uint64 `json:"cost,omitempty"`
	Min     string  `json:"min,omitempty"`
	Max     string  `json:"max,omitempty"`
}

func init() {
	// All questions are about the object that comes with the first.
	var over *celObject
	subjects["cel-expressions"] = func(raw json.RawMessage) (any, error) {
		var question expressionQuestion
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		if question.Subject != nil {
			loaded, err := loadCelObject(question.Subject)
			if err != nil {
				return nil, err
			}
			over = loaded
		}
		return over.answer(question)
	}
}

// celObject is the object that expressions are evaluated over, with the environments of its schema.
type celObject struct {
	root                   *apiservercel.DeclType
	plain, withOptionalOld *cel.Env
	self, oldSelf          ref.Val
}

func loadCelObject(doc *celSubjectDoc) (*celObject, error) {
	structural, err := structuralOf(doc.Schema)
	if err != nil {
		return nil, err
	}
	root := model.SchemaDeclType(structural, false).MaybeAssignTypeName("selfType1")
	plain, err := celEnvironment(root, root.CelType())
	if err != nil {
		return nil, err
	}
	optional, err := celEnvironment(root, types.NewOptionalType(root.CelType()))
	if err != nil {
		return nil, err
	}
	self, err := celValue(doc.Self, structural)
	if err != nil {
		return nil, err
	}
	oldSelf, err := celValue(doc.OldSelf, structural)
	return &celObject{root: root, plain: plain, withOptionalOld: optional, self: self, oldSelf: oldSelf}, err
}

func structuralOf(props *apiextensionsv1.JSONSchemaProps) (*structuralschema.Structural, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, err
	}
	return structuralschema.NewStructural(internal)
}

func celEnvironment(root *apiservercel.DeclType, oldType *cel.Type) (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		DeclTypes:         []*apiservercel.DeclType{root},
		EnvOptions: []cel.EnvOption{
			cel.Variable(schemacel.ScopedVarName, root.CelType()),
			cel.Variable(schemacel.OldScopedVarName, oldType),
		},
	})
	if err != nil {
		return nil, err
	}
	return set.NewExpressionsEnv(), nil
}

func celValue(raw json.RawMessage, structural *structuralschema.Structural) (ref.Val, error) {
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return nil, err
	}
	return schemacel.UnstructuredToVal(value, structural), nil
}

func (o *celObject) answer(question expressionQuestion) (*expressionAnswer, error) {
	env := o.plain
	if question.OptOld {
		env = o.withOptionalOld
	}
	ast, issues := env.Compile(question.Expr)
	if issues != nil {
		return &expressionAnswer{Compile: issues.String()}, nil
	}
	estimator := &library.CostEstimator{SizeEstimator: sizesOf{o.root}}
	program, err := env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(estimator),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return &expressionAnswer{Plan: err.Error()}, nil
	}
	estimate, err := env.EstimateCost(ast, estimator)
	if err != nil {
		return nil, err
	}
	value, details, evalErr := program.ContextEval(context.Background(), o.variables(question))
	answer := &expressionAnswer{
		Type: checker.FormatCELType(ast.OutputType()),
		Cost: details.ActualCost(),
		Min:  strconv.FormatUint(estimate.Min, 10),
		Max:  strconv.FormatUint(estimate.Max, 10),
	}
	if evalErr != nil {
		answer.Error = evalErr.Error()
	} else {
		shown := showCelValue(value)
		answer.Value = &shown
	}
	return answer, nil
}

func (o *celObject) variables(question expressionQuestion) map[string]any {
	variables := map[string]any{schemacel.ScopedVarName: o.self}
	switch {
	case question.OptOld && question.IsNew:
		variables[schemacel.OldScopedVarName] = types.OptionalNone
	case question.OptOld:
		variables[schemacel.OldScopedVarName] = types.OptionalOf(o.oldSelf)
	case !question.IsNew:
		variables[schemacel.OldScopedVarName] = o.oldSelf
	}
	return variables
}

// sizesOf estimates sizes from the limits in a schema, as the API server does for the rules of a CRD.
type sizesOf struct{ root *apiservercel.DeclType }

func (s sizesOf) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	at := s.root
	for _, step := range path[1:] {
		if at = below(at, step); at == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Max: uint64(at.MaxElements)}
}

func below(parent *apiservercel.DeclType, step string) *apiservercel.DeclType {
	if step == "@items" || step == "@values" {
		return parent.ElemType
	}
	if step == "@keys" {
		return parent.KeyType
	}
	if field, ok := parent.Fields[step]; ok {
		return field.Type
	}
	return nil
}

func (s sizesOf) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
