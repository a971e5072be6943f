// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { objectAt, objectsAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";

/**
 * Fills in what the server fills in: the singular and list names, the conversion strategy, the webhook's port, and the version that
 * is stored where no version is said to be.
 */
export function withCrdDefaults(crd: JsonObject): JsonObject {
  const spec = optionalObjectAt(crd, ["spec"]);
  if (spec === undefined) return crd;
  const names = objectAt(spec, ["names"]);
  return {
    ...crd,
    spec: {
      ...spec,
      names: defaultNames(names),
      conversion: defaultConversion(optionalObjectAt(spec, ["conversion"])),
    },
    ...defaultStatus(crd, spec),
  };
}

function defaultStatus(crd: JsonObject, spec: JsonObject): { readonly status?: JsonObject } {
  const status = optionalObjectAt(crd, ["status"]);
  const storage = storageVersion(spec);
  if (status === undefined || storage === undefined || textsAt(status, ["storedVersions"]).length > 0) return {};
  return { status: { ...status, storedVersions: [storage] } };
}

/** The name of the version that objects are stored in. */
function storageVersion(spec: JsonObject): string | undefined {
  const storage = objectsAt(spec, ["versions"]).find((version) => version["storage"] === true);
  return storage && stringAt(storage, ["name"]);
}

function defaultNames(names: JsonObject): JsonObject {
  const kind = stringAt(names, ["kind"]);
  const filled: Record<string, JsonValue> = { ...names };
  if (stringAt(names, ["singular"]) === "" && kind !== "") filled["singular"] = kind.toLowerCase();
  if (stringAt(names, ["listKind"]) === "" && kind !== "") filled["listKind"] = `${kind}List`;
  return filled;
}

function defaultConversion(conversion: JsonObject | undefined): JsonObject {
  if (conversion === undefined || stringAt(conversion, ["strategy"]) === "") return { ...conversion, strategy: "None" };
  const webhook = optionalObjectAt(conversion, ["webhook"]);
  const clientConfig = webhook && optionalObjectAt(webhook, ["clientConfig"]);
  const service = clientConfig && optionalObjectAt(clientConfig, ["service"]);
  if (!isJsonObject(service) || service["port"] !== undefined) return conversion;
  return {
    ...conversion,
    webhook: { ...webhook, clientConfig: { ...clientConfig, service: { ...service, port: 443 } } },
  };
}

/** The status a CRD has when it is created: its storage version is the only one ever stored. */
export function initialCrdStatus(crd: JsonObject): JsonObject {
  const storage = storageVersion(objectAt(crd, ["spec"]));
  return {
    conditions: null,
    acceptedNames: { plural: "", kind: "" },
    storedVersions: storage === undefined ? null : [storage],
  };
}
