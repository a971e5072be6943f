// SPDX-License-Identifier: Apache-2.0

import {
  all,
  type Check,
  inRange,
  isPort,
  listAt,
  named,
  needed,
  oneOf,
  portNameProblems,
  portRange,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  keyPath,
  notFoundValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, sortedKeys } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import { amountErrors, containerResourceErrors, isHugePages, isNative } from "../quota/resource-names.ts";
import { env, envFrom } from "./env.ts";
import { lifeOfContainer, noLifeOfInitContainer } from "./probes.ts";
import { volumeMounts } from "./volumes.ts";

const mayExceed = (name: string): boolean => isNative(name) && !isHugePages(name);

/** What is wrong with what a container asks for and may use. */
const resources: Check = (container, path) => {
  const [limits, requests] = [
    objectAt(container, ["resources", "limits"]),
    objectAt(container, ["resources", "requests"]),
  ];
  const at = `${path}.resources`;
  return [...containerAmounts(limits, `${at}.limits`), ...requestErrors(requests, limits, at)];
};

const maxId = 2 ** 31 - 1;

const ports: Check = (container, path) => {
  const names = new Set<string>();
  return listAt(container, "ports").flatMap((port, index) => portErrors(port, `${path}.ports[${index}]`, names));
};

function portErrors(port: JsonObject, path: string, names: Set<string>): FieldError[] {
  const [name, number, host] = [
    stringAt(port, ["name"]),
    memberAt(port, ["containerPort"]),
    memberAt(port, ["hostPort"]),
  ];
  const nameProblems =
    name === "" ? [] : portNameProblems(name).map((text) => invalidValue(`${path}.name`, name, text));
  const isTaken = nameProblems.length === 0 && names.has(name);
  if (name !== "" && nameProblems.length === 0) names.add(name);
  return [
    ...nameProblems,
    ...(isTaken ? [duplicateValue(`${path}.name`, name)] : []),
    ...(!number
      ? [requiredValue(`${path}.containerPort`)]
      : isPort(number)
        ? []
        : [invalidValue(`${path}.containerPort`, number, portRange)]),
    ...(!host || isPort(host) ? [] : [invalidValue(`${path}.hostPort`, host, portRange)]),
    ...oneOf("protocol", ["SCTP", "TCP", "UDP"])(port, path),
  ];
}

const security: Check = (container, path) => {
  const context = memberAt(container, ["securityContext"]);
  if (!isJsonObject(context)) return [];
  return all(inRange("runAsUser", 0, maxId), inRange("runAsGroup", 0, maxId))(context, `${path}.securityContext`);
};

/** What all containers have in common. */
function common(mounts: Check): Check {
  return all(
    named("name", dns1123LabelProblems),
    needed("image"),
    oneOf("terminationMessagePolicy", ["File", "FallbackToLogsOnError"]),
    ports,
    env,
    envFrom,
    mounts,
    oneOf("imagePullPolicy", ["Always", "IfNotPresent", "Never"]),
    resources,
    security,
  );
}

/** Ports of the host that two containers want. */
function hostPortConflicts(containers: readonly JsonObject[], path: string): FieldError[] {
  const taken = new Set<string>();
  return containers.flatMap((container, index) =>
    listAt(container, "ports").flatMap((port, at) => {
      const host = memberAt(port, ["hostPort"]);
      if (!host) return [];
      const key = `${stringAt(port, ["protocol"])}/${stringAt(port, ["hostIP"])}/${String(host)}`;
      const isTaken = taken.has(key);
      taken.add(key);
      return isTaken ? [duplicateValue(`${path}[${index}].ports[${at}].hostPort`, key)] : [];
    }),
  );
}

/** What is wrong with the containers of a Pod, and with those that run before them. */
export const containers: Check = (spec, path) => {
  const main = listAt(spec, "containers");
  const mounts = volumeMounts(new Set(listAt(spec, "volumes").map((volume) => stringAt(volume, ["name"]))));
  const names = new Set<string>();
  const unique: Check = (container, at) => {
    const name = stringAt(container, ["name"]);
    const isTaken = names.has(name);
    names.add(name);
    return isTaken ? [duplicateValue(`${at}.name`, name)] : [];
  };
  const at = (list: string, index: number): string => `${path}.${list}[${index}]`;
  return [
    ...(main.length === 0 ? [requiredValue(`${path}.containers`)] : []),
    ...main.flatMap((one, index) => all(common(mounts), unique, lifeOfContainer)(one, at("containers", index))),
    ...hostPortConflicts(main, `${path}.containers`),
    ...listAt(spec, "initContainers").flatMap((one, index) =>
      all(
        common(mounts),
        restartPolicy,
        unique,
        isSidecar(one) ? lifeOfContainer : noLifeOfInitContainer,
      )(one, at("initContainers", index)),
    ),
    ...listAt(spec, "ephemeralContainers").flatMap((one, index) =>
      all(common(mounts), unique, ephemeral(spec))(one, at("ephemeralContainers", index)),
    ),
  ];
};

const notEphemeral = ["ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"];
const notEphemeralText = "cannot be set for an Ephemeral Container";

const isEmpty = (value: JsonValue | undefined): boolean =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);

/** A container for debugging has no lifecycle of its own. */
function ephemeral(spec: JsonObject): Check {
  const others = [...listAt(spec, "containers"), ...listAt(spec, "initContainers")];
  return (one, path) => {
    const target = stringAt(one, ["targetContainerName"]);
    const isKnown = target === "" || others.some(({ name }) => name === target);
    const mounts = listAt(one, "volumeMounts");
    return [
      ...(isKnown ? [] : [notFoundValue(`${path}.targetContainerName`, target)]),
      ...notEphemeral
        .filter((name) => !isEmpty(one[name]))
        .map((name) => forbiddenValue(`${path}.${name}`, notEphemeralText)),
      ...mounts.flatMap((mount, index) =>
        ["subPath", "subPathExpr"]
          .filter((name) => stringAt(mount, [name]) !== "")
          .map((name) => forbiddenValue(`${path}.volumeMounts[${index}].${name}`, notEphemeralText)),
      ),
    ];
  };
}

const restartPolicies = ["Always", "Never", "OnFailure"];

function isSidecar(container: JsonObject): boolean {
  return stringAt(container, ["restartPolicy"]) === "Always";
}

const restartPolicy: Check = (container, path) => {
  const policy = memberAt(container, ["restartPolicy"]);
  return typeof policy !== "string" || restartPolicies.includes(policy)
    ? []
    : [unsupportedValue(`${path}.restartPolicy`, policy, restartPolicies)];
};

/** The errors of amounts of resources that a container asks for or may use. */
export function containerAmounts(amounts: JsonObject, path: string): FieldError[] {
  return sortedKeys(amounts).flatMap((name) => {
    const [at, amount] = [keyPath(path, name), String(amounts[name])];
    return [...containerResourceErrors(name, at), ...amountErrors(name, amount, at)];
  });
}

function requestErrors(requests: JsonObject, limits: JsonObject, path: string): FieldError[] {
  return sortedKeys(requests).flatMap((name) => {
    const own = containerAmounts({ [name]: requests[name] ?? "0" }, `${path}.requests`);
    const [asked, limit] = [String(requests[name]), limits[name]];
    if (limit === undefined) {
      const why = "Limit must be set for non overcommitable resources";
      return mayExceed(name) ? own : [...own, requiredValue(`${path}.limits`, why)];
    }
    const order = compareQuantities(asked, String(limit));
    if (order !== 0 && !mayExceed(name)) {
      return [...own, invalidValue(`${path}.requests`, asked, `must be equal to ${name} limit of ${String(limit)}`)];
    }
    return order > 0
      ? [
          ...own,
          invalidValue(`${path}.requests`, asked, `must be less than or equal to ${name} limit of ${String(limit)}`),
        ]
      : own;
  });
}
