// SPDX-License-Identifier: Apache-2.0

import {
  all,
  type Check,
  isPort,
  listAt,
  needed,
  notNegative,
  oneOf,
  portProblems,
  portRange,
  within,
} from "@purlin/kube-apiserver/kinds";
import { type FieldError, forbiddenValue, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";

const port: Check = (action, path) => portProblems(memberAt(action, ["port"]), `${path}.port`);
const header: Check = (action, path) =>
  listAt(action, "httpHeaders").flatMap(({ name }) =>
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
  sleep: () => [],
};

function handler(object: JsonObject, path: string): readonly FieldError[] {
  const given = Object.entries(actions).filter(([name]) => isJsonObject(memberAt(object, [name])));
  if (given.length === 0) return [requiredValue(path, "must specify a handler type")];
  return given.flatMap(([name, check], index) =>
    index === 0
      ? within(name, check)(object, path)
      : [forbiddenValue(`${path}.${name}`, "may not specify more than 1 handler type")],
  );
}

const probe: Check = all(
  handler,
  notNegative("initialDelaySeconds"),
  notNegative("timeoutSeconds"),
  notNegative("periodSeconds"),
  notNegative("successThreshold"),
  notNegative("failureThreshold"),
  (object, path) => {
    const seconds = memberAt(object, ["terminationGracePeriodSeconds"]);
    return typeof seconds === "number" && seconds <= 0
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
  return typeof seconds === "number"
    ? [invalidValue(`${path}.terminationGracePeriodSeconds`, seconds, "must not be set for readinessProbes")]
    : [];
};

/** What is wrong with what happens when a container starts and stops, and with how it is looked after. */
export const lifeOfContainer: Check = all(
  within("lifecycle", all(within("postStart", handler), within("preStop", handler))),
  within("livenessProbe", all(probe, onceIsEnough)),
  within("readinessProbe", all(probe, noGrace)),
  within("startupProbe", all(probe, onceIsEnough)),
);

/** Containers that run to their end before the others have none of this. */
export const noLifeOfInitContainer: Check = (container, path) =>
  ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]
    .filter((name) => isJsonObject(memberAt(container, [name])))
    .map((name) =>
      forbiddenValue(`${path}.${name}`, "may not be set for init containers without restartPolicy=Always"),
    );
