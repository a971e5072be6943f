// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	v1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func init() {
	subjects["composite-crd"] = derive(xcrd.ForCompositeResource)
	subjects["claim-crd"] = derive(xcrd.ForCompositeResourceClaim)
}

// derive answers with the CRD that Crossplane makes of a CompositeResourceDefinition.
func derive(from func(*v1.CompositeResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error)) subject {
	return func(raw json.RawMessage) (any, error) {
		definition := &v1.CompositeResourceDefinition{}
		if err := json.Unmarshal(raw, definition); err != nil {
			return nil, err
		}
		return from(definition)
	}
}
