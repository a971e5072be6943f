// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { type FieldError, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { dns1035LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { isPort, portRange } from "../objects/checks.ts";
import { metaOf } from "../objects/object-meta.ts";
import type { KindRules } from "../strategy/kind-rules.ts";
import { ageColumn, ageOfObject, column, nameColumn, nameOfObject } from "../table/table.ts";

/** The group of APIServices. */
export const registrationGroup = "apiregistration.k8s.io";
/** The keys of APIServices in the store. */
export const apiServicesPrefix: string = `/${registrationGroup}/apiservices/`;

/** A group version that another server serves. */
export interface RemoteApi {
  /** The name of the APIService. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** PEM in base64; empty for the authorities of the system. */
  readonly caBundle: string;
  readonly skipsVerification: boolean;
}

/** What an APIService says about another server; undefined for an APIService of this server. */
export function remoteApiOf(object: JsonObject): RemoteApi | undefined {
  const spec = objectAt(object, ["spec"]);
  if (!isJsonObject(spec["service"])) return undefined;
  return {
    name: metaOf(object).name ?? "",
    group: stringAt(spec, ["group"]),
    version: stringAt(spec, ["version"]),
    groupPriority: numberAt(spec, ["groupPriorityMinimum"]) ?? 0,
    versionPriority: numberAt(spec, ["versionPriority"]) ?? 0,
    service: {
      namespace: stringAt(spec, ["service", "namespace"]),
      name: stringAt(spec, ["service", "name"]),
      port: numberAt(spec, ["service", "port"]) || defaultPort,
    },
    caBundle: stringAt(spec, ["caBundle"]),
    skipsVerification: spec["insecureSkipTLSVerify"] === true,
  };
}

const defaultPort = 443;

/** The `Available` condition of an APIService. */
export function availableCondition(object: JsonObject): JsonObject | undefined {
  return objectsAt(object, ["status", "conditions"]).find((one) => one["type"] === "Available");
}

/** The rules of APIServices. */
export const apiServiceRules: KindRules = {
  defaults: withDefaultPort,
  validate: apiServiceErrors,
  printer: {
    columns: [nameColumn, column("Service"), column("Available"), ageColumn],
    cells: (object, now) => [
      nameOfObject(object),
      serviceCell(object),
      availableCell(object),
      ageOfObject(object, now),
    ],
  },
};

function withDefaultPort(object: JsonObject): JsonObject {
  const service = memberAt(object, ["spec", "service"]);
  if (!isJsonObject(service) || service["port"] !== undefined) return object;
  return { ...object, spec: { ...objectAt(object, ["spec"]), service: { ...service, port: defaultPort } } };
}

function serviceCell(object: JsonObject): string {
  const remote = remoteApiOf(object);
  return remote === undefined ? "Local" : `${remote.service.namespace}/${remote.service.name}`;
}

function availableCell(object: JsonObject): string {
  const condition = availableCondition(object);
  if (condition === undefined) return "Unknown";
  const status = stringAt(condition, ["status"]);
  return status === "True" ? status : `${status} (${stringAt(condition, ["reason"])})`;
}

function apiServiceErrors(object: JsonObject): FieldError[] {
  const spec = objectAt(object, ["spec"]);
  const [group, version] = [stringAt(spec, ["group"]), stringAt(spec, ["version"])];
  const name = metaOf(object).name ?? "";
  const wanted = `${version}.${group}`;
  return [
    ...(name === wanted
      ? []
      : [invalidValue("metadata.name", name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`)]),
    ...groupErrors(group, version),
    ...dns1035LabelProblems(version).map((problem) => invalidValue("spec.version", version, problem)),
    ...priorityErrors(spec, "groupPriorityMinimum", 20_000),
    ...priorityErrors(spec, "versionPriority", 1_000),
    ...(isJsonObject(spec["service"]) ? serviceErrors(spec["service"]) : localErrors(spec)),
    ...(spec["insecureSkipTLSVerify"] === true && stringAt(spec, ["caBundle"]) !== "" && isJsonObject(spec["service"])
      ? [invalidValue("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present")]
      : []),
  ];
}

function groupErrors(group: string, version: string): FieldError[] {
  if (group !== "") return dns1123SubdomainProblems(group).map((problem) => invalidValue("spec.group", group, problem));
  if (version === "v1") return [];
  return [requiredValue("spec.group", "only v1 may have an empty group and it better be legacy kube")];
}

function priorityErrors(spec: JsonObject, field: string, most: number): FieldError[] {
  const value = numberAt(spec, [field]) ?? 0;
  if (value > 0 && value <= most) return [];
  return [invalidValue(`spec.${field}`, value, `must be positive and less than ${most}`)];
}

function serviceErrors(service: JsonObject): FieldError[] {
  const port: JsonValue | undefined = service["port"];
  return [
    ...["namespace", "name"].flatMap((field) =>
      stringAt(service, [field]) === "" ? [requiredValue(`spec.service.${field}`)] : [],
    ),
    ...(port === undefined || isPort(port)
      ? []
      : [invalidValue("spec.service.port", port, `port is not valid: ${portRange}`)]),
  ];
}

function localErrors(spec: JsonObject): FieldError[] {
  const bytes = Buffer.from(stringAt(spec, ["caBundle"]), "base64").length;
  return [
    ...(bytes === 0
      ? []
      : [invalidValue("spec.caBundle", `${bytes} bytes`, "local APIServices may not have a caBundle")]),
    ...(spec["insecureSkipTLSVerify"] === true
      ? [invalidValue("spec.insecureSkipTLSVerify", true, "local APIServices may not have insecureSkipTLSVerify")]
      : []),
  ];
}
