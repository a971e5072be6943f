// SPDX-License-Identifier: Apache-2.0

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

/** The fields of a CRD about which `kubectl explain` has nothing to say, as `Kind version: path`. */
export function undescribedFields(crd: KubeObject): string[] {
  const { names, versions } = crd["spec"] as unknown as {
    readonly names: { readonly kind: string };
    readonly versions: JsonValue;
  };
  return (isJsonArray(versions) ? versions : []).flatMap((version) => {
    const { name, schema } = version as unknown as { readonly name: string; readonly schema: JsonObject };
    const root = schema["openAPIV3Schema"] as JsonObject;
    const missing = typeof root["description"] === "string" ? [] : ["(the kind itself)"];
    // The API server describes metadata by itself, and refuses a description of it in a CRD.
    const fields = fieldsOf(root, "").filter((path) => path !== ".metadata");
    return [...missing, ...fields].map((path) => `${names.kind} ${name}: ${path}`);
  });
}

function fieldsOf(schema: JsonObject, path: string): string[] {
  const inner = [schema["items"], schema["additionalProperties"]].filter((one) => isJsonObject(one));
  const properties = isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return [
    ...inner.flatMap((one) => fieldsOf(one, path)),
    ...properties.flatMap(([name, field]) => {
      const own = `${path}.${name}`;
      if (!isJsonObject(field)) return [own];
      return [...(field["description"] ? [] : [own]), ...fieldsOf(field, own)];
    }),
  ];
}
