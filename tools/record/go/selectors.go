// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type selectorQuestion struct {
	Text   string
	Object *metav1.LabelSelector
	Sets   []map[string]string
}

func init() {
	subjects["label-selectors"] = selectorSubject(func(q selectorQuestion) (any, error) {
		selector, err := labels.Parse(q.Text)
		return describeLabels(selector, err, q.Sets), nil
	})
	subjects["field-selectors"] = selectorSubject(func(q selectorQuestion) (any, error) {
		selector, err := fields.ParseSelector(q.Text)
		if err != nil {
			return map[string]any{"error": err.Error()}, nil
		}
		return described(selector.String(), q.Sets, func(set map[string]string) bool { return selector.Matches(fields.Set(set)) }), nil
	})
	subjects["selector-objects"] = selectorSubject(func(q selectorQuestion) (any, error) {
		path := field.NewPath("spec", "selector")
		problems := report([]fieldError{}, validation.ValidateLabelSelector(q.Object, validation.LabelSelectorValidationOptions{}, path))
		selector, err := metav1.LabelSelectorAsSelector(q.Object)
		answer := describeLabels(selector, err, q.Sets)
		answer["validation"] = problems
		return answer, nil
	})
}

func selectorSubject(answer func(selectorQuestion) (any, error)) subject {
	return func(raw json.RawMessage) (any, error) {
		var question selectorQuestion
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		return answer(question)
	}
}

func describeLabels(selector labels.Selector, err error, sets []map[string]string) map[string]any {
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return described(selector.String(), sets, func(set map[string]string) bool { return selector.Matches(labels.Set(set)) })
}

// described says which of the sets a selector matches, a digit for each.
func described(text string, sets []map[string]string, matches func(map[string]string) bool) map[string]any {
	digits := make([]byte, len(sets))
	for i, set := range sets {
		digits[i] = '0'
		if matches(set) {
			digits[i] = '1'
		}
	}
	return map[string]any{"string": text, "matches": string(digits)}
}
