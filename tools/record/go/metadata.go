// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type fieldError struct {
	Body  string `json:"body"`
	Field string `json:"field"`
	Type  string `json:"type"`
}

func report(out []fieldError, list field.ErrorList) []fieldError {
	for _, one := range list {
		out = append(out, fieldError{Body: one.ErrorBody(), Field: one.Field, Type: string(one.Type)})
	}
	return out
}

var nameRules = map[string]validation.ValidateNameFunc{
	"subdomain": validation.NameIsDNSSubdomain,
	"label":     validation.NameIsDNSLabel,
	"label1035": validation.NameIsDNS1035Label,
	"segment":   path.ValidatePathSegmentName,
	"path":      path.ValidatePathSegmentName,
}

func init() {
	subjects["metadata"] = func(raw json.RawMessage) (any, error) {
		var question struct {
			Call struct {
				Meta, Old  *metav1.ObjectMeta
				Namespaced bool
				Name       string
			}
		}
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		call, at := question.Call, field.NewPath("metadata")
		if call.Old != nil {
			return map[string]any{"errors": report([]fieldError{}, validation.ValidateObjectMetaUpdate(call.Meta, call.Old, at))}, nil
		}
		list := validation.ValidateObjectMeta(call.Meta, call.Namespaced, nameRules[call.Name], at)
		return map[string]any{"errors": report([]fieldError{}, list)}, nil
	}
}
