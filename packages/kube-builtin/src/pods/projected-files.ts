// SPDX-License-Identifier: Apache-2.0
// Files that volumes show: keys of ConfigMaps and Secrets, and fields of the Pod.
import { type Check, listAt, needed } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isNumber, type JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { canonicalQuantity } from "@purlin/kube-objects/typed";
import { hasObject } from "../checks/rule-checks.ts";

const modeProblem = "must be a number between 0 and 0777 (octal), both inclusive";

/** The permission bits of files. */
export function fileMode(name: string): Check {
  return (object, path) => {
    const value = memberAt(object, [name]);
    return typeof value === "number" && (value < 0 || value > 0o777)
      ? [invalidValue(`${path}.${name}`, value, modeProblem)]
      : [];
  };
}

/** A path below the volume that is not one of the kubelet's own. */
function ownPath(path: string, at: string): FieldError[] {
  const isReserved = path.startsWith("..") && !path.startsWith("../");
  return [
    ...(path.startsWith("/") ? [invalidValue(at, path, "must be a relative path")] : []),
    ...(path.split("/").includes("..") ? [invalidValue(at, path, "must not contain '..'")] : []),
    ...(isReserved ? [invalidValue(at, path, "must not start with '..'")] : []),
  ];
}

/** A file with the value of a key. */
export const keyToPath: Check = (item, path) => [
  ...needed("key")(item, path),
  ...needed("path")(item, path),
  ...ownPath(stringAt(item, ["path"]), `${path}.path`),
  ...fileMode("mode")(item, path),
];

const convertible: ReadonlySet<string> = new Set([
  ...["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"],
  ...["spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase"],
  ...["status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", "spec.host"],
]);

/** A field of the Pod, one of a few. */
export function fieldOfPod(supported: readonly string[]): Check {
  return (ref, path) => {
    const [version, label] = [stringAt(ref, ["apiVersion"]), stringAt(ref, ["fieldPath"])];
    if (version === "") return [requiredValue(`${path}.apiVersion`)];
    if (label === "") return [requiredValue(`${path}.fieldPath`)];
    const [, place = "", key = ""] = /^(.*?)\['(.*)'\]$/s.exec(label) ?? [];
    const problem = labelProblem({ version, label, place });
    if (problem !== undefined) {
      return [invalidValue(`${path}.fieldPath`, label, `error converting fieldPath: ${problem}`)];
    }
    if (place !== "") {
      const name = place === "metadata.annotations" ? key.toLowerCase() : key;
      return labelKeyProblems(name).map((text) => invalidValue(path, name, text));
    }
    const field = label === "spec.host" ? "spec.nodeName" : label;
    return supported.includes(field) ? [] : [unsupportedValue(`${path}.fieldPath`, field, supported.toSorted())];
  };
}

interface FieldLabel {
  readonly version: string;
  readonly label: string;
  /** The map that a key is taken from; empty without a key. */
  readonly place: string;
}

function labelProblem({ version, label, place }: FieldLabel): string | undefined {
  if (version !== "v1") return `unsupported pod version: ${version}`;
  if (place !== "") {
    const isMap = place === "metadata.annotations" || place === "metadata.labels";
    return isMap ? undefined : `field label does not support subscript: ${label}`;
  }
  return convertible.has(label) ? undefined : `field label not supported: ${label}`;
}

const containerResources: readonly string[] = [
  ...["limits.cpu", "limits.ephemeral-storage", "limits.memory"],
  ...["requests.cpu", "requests.ephemeral-storage", "requests.memory"],
];
const units = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
const unitsText = `only divisor's values ${units.join(", ")} are supported with the`;

/** A resource of a container. A file names the container too. */
export function resourceOfContainer({ isFile }: { readonly isFile: boolean }): Check {
  return (ref, path) => {
    const resource = stringAt(ref, ["resource"]);
    const isKnown = containerResources.includes(resource) || /^(limits|requests)\.hugepages-/.test(resource);
    const divisor = divisorErrors(ref, resource, `${path}.divisor`);
    if (isFile && stringAt(ref, ["containerName"]) === "") return [requiredValue(`${path}.containerName`), ...divisor];
    if (resource === "") return [requiredValue(`${path}.resource`), ...divisor];
    return isKnown ? divisor : [unsupportedValue(`${path}.resource`, resource, containerResources), ...divisor];
  };
}

function divisorErrors(ref: JsonObject, resource: string, path: string): FieldError[] {
  const given = memberAt(ref, ["divisor"]);
  if (given === undefined || given === null) return [];
  const divisor = canonicalQuantity(String(given)) ?? "0";
  if (divisor === "0") return [];
  const name = resource.replace(/^(limits|requests)\./, "");
  if (resource === name) return [];
  if (name === "cpu") {
    const why = "only divisor's values 1m and 1 are supported with the cpu resource";
    return ["1m", "1"].includes(divisor) ? [] : [invalidValue(path, resource, why)];
  }
  const named: Readonly<Record<string, string>> = { memory: "memory", "ephemeral-storage": "local ephemeral storage" };
  const shown = name.startsWith("hugepages-") ? "hugepages" : named[name];
  const isFine = shown === undefined || units.includes(divisor);
  return isFine ? [] : [invalidValue(path, resource, `${unitsText} ${shown} resource`)];
}

const volumeFields = ["metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"];

/** A file with a field of the Pod, or a resource of a container. */
export const downwardFile: Check = (file, path) => {
  const both = "fieldRef and resourceFieldRef can not be specified simultaneously";
  const [hasField, hasResource] = [hasObject(file, "fieldRef"), hasObject(file, "resourceFieldRef")];
  return [
    ...needed("path")(file, path),
    ...ownPath(stringAt(file, ["path"]), `${path}.path`),
    ...(hasField ? fieldOfPod(volumeFields)(objectAt(file, ["fieldRef"]), `${path}.fieldRef`) : []),
    ...(hasField && hasResource ? [invalidValue(path, "resource", both)] : []),
    ...(!hasField && hasResource
      ? resourceOfContainer({ isFile: true })(objectAt(file, ["resourceFieldRef"]), `${path}.resourceFieldRef`)
      : []),
    ...(hasField || hasResource ? [] : [requiredValue(path, "one of fieldRef and resourceFieldRef is required")]),
    ...fileMode("mode")(file, path),
  ];
};

/** A volume with files of several sources. */
export const projected: Check = (volume, path) => {
  const taken = new Set<string>();
  return [
    ...fileMode("defaultMode")(volume, path),
    ...firstErrors(listAt(volume, "sources"), (source, index) =>
      sourceErrors(source, { path, at: `${path}.sources[${index}]`, taken }),
    ),
  ];
};

interface Projection {
  readonly path: string;
  readonly at: string;
  /** The paths of files so far. */
  readonly taken: Set<string>;
}

function sourceErrors(source: JsonObject, projection: Projection): FieldError[] {
  const { path, at } = projection;
  const kinds = ["secret", "configMap", "downwardAPI", "serviceAccountToken"].filter((name) => hasObject(source, name));
  const more = "may not specify more than 1 volume type per source";
  return [
    ...["secret", "configMap"].flatMap((name) => keyFiles(source, name, projection)),
    ...listAt(source, "downwardAPI", "items").flatMap((file) => [
      ...downwardFile(file, `${at}.downwardAPI`),
      ...takenPath(stringAt(file, ["path"]), stringAt(file, ["path"]), projection),
    ]),
    ...(hasObject(source, "serviceAccountToken")
      ? tokenErrors(objectAt(source, ["serviceAccountToken"]), `${at}.serviceAccountToken`, path)
      : []),
    ...(kinds.length > 1 ? [forbiddenValue(at, more)] : []),
  ];
}

function keyFiles(source: JsonObject, name: string, projection: Projection): FieldError[] {
  if (!hasObject(source, name)) return [];
  const at = `${projection.at}.${name}`;
  const own = objectAt(source, [name]);
  return [
    ...needed("name")(own, at),
    ...firstErrors(listAt(own, "items"), (item, index) => [
      ...keyToPath(item, `${at}.items[${index}]`),
      ...takenPath(stringAt(item, ["path"]), stringAt(own, ["name"]), projection),
    ]),
  ];
}

function takenPath(file: string, shown: string, { path, taken }: Projection): FieldError[] {
  if (file === "") return [];
  const isTaken = taken.has(file);
  taken.add(file);
  return isTaken ? [invalidValue(path, shown, "conflicting duplicate paths")] : [];
}

const tenMinutes = 600;

function tokenErrors(token: JsonObject, at: string, path: string): FieldError[] {
  const given = memberAt(token, ["expirationSeconds"]);
  const seconds = isNumber(given) ? given : 0;
  const file = stringAt(token, ["path"]);
  const expiry = `${at}.expirationSeconds`;
  return [
    ...(seconds < tenMinutes ? [invalidValue(expiry, seconds, "may not specify a duration less than 10 minutes")] : []),
    ...(seconds > 2 ** 32
      ? [invalidValue(expiry, seconds, "may not specify a duration larger than 2^32 seconds")]
      : []),
    ...(file === "" ? [requiredValue(`${path}.path`)] : ownPath(file, `${path}.path`)),
  ];
}
