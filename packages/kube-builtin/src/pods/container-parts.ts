// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  eachItem,
  isPort,
  listAt,
  maybeNamed,
  named,
  needed,
  notNegative,
  oneOf,
  portProblems,
  portRange,
  within,
} from "@purlin/kube-apiserver/kinds";
import { type FieldError, firstErrors, forbiddenValue, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, isNumber, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems, subdomainName } from "@purlin/kube-objects/metadata";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { configKeyProblems } from "../config/config-data.ts";
import { fieldOfPod, resourceOfContainer } from "./projected-files.ts";

const port: Check = (action, path) => portProblems(memberAt(action, ["port"]), `${path}.port`);
const header: Check = (action, path) =>
  firstErrors(listAt(action, "httpHeaders"), ({ name }) =>
    /^[-A-Za-z0-9]+$/.test(String(name ?? ""))
      ? []
      : [
          invalidValue(
            `${path}.httpHeaders`,
            String(name ?? ""),
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
          ),
        ],
  );
const command: Check = (action, path) =>
  Array.isArray(action["command"]) && action["command"].length > 0 ? [] : [requiredValue(`${path}.command`)];

/** What is done to a container; one of these at a time, looked at in this order. */
const actions: Readonly<Record<string, Check>> = {
  exec: command,
  httpGet: all(needed("path"), port, oneOf("scheme", ["HTTP", "HTTPS"]), header),
  tcpSocket: port,
  grpc: (action, path) =>
    isPort(memberAt(action, ["port"]))
      ? []
      : [invalidValue(`${path}.port`, memberAt(action, ["port"]) ?? 0, portRange)],
};

/** The handlers of a container. `grace` is how long its Pod may take to end. */
const handler =
  (grace?: number | bigint): Check =>
  (object, path) => {
    const sleep: Check = (action, at) => {
      const seconds = memberAt(action, ["seconds"]) ?? 0;
      const why = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
      return grace !== undefined && isNumber(seconds) && (seconds < 0 || seconds > grace)
        ? [invalidValue(at, seconds, why)]
        : [];
    };
    const given = Object.entries({ ...actions, sleep }).filter(([name]) => isJsonObject(memberAt(object, [name])));
    if (given.length === 0) return [requiredValue(path, "must specify a handler type")];
    return firstErrors(given, ([name, check], index) =>
      index === 0
        ? within(name, check)(object, path)
        : [forbiddenValue(`${path}.${name}`, "may not specify more than 1 handler type")],
    );
  };

const probe: Check = all(
  handler(),
  notNegative("initialDelaySeconds"),
  notNegative("timeoutSeconds"),
  notNegative("periodSeconds"),
  notNegative("successThreshold"),
  notNegative("failureThreshold"),
  (object, path) => {
    const seconds = memberAt(object, ["terminationGracePeriodSeconds"]);
    return isNumber(seconds) && seconds <= 0
      ? [invalidValue(`${path}.terminationGracePeriodSeconds`, seconds, "must be greater than 0")]
      : [];
  },
);

const onceIsEnough: Check = (object, path) => {
  const threshold = memberAt(object, ["successThreshold"]);
  return threshold === 1 ? [] : [invalidValue(`${path}.successThreshold`, threshold ?? 0, "must be 1")];
};

const noGrace: Check = (object, path) => {
  const seconds = memberAt(object, ["terminationGracePeriodSeconds"]);
  return isNumber(seconds)
    ? [invalidValue(`${path}.terminationGracePeriodSeconds`, seconds, "must not be set for readinessProbes")]
    : [];
};

/** What is wrong with what happens when a container starts and stops, and with how it is looked after. */
export function lifeOfContainer(spec: JsonObject): Check {
  const grace = memberAt(spec, ["terminationGracePeriodSeconds"]);
  const own = handler(isNumber(grace) ? grace : undefined);
  return all(
    within("lifecycle", all(within("postStart", own), within("preStop", own))),
    within("livenessProbe", all(probe, onceIsEnough)),
    within("readinessProbe", all(probe, noGrace)),
    within("startupProbe", all(probe, onceIsEnough)),
  );
}

/** Containers that run to their end before the others have none of this. */
export const noLifeOfInitContainer: Check = (container, path) =>
  ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]
    .filter((name) => isJsonObject(memberAt(container, [name])))
    .map((name) =>
      forbiddenValue(`${path}.${name}`, "may not be set for init containers without restartPolicy=Always"),
    );

const nameProblem = "a valid environment variable name must consist only of printable ASCII characters other than '='";

function envNameProblems(name: string): string[] {
  return /^[ -<>-~]+$/.test(name) ? [] : [nameProblem];
}

const podFields: readonly string[] = [
  ...["metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"],
  ...["status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"],
];

const subdomain: Check = (ref, path) =>
  dns1123SubdomainProblems(stringAt(ref, ["name"])).map((problem) =>
    invalidValue(`${path}.name`, stringAt(ref, ["name"]), problem),
  );
const keyRef: Check = all(subdomain, named("key", configKeyProblems));

const sources: Readonly<Record<string, Check>> = {
  fieldRef: fieldOfPod(podFields),
  resourceFieldRef: resourceOfContainer({ isFile: false }),
  configMapKeyRef: keyRef,
  secretKeyRef: keyRef,
  fileKeyRef: all(
    named("key", envNameProblems),
    named("volumeName", dns1123LabelProblems),
    needed("path"),
    (ref, path) => {
      const file = stringAt(ref, ["path"]);
      return file.split("/").includes("..") ? [invalidValue(`${path}.path`, file, "must not contain '..'")] : [];
    },
  ),
};
const oneSource = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";

function valueFrom(variable: JsonObject, path: string): FieldError[] {
  const from = memberAt(variable, ["valueFrom"]);
  if (!isJsonObject(from)) return [];
  const given = Object.keys(sources).filter((name) => isJsonObject(from[name]));
  const found = given.flatMap((name) => within(name, sources[name] ?? (() => []))(from, path));
  if (given.length === 0) return [invalidValue(path, "", `must specify one of: ${oneSource}`)];
  if (stringAt(variable, ["value"]) !== "") {
    return [...found, invalidValue(path, "", "may not be specified when `value` is not empty")];
  }
  return given.length > 1
    ? [...found, invalidValue(path, "", "may not have more than one field specified at a time")]
    : found;
}

/** The reference validates these names as those of generated objects: they may end with a hyphen. */
const prefixProblems = (name: string): string[] => subdomainName(name, true);

/** What is wrong with the variables of a container. */
export const env: Check = eachItem("env", (variable, path) => [
  ...named("name", envNameProblems)(variable, path),
  ...valueFrom(variable, `${path}.valueFrom`),
]);

/** What is wrong with whole sets of variables. */
export const envFrom: Check = (container, path) =>
  firstErrors(listAt(container, "envFrom"), (source, index) => {
    const at = `${path}.envFrom[${index}]`;
    const kinds = ["configMapRef", "secretRef"].filter((name) => isJsonObject(source[name]));
    const found = [
      ...maybeNamed("prefix", envNameProblems)(source, at),
      ...kinds.flatMap((name) => within(name, named("name", prefixProblems))(source, at)),
    ];
    if (kinds.length === 0) {
      found.push(invalidValue(`${path}.envFrom`, "", "must specify one of: `configMapRef` or `secretRef`"));
    }
    if (kinds.length > 1) {
      found.push(invalidValue(`${path}.envFrom`, "", "may not have more than one field specified at a time"));
    }
    return found;
  });
