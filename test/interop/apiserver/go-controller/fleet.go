// SPDX-License-Identifier: Apache-2.0
package main

import (
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var fleetVersion = schema.GroupVersion{Group: "harbour.example.org", Version: "v1"}

// A Fleet wants a number of ships; each ship is a ConfigMap it owns.
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FleetSpec   `json:"spec"`
	Status            FleetStatus `json:"status,omitempty"`
}

type FleetSpec struct {
	Ships  int    `json:"ships"`
	Colour string `json:"colour,omitempty"`
}

type FleetStatus struct {
	Ships              int                `json:"ships"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Version            string             `json:"version,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type FleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Fleet `json:"items"`
}

func (in *Fleet) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = append([]metav1.Condition(nil), in.Status.Conditions...)
	return &out
}

func (in *FleetList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = make([]Fleet, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Fleet)
	}
	return &out
}

func addFleet(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(fleetVersion, &Fleet{}, &FleetList{})
	metav1.AddToGroupVersion(scheme, fleetVersion)
}

func fleetDefinition() *apiextensions.CustomResourceDefinition {
	minimum := float64(0)
	integer := apiextensions.JSONSchemaProps{Type: "integer", Minimum: &minimum}
	keep := true
	properties := map[string]apiextensions.JSONSchemaProps{
		"spec": {
			Type:     "object",
			Required: []string{"ships"},
			Properties: map[string]apiextensions.JSONSchemaProps{
				"ships":  integer,
				"colour": {Type: "string", Default: &apiextensions.JSON{Raw: []byte(`"blue"`)}},
			},
		},
		"status": {Type: "object", XPreserveUnknownFields: &keep},
	}
	return &apiextensions.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "fleets." + fleetVersion.Group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: fleetVersion.Group,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "fleets", Singular: "fleet", Kind: "Fleet", ListKind: "FleetList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name:         fleetVersion.Version,
				Served:       true,
				Storage:      true,
				Subresources: &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				Schema: &apiextensions.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", Required: []string{"spec"}, Properties: properties},
				},
			}},
		},
	}
}
