// SPDX-License-Identifier: Apache-2.0
package main

import (
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

const boatGroup = "yard.example.org"

// A Boat of v1, the stored version, has its size in one text.
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BoatSpec `json:"spec"`
}

type BoatSpec struct {
	Size string `json:"size"`
	Crew int    `json:"crew,omitempty"`
}

type BoatList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Boat `json:"items"`
}

// Hub says that all conversions go through v1.
func (*Boat) Hub() {}

func (in *Boat) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (in *BoatList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = make([]Boat, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Boat)
	}
	return &out
}

// A BoatV2 has its size in two fields.
type BoatV2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BoatV2Spec `json:"spec"`
}

type BoatV2Spec struct {
	Length int    `json:"length"`
	Unit   string `json:"unit"`
	Crew   int    `json:"crew,omitempty"`
}

type BoatV2List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BoatV2 `json:"items"`
}

func (in *BoatV2) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (in *BoatV2List) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = make([]BoatV2, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*BoatV2)
	}
	return &out
}

// ConvertTo makes the stored version. Boats are at sea in metres only.
func (in *BoatV2) ConvertTo(hub conversion.Hub) error {
	boat := hub.(*Boat)
	if in.Spec.Unit != "m" {
		return fmt.Errorf("unknown unit %q", in.Spec.Unit)
	}
	boat.ObjectMeta = in.ObjectMeta
	boat.Spec = BoatSpec{Size: fmt.Sprintf("%d%s", in.Spec.Length, in.Spec.Unit), Crew: in.Spec.Crew}
	return nil
}

func (in *BoatV2) ConvertFrom(hub conversion.Hub) error {
	boat := hub.(*Boat)
	length, unit, err := parseSize(boat.Spec.Size)
	if err != nil {
		return err
	}
	in.ObjectMeta = boat.ObjectMeta
	in.Spec = BoatV2Spec{Length: length, Unit: unit, Crew: boat.Spec.Crew}
	return nil
}

func parseSize(size string) (length int, unit string, err error) {
	if _, err := fmt.Sscanf(size, "%d%s", &length, &unit); err != nil {
		return 0, "", fmt.Errorf("%q is not a size", size)
	}
	return length, unit, nil
}

func addBoats(scheme *runtime.Scheme) {
	v1 := schema.GroupVersion{Group: boatGroup, Version: "v1"}
	v2 := schema.GroupVersion{Group: boatGroup, Version: "v2"}
	scheme.AddKnownTypes(v1, &Boat{}, &BoatList{})
	scheme.AddKnownTypeWithName(v2.WithKind("Boat"), &BoatV2{})
	scheme.AddKnownTypeWithName(v2.WithKind("BoatList"), &BoatV2List{})
	metav1.AddToGroupVersion(scheme, v1)
	metav1.AddToGroupVersion(scheme, v2)
}

func boatDefinition(url string, bundle []byte) *apiextensions.CustomResourceDefinition {
	text, integer := apiextensions.JSONSchemaProps{Type: "string"}, apiextensions.JSONSchemaProps{Type: "integer"}
	crew := apiextensions.JSONSchemaProps{Type: "integer", Default: &apiextensions.JSON{Raw: []byte("3")}}
	version := func(name string, fields map[string]apiextensions.JSONSchemaProps) apiextensions.CustomResourceDefinitionVersion {
		spec := apiextensions.JSONSchemaProps{Type: "object", Properties: fields}
		root := &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"spec": spec}}
		schema := &apiextensions.CustomResourceValidation{OpenAPIV3Schema: root}
		return apiextensions.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: name == "v1", Schema: schema}
	}
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "boats." + boatGroup},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: boatGroup,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "boats", Singular: "boat", Kind: "Boat", ListKind: "BoatList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{
				version("v1", map[string]apiextensions.JSONSchemaProps{"size": text, "crew": crew}),
				version("v2", map[string]apiextensions.JSONSchemaProps{"length": integer, "unit": text, "crew": crew}),
			},
			Conversion: &apiextensions.CustomResourceConversion{
				Strategy: apiextensions.WebhookConverter,
				Webhook: &apiextensions.WebhookConversion{
					ClientConfig:             &apiextensions.WebhookClientConfig{URL: &url, CABundle: bundle},
					ConversionReviewVersions: []string{"v1"},
				},
			},
		},
	}
}
