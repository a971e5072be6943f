// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const widgetGroup = "example.org"

// widgetSchemas holds a schema for each version of the widget.
type widgetSchemas map[string]*apiextensionsv1.JSONSchemaProps

// converter builds the types of the widget as the API server builds those of a custom resource.
func (w widgetSchemas) converter() (managedfields.TypeConverter, error) {
	models := map[string]*spec.Schema{}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	definition.Spec.Group = widgetGroup
	definition.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"}
	definition.Spec.Scope = apiextensionsv1.NamespaceScoped
	for version, schema := range w {
		definition.Spec.Versions = append(definition.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: version, Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
		})
	}
	for version := range w {
		document, err := builder.BuildOpenAPIV3(definition, version, builder.Options{})
		if err != nil {
			return nil, err
		}
		for name, model := range document.Components.Schemas {
			models[name] = model
		}
	}
	return managedfields.NewTypeConverter(models, false)
}

// widgetConversion converts between the versions of the widget: what v1 calls spec.replicas, v2 calls spec.count.
type widgetConversion struct{ runtime.ObjectConvertor }

func (widgetConversion) ConvertToVersion(object runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	kind := object.GetObjectKind().GroupVersionKind()
	wanted, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{kind})
	if !ok {
		wanted = kind
		wanted.Version = target.(schema.GroupVersion).Version
	}
	if wanted.Version != "v1" && wanted.Version != "v2" {
		return nil, runtime.NewNotRegisteredErrForKind("widget", wanted)
	}
	converted := object.DeepCopyObject().(*unstructured.Unstructured)
	converted.SetGroupVersionKind(wanted)
	if spec, ok := converted.Object["spec"].(map[string]any); ok {
		from, to := "count", "replicas"
		if wanted.Version == "v2" {
			from, to = to, from
		}
		if value, found := spec[from]; found {
			delete(spec, from)
			spec[to] = value
		}
	}
	return converted, nil
}

// widgetMaker makes empty objects and adds no defaults.
type widgetMaker struct{}

func (widgetMaker) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	return object, nil
}

func (widgetMaker) Default(runtime.Object) {}

func widgetKind(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: widgetGroup, Version: version, Kind: "Widget"}
}

func newWidgetManager(types managedfields.TypeConverter, version, subresource string, reset map[fieldpath.APIVersion]fieldpath.Filter) (*managedfields.FieldManager, error) {
	kind := widgetKind(version)
	return managedfields.NewDefaultCRDFieldManager(types, widgetConversion{}, widgetMaker{}, widgetMaker{}, kind, kind.GroupVersion(), subresource, reset)
}

func decodeObject(raw json.RawMessage) (*unstructured.Unstructured, error) {
	object := map[string]any{}
	err := utiljson.Unmarshal(raw, &object)
	return &unstructured.Unstructured{Object: object}, err
}

func statusWithoutType(status metav1.Status) metav1.Status {
	status.TypeMeta = metav1.TypeMeta{}
	return status
}
