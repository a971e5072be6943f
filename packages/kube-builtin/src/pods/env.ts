// SPDX-License-Identifier: Apache-2.0

import { all, type Check, eachItem, listAt, maybeNamed, named, needed, within } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { configKeyProblems } from "../config/config-data.ts";

const nameProblem = "a valid environment variable name must consist only of printable ASCII characters other than '='";

function envNameProblems(name: string): string[] {
  return /^[ -<>-~]+$/.test(name) ? [] : [nameProblem];
}

const knownFields: readonly string[] = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

const resources: readonly string[] = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];

const fieldRef: Check = (ref, path) => {
  const field = stringAt(ref, ["fieldPath"]);
  if (field === "") return [requiredValue(`${path}.fieldPath`)];
  const isKnown = knownFields.includes(field) || /^metadata\.(labels|annotations)\['[^']+'\]$/.test(field);
  const why = `error converting fieldPath: field label not supported: ${field}`;
  return isKnown ? [] : [invalidValue(`${path}.fieldPath`, field, why)];
};

const resourceRef: Check = (ref, path) => {
  const resource = stringAt(ref, ["resource"]);
  if (resource === "") return [requiredValue(`${path}.resource`)];
  const isKnown = resources.includes(resource) || /^(limits|requests)\.hugepages-/.test(resource);
  return isKnown ? [] : [unsupportedValue(`${path}.resource`, resource, resources)];
};

const subdomain: Check = (ref, path) =>
  dns1123SubdomainProblems(stringAt(ref, ["name"])).map((problem) =>
    invalidValue(`${path}.name`, stringAt(ref, ["name"]), problem),
  );
const keyRef: Check = all(subdomain, named("key", configKeyProblems));

const sources: Readonly<Record<string, Check>> = {
  fieldRef,
  resourceFieldRef: resourceRef,
  configMapKeyRef: keyRef,
  secretKeyRef: keyRef,
  fileKeyRef: () => [],
};
const oneOf = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";

function valueFrom(variable: JsonObject, path: string): FieldError[] {
  const from = memberAt(variable, ["valueFrom"]);
  if (!isJsonObject(from)) return [];
  const given = Object.keys(sources).filter((name) => isJsonObject(from[name]));
  const found = given.flatMap((name) => within(name, sources[name] ?? (() => []))(from, path));
  if (given.length === 0) return [invalidValue(path, "", `must specify one of: ${oneOf}`)];
  if (stringAt(variable, ["value"]) !== "") {
    return [...found, invalidValue(path, "", "may not be specified when `value` is not empty")];
  }
  return given.length > 1
    ? [...found, invalidValue(path, "", "may not have more than one field specified at a time")]
    : found;
}

/** What is wrong with the variables of a container. */
export const env: Check = eachItem("env", (variable, path) => [
  ...named("name", envNameProblems)(variable, path),
  ...valueFrom(variable, `${path}.valueFrom`),
]);

/** What is wrong with whole sets of variables. */
export const envFrom: Check = (container, path) =>
  listAt(container, "envFrom").flatMap((source, index) => {
    const at = `${path}.envFrom[${index}]`;
    const kinds = ["configMapRef", "secretRef"].filter((name) => isJsonObject(source[name]));
    const found = [
      ...maybeNamed("prefix", envNameProblems)(source, at),
      ...kinds.flatMap((name) => within(name, needed("name"))(source, at)),
    ];
    if (kinds.length === 0) {
      found.push(invalidValue(`${path}.envFrom`, "", "must specify one of: `configMapRef` or `secretRef`"));
    }
    if (kinds.length > 1) {
      found.push(invalidValue(`${path}.envFrom`, "", "may not have more than one field specified at a time"));
    }
    return found;
  });
