// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects";
import { objectAt, objectsAt, textAt } from "./crd-spec.ts";

/** Fills in what the server fills in: the singular and list names, the conversion strategy, the webhook's port. */
export function withCrdDefaults(crd: JsonObject): JsonObject {
  const spec = objectAt(crd, "spec");
  if (spec === undefined) return crd;
  const names = objectAt(spec, "names") ?? {};
  return {
    ...crd,
    spec: { ...spec, names: defaultNames(names), conversion: defaultConversion(objectAt(spec, "conversion")) },
  };
}

function defaultNames(names: JsonObject): JsonObject {
  const kind = textAt(names, "kind");
  const filled: Record<string, JsonValue> = { ...names };
  if (textAt(names, "singular") === "" && kind !== "") filled["singular"] = kind.toLowerCase();
  if (textAt(names, "listKind") === "" && kind !== "") filled["listKind"] = `${kind}List`;
  return filled;
}

function defaultConversion(conversion: JsonObject | undefined): JsonObject {
  if (conversion === undefined || textAt(conversion, "strategy") === "") return { ...conversion, strategy: "None" };
  const webhook = objectAt(conversion, "webhook");
  const clientConfig = webhook && objectAt(webhook, "clientConfig");
  const service = clientConfig && objectAt(clientConfig, "service");
  if (!isJsonObject(service) || service["port"] !== undefined) return conversion;
  return {
    ...conversion,
    webhook: { ...webhook, clientConfig: { ...clientConfig, service: { ...service, port: 443 } } },
  };
}

/** The status a CRD has when it is created: its storage version is the only one ever stored. */
export function initialCrdStatus(crd: JsonObject): JsonObject {
  const spec = objectAt(crd, "spec") ?? {};
  const storage = objectsAt(spec, "versions").find((version) => version["storage"] === true);
  return {
    conditions: null,
    acceptedNames: { plural: "", kind: "" },
    storedVersions: storage === undefined ? null : [textAt(storage, "name")],
  };
}
