// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	kubejson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func init() {
	subjects["json-texts"] = readText
	subjects["field-sets"] = readFieldSet
}

// readText reads JSON as the API server reads bodies, and prints it again.
func readText(raw json.RawMessage) (any, error) {
	var question struct{ Text string }
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	var value any
	strict, err := kubejson.UnmarshalStrict([]byte(question.Text), &value)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	printed, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{"printed": string(printed)}
	if len(strict) > 0 {
		texts := make([]string, len(strict))
		for i, one := range strict {
			texts[i] = one.Error()
		}
		answer["strict"] = texts
	}
	return answer, nil
}

// readFieldSet reads the fields of an entry of managedFields.
func readFieldSet(raw json.RawMessage) (any, error) {
	var question struct{ Fields string }
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(newReader(question.Fields)); err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	encoded, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	paths := []string{}
	set.Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
	return map[string]any{"encoded": string(encoded), "paths": paths}, nil
}
