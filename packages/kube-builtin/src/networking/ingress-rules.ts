// SPDX-License-Identifier: Apache-2.0
import { isIP } from "node:net";
import {
  all,
  type Check,
  eachItem,
  isPort,
  type KindRules,
  listAt,
  maybeNamed,
  metaOf,
  named,
  portNameProblems,
  portRange,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { balancerWarnings, loadBalancer, notAddress } from "../checks/addresses.ts";
import { eachText, hasObject, inMember, onStatus, pathSegmentProblems } from "../checks/rule-checks.ts";

const wildcardPattern = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const wildcardText =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

function hostProblems(host: string): string[] {
  if (!host.includes("*")) return dns1123SubdomainProblems(host);
  return [
    ...(host.length > 253 ? ["must be no more than 253 characters"] : []),
    ...(wildcardPattern.test(host) ? [] : [wildcardText]),
  ];
}

/** The port of a Service: a name or a number. */
const backendPort: Check = (service, path) => {
  const [name, number] = [stringAt(service, ["port", "name"]), memberAt(service, ["port", "number"]) ?? 0];
  const at = `${path}.service.port`;
  if (name !== "" && number !== 0) return [invalidValue(path, "", "cannot set both port name & port number")];
  if (name !== "") return portNameProblems(name).map((problem) => invalidValue(`${at}.name`, name, problem));
  if (number === 0) return [requiredValue(path, "port name or number is required")];
  return isPort(number) ? [] : [invalidValue(`${at}.number`, number, portRange)];
};

/** A reference to an object of the same namespace. */
const localReference: Check = all(
  (reference, path) => {
    const group = memberAt(reference, ["apiGroup"]);
    return typeof group === "string"
      ? dns1123SubdomainProblems(group).map((problem) => invalidValue(`${path}.apiGroup`, group, problem))
      : [];
  },
  named("kind", pathSegmentProblems),
  named("name", pathSegmentProblems),
);

const backend: Check = (one, path) => {
  const [resource, service] = [memberAt(one, ["resource"]), memberAt(one, ["service"])];
  if (isJsonObject(resource) && isJsonObject(service)) {
    return [invalidValue(path, "", "cannot set both resource and service backends")];
  }
  if (isJsonObject(resource)) return localReference(resource, `${path}.resource`);
  if (!isJsonObject(service)) return [invalidValue(path, "", "resource or service backend is required")];
  return [...named("name", dns1123LabelProblems)(service, `${path}.service`), ...backendPort(service, path)];
};

const forbiddenParts = ["//", "/./", "/../", "%2f", "%2F"];
const forbiddenEnds = ["/..", "/."];
const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];

function pathErrors(text: string, type: string, path: string): FieldError[] {
  const isFree = type === "ImplementationSpecific";
  const absolute =
    text.startsWith("/") || (isFree && text === "") ? [] : [invalidValue(path, text, "must be an absolute path")];
  if (isFree) return absolute;
  return [
    ...absolute,
    ...forbiddenParts
      .filter((part) => text.includes(part))
      .map((part) => invalidValue(path, text, `must not contain '${part}'`)),
    ...forbiddenEnds
      .filter((end) => text.endsWith(end))
      .map((end) => invalidValue(path, text, `cannot end with '${end}'`)),
  ];
}

const httpPath: Check = (one, path) => {
  const type = memberAt(one, ["pathType"]);
  if (typeof type !== "string") return [requiredValue(`${path}.pathType`, "pathType must be specified")];
  return [
    ...(pathTypes.includes(type)
      ? pathErrors(stringAt(one, ["path"]), type, `${path}.path`)
      : [unsupportedValue(`${path}.pathType`, type, pathTypes)]),
    ...backend(objectAt(one, ["backend"]), `${path}.backend`),
  ];
};

const rule: Check = all(
  (one, path) => {
    const host = stringAt(one, ["host"]);
    if (host === "") return [];
    const address = isIP(host) === 0 ? [] : [invalidValue(`${path}.host`, host, notAddress)];
    return [...address, ...hostProblems(host).map((problem) => invalidValue(`${path}.host`, host, problem))];
  },
  within(
    "http",
    all(
      (http, path) => (listAt(http, "paths").length === 0 ? [requiredValue(`${path}.paths`)] : []),
      eachItem("paths", httpPath),
    ),
  ),
);

const something: Check = (spec, path) => {
  const hasRule = listAt(spec, "rules").length > 0 || hasObject(spec, "defaultBackend");
  const sent = memberAt(spec, ["rules"]) ?? null;
  return hasRule ? [] : [invalidValue(path, sent, "either `defaultBackend` or `rules` must be specified")];
};

const className: Check = (spec, path) => {
  const name = memberAt(spec, ["ingressClassName"]);
  return typeof name === "string"
    ? dns1123SubdomainProblems(name).map((problem) => invalidValue(`${path}.ingressClassName`, name, problem))
    : [];
};

const classAnnotation = "kubernetes.io/ingress.class";

/** The class of a new Ingress in its old place must be the one of the new place. */
function annotatedClass(ingress: JsonObject): FieldError[] {
  const [old, name] = [metaOf(ingress).annotations?.[classAnnotation], memberAt(ingress, ["spec", "ingressClassName"])];
  const why = "must match `ingressClassName` when both are specified";
  return old !== undefined && typeof name === "string" && name !== old
    ? [invalidValue(`annotations.${classAnnotation}`, old, why)]
    : [];
}

/** A new Ingress that names its class in the old place only. */
function annotationWarnings(ingress: JsonObject): string[] {
  const isOnlyOld = typeof memberAt(ingress, ["spec", "ingressClassName"]) !== "string";
  return isOnlyOld && Object.hasOwn(metaOf(ingress).annotations ?? {}, classAnnotation)
    ? [`annotation ${goQuote(classAnnotation)} is deprecated, please use 'spec.ingressClassName' instead`]
    : [];
}

/** The rules of Ingresses. */
export const ingressRules: KindRules = {
  validate: inMember(
    "spec",
    all(
      something,
      within("defaultBackend", backend),
      eachItem("rules", rule),
      eachItem("tls", all(eachText("hosts", hostProblems), maybeNamed("secretName", dns1123SubdomainProblems))),
      className,
    ),
  ),
  validateNew: annotatedClass,
  validateChange: onStatus(loadBalancer),
  warnings: (ingress, old, endpoint) => {
    if (endpoint === "status") return balancerWarnings(ingress);
    return old === undefined ? annotationWarnings(ingress) : [];
  },
};

const scopes = ["Cluster", "Namespace"];

/** Where the parameters of an IngressClass are. */
export const classParameters: Check = all(localReference, (reference, path) => {
  const [scope, namespace] = [memberAt(reference, ["scope"]), memberAt(reference, ["namespace"])];
  if (typeof scope !== "string") return [requiredValue(`${path}.scope`)];
  const at = `${path}.namespace`;
  if (!scopes.includes(scope)) return [unsupportedValue(`${path}.scope`, scope, scopes)];
  if (scope === "Cluster") {
    return typeof namespace === "string" ? [forbiddenValue(at, "`parameters.scope` is set to 'Cluster'")] : [];
  }
  if (typeof namespace !== "string") return [requiredValue(at, "`parameters.scope` is set to 'Namespace'")];
  return dns1123LabelProblems(namespace).map((problem) => invalidValue(at, namespace, problem));
});
