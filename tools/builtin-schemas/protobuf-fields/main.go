// SPDX-License-Identifier: Apache-2.0

// Command protobuf-fields prints the protobuf fields of the Go types of Kubernetes' API as JSON: type name to a list of
// [field number, JSON name, type, flags], or "=underlying type". Names of kinds, such as `core.v1.Pod`, come as arguments; the types
// that their fields refer to are printed too.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// A row is the number, JSON name, type and flags of a field.
type row [4]any

type table map[string]any

func main() {
	kinds := knownKinds()
	fields := table{}
	for _, name := range os.Args[1:] {
		kind, ok := kinds[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "no Go type is registered for %s\n", name)
			os.Exit(1)
		}
		fields.add(kind)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// knownKinds returns the Go types of all registered kinds by their name in the table.
func knownKinds() map[string]reflect.Type {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
		admissionv1.AddToScheme, admissionv1beta1.AddToScheme, apiextensionsv1beta1.AddToScheme,
	} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	kinds := map[string]reflect.Type{}
	for _, kind := range all.AllKnownTypes() {
		kinds[typeText(kind)] = kind
	}
	partial := reflect.TypeFor[metav1.PartialObjectMetadata]()
	kinds[typeText(partial)] = partial
	return kinds
}

// add adds a type and every type that its fields refer to.
func (fields table) add(goType reflect.Type) {
	switch goType.Kind() {
	case reflect.Pointer:
		fields.add(goType.Elem())
		return
	case reflect.Slice, reflect.Map:
		fields.add(goType.Elem())
	}
	name := typeText(goType)
	if _, known := fields[name]; known || goType.PkgPath() == "" || !isListed(name) {
		return
	}
	if goType.Kind() != reflect.Struct {
		fields[name] = "=" + underlyingText(goType)
		return
	}
	rows := []row{}
	fields[name] = rows
	for i := range goType.NumField() {
		if entry, ok := rowOf(goType.Field(i)); ok {
			rows = append(rows, entry)
			fields.add(goType.Field(i).Type)
		}
	}
	fields[name] = rows
}

// isListed reports whether the table lists a type; the readers of the table know the others by name.
func isListed(name string) bool {
	return strings.Count(name, ".") == 2
}

// rowOf returns the row of a field; false when the field is not encoded.
func rowOf(field reflect.StructField) (row, bool) {
	tag := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(tag) < 2 {
		return row{}, false
	}
	number, err := strconv.Atoi(tag[1])
	if err != nil {
		panic(err)
	}
	options := strings.Split(field.Tag.Get("json"), ",")
	if options[0] == "-" {
		return row{}, false
	}
	flags := ""
	for _, option := range options[1:] {
		flags += map[string]string{"omitempty": "o", "omitzero": "z", "inline": "i"}[option]
	}
	if options[0] == "" && field.Anonymous && !strings.Contains(flags, "i") {
		flags += "i"
	}
	if field.Type.Kind() == reflect.Pointer {
		flags += "p"
	}
	return row{number, options[0], typeText(field.Type), flags}, true
}

// typeText returns the name of a type in the table.
func typeText(goType reflect.Type) string {
	if goType.Kind() == reflect.Pointer {
		return typeText(goType.Elem())
	}
	if goType.PkgPath() == "" {
		return underlyingText(goType)
	}
	parts := strings.Split(goType.PkgPath(), "/")
	prefix := parts[len(parts)-1]
	if len(prefix) > 1 && prefix[0] == 'v' && strings.ContainsAny(prefix[1:2], "0123456789") {
		prefix = parts[len(parts)-2] + "." + prefix
	}
	return prefix + "." + goType.Name()
}

func underlyingText(goType reflect.Type) string {
	switch goType.Kind() {
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "[]byte"
		}
		return "[]" + typeText(goType.Elem())
	case reflect.Map:
		return "map[" + typeText(goType.Key()) + "]" + typeText(goType.Elem())
	default:
		return goType.Kind().String()
	}
}
