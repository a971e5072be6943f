// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectAt, objectsAt, textAt } from "@purlin/kube-objects/object";

/** The fields of a CRD about which `kubectl explain` has nothing to say, as `Kind version: path`. */
export function undescribedFields(crd: KubeObject): string[] {
  const kind = textAt(crd, ["spec", "names", "kind"]);
  return objectsAt(crd, ["spec", "versions"]).flatMap((version) => {
    const root = objectAt(version, ["schema", "openAPIV3Schema"]);
    const missing = typeof root["description"] === "string" ? [] : ["(the kind itself)"];
    // The API server describes metadata by itself, and refuses a description of it in a CRD.
    const fields = fieldsOf(root, "").filter((path) => path !== ".metadata");
    return [...missing, ...fields].map((path) => `${kind} ${version["name"]}: ${path}`);
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
