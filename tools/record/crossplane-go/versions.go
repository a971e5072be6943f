// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	"github.com/Masterminds/semver/v3"
)

func init() {
	subjects["version-constraints"] = checkConstraint
	subjects["versions"] = parseVersion
	subjects["version-order"] = orderVersions
}

// checkConstraint answers which versions a constraint allows.
func checkConstraint(raw json.RawMessage) (any, error) {
	var question struct {
		Constraint string
		Versions   []string
	}
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	constraint, err := semver.NewConstraint(question.Constraint)
	if err != nil {
		return map[string]any{"valid": false}, nil
	}
	var satisfied []string
	for _, text := range question.Versions {
		version, err := semver.NewVersion(text)
		if err != nil {
			return nil, err
		}
		if constraint.Check(version) {
			satisfied = append(satisfied, text)
		}
	}
	if satisfied == nil {
		return map[string]any{"valid": true}, nil
	}
	return map[string]any{"valid": true, "satisfied": satisfied}, nil
}

// parseVersion prints a version in full, or answers "error".
func parseVersion(raw json.RawMessage) (any, error) {
	var question struct{ Version string }
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	version, err := semver.NewVersion(question.Version)
	if err != nil {
		return map[string]any{"parsed": "error"}, nil
	}
	return map[string]any{"parsed": version.String()}, nil
}

// orderVersions compares a version with each of others.
func orderVersions(raw json.RawMessage) (any, error) {
	var question struct {
		Version  string
		Versions []string
	}
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	version, err := semver.NewVersion(question.Version)
	if err != nil {
		return nil, err
	}
	orders := make([]int, len(question.Versions))
	for i, text := range question.Versions {
		other, err := semver.NewVersion(text)
		if err != nil {
			return nil, err
		}
		orders[i] = version.Compare(other)
	}
	return map[string]any{"orders": orders}, nil
}
