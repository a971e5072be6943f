// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type statusCall struct {
	Fn, Group, Resource, Name, Text, Kind string
	N                                     int
	Causes                                []metav1.StatusCause
	Errors                                []fieldCall
}

type fieldCall struct {
	Type, Field, Detail string
	Value               any
	N                   int
	Supported           []string
}

func init() {
	subjects["status-errors"] = statusSubject(func(call statusCall) (*apierrors.StatusError, error) {
		constructor, ok := statusConstructors[call.Fn]
		if !ok {
			return nil, fmt.Errorf("unknown constructor %q", call.Fn)
		}
		return constructor(call, schema.GroupResource{Group: call.Group, Resource: call.Resource}), nil
	})
	subjects["status-invalid"] = statusSubject(func(call statusCall) (*apierrors.StatusError, error) {
		list := field.ErrorList{}
		for _, one := range call.Errors {
			problem, err := one.construct()
			if err != nil {
				return nil, err
			}
			list = append(list, problem)
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: call.Group, Kind: call.Kind}, call.Name, list), nil
	})
	subjects["patch-options"] = validatePatchOptions
}

// statusSubject writes a status as the API server does, which adds the type.
func statusSubject(construct func(statusCall) (*apierrors.StatusError, error)) subject {
	return func(raw json.RawMessage) (any, error) {
		var question struct{ Call statusCall }
		if err := json.Unmarshal(raw, &question); err != nil {
			return nil, err
		}
		made, err := construct(question.Call)
		if err != nil {
			return nil, err
		}
		status := made.ErrStatus
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		return map[string]any{"status": status}, nil
	}
}

var statusConstructors = map[string]func(statusCall, schema.GroupResource) *apierrors.StatusError{
	"notFound": func(c statusCall, of schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewNotFound(of, c.Name)
	},
	"alreadyExists": func(c statusCall, of schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewAlreadyExists(of, c.Name)
	},
	"generateNameConflict": func(c statusCall, of schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewGenerateNameConflict(of, c.Name, c.N)
	},
	"conflict": func(c statusCall, of schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewConflict(of, c.Name, errors.New(c.Text))
	},
	"applyConflict": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewApplyConflict(c.Causes, c.Text)
	},
	// This is how the API server answers a patch that cannot be applied.
	"patchNotApplicable": func(c statusCall, of schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", of, "", c.Text, 0, false)
	},
	"badRequest": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewBadRequest(c.Text)
	},
	"unauthorized": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewUnauthorized(c.Text)
	},
	"forbidden": func(c statusCall, of schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewForbidden(of, c.Name, errors.New(c.Text))
	},
	"methodNotSupported": func(c statusCall, of schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewMethodNotSupported(of, c.Text)
	},
	"expired": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewResourceExpired(c.Text)
	},
	"gone": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError { return apierrors.NewGone(c.Text) },
	"requestEntityTooLarge": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewRequestEntityTooLargeError(c.Text)
	},
	"tooManyRequests": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewTooManyRequests(c.Text, c.N)
	},
	"internalError": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewInternalError(errors.New(c.Text))
	},
	"serviceUnavailable": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewServiceUnavailable(c.Text)
	},
	"serverTimeout": func(c statusCall, of schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewServerTimeout(of, c.Text, c.N)
	},
	"timeout": func(c statusCall, _ schema.GroupResource) *apierrors.StatusError {
		return apierrors.NewTimeoutError(c.Text, c.N)
	},
}

func (c fieldCall) construct() (*field.Error, error) {
	var path *field.Path
	if c.Field != "" {
		path = field.NewPath(c.Field)
	}
	count, _ := c.Value.(float64)
	switch c.Type {
	case "Invalid":
		return field.Invalid(path, c.Value, c.Detail), nil
	case "TypeInvalid":
		return field.TypeInvalid(path, c.Value, c.Detail), nil
	case "Required":
		return field.Required(path, c.Detail), nil
	case "Forbidden":
		return field.Forbidden(path, c.Detail), nil
	case "NotSupported":
		return field.NotSupported(path, c.Value, c.Supported), nil
	case "Duplicate":
		return field.Duplicate(path, c.Value), nil
	case "NotFound":
		return field.NotFound(path, c.Value), nil
	case "TooLong":
		return field.TooLong(path, "", c.N), nil
	case "TooMany":
		return field.TooMany(path, int(count), c.N), nil
	case "TooFew":
		return field.TooFew(path, int(count), c.N), nil
	case "TooShort":
		return field.TooShort(path, "", c.N), nil
	case "Internal":
		return field.InternalError(path, errors.New(c.Detail)), nil
	}
	return nil, fmt.Errorf("unknown type of error %q", c.Type)
}

// validatePatchOptions checks the parameters of a PATCH request.
func validatePatchOptions(raw json.RawMessage) (any, error) {
	var question struct {
		Options *metav1.PatchOptions
		Apply   bool
	}
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	patchType := types.JSONPatchType
	if question.Apply {
		patchType = types.ApplyYAMLPatchType
	}
	return map[string]any{"errors": report([]fieldError{}, metavalidation.ValidatePatchOptions(question.Options, patchType))}, nil
}
