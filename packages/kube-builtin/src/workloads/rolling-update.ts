// SPDX-License-Identifier: Apache-2.0

import { notNegative } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
  unsupportedPrinted,
} from "@purlin/kube-objects/errors";
import { goJson, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

const percentText =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

function percentOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "string" && /^[0-9]+%$/.test(value) ? Number(value.slice(0, -1)) : undefined;
}

/** The number, be it one of Pods or a part of a hundred; zero for what is neither. */
function amountOf(value: JsonValue | undefined): number {
  if (typeof value === "number") return value;
  const isWhole = typeof value === "string" && /^[+-]?\d+$/.test(value);
  return isWhole ? Number(value) : (percentOf(value) ?? 0);
}

/** A number of Pods or a percentage. */
export function amountErrors(update: JsonObject, name: string, path: string): readonly FieldError[] {
  const value = memberAt(update, [name]);
  if (typeof value === "string") {
    return percentOf(value) === undefined ? [invalidValue(`${path}.${name}`, value, percentText)] : [];
  }
  return notNegative(name)(update, path);
}

/** A percentage of at most 100. */
export function atMostAll(update: JsonObject, name: string, path: string): FieldError[] {
  const value = memberAt(update, [name]);
  return (percentOf(value) ?? 0) > 100
    ? [invalidValue(`${path}.${name}`, value ?? 0, "must not be greater than 100%")]
    : [];
}

/** How Go prints an invalid strategy: with the names and the order of its fields there. */
function inGo(strategy: JsonObject, ...members: readonly (readonly [string, JsonValue])[]): string {
  const update = memberAt(strategy, ["rollingUpdate"]);
  const shown = members.map(([name, missing]) => {
    const value = (isJsonObject(update) ? memberAt(update, [name]) : undefined) ?? missing;
    return `${goJson(name.slice(0, 1).toUpperCase() + name.slice(1))}:${goJson(value as JsonValue)}`;
  });
  const printed = isJsonObject(update) ? `{${shown.join(",")}}` : "null";
  return `{"Type":${goJson(stringAt(strategy, ["type"]))},"RollingUpdate":${printed}}`;
}

const amounts: readonly (readonly [string, JsonValue])[] = [
  ["maxUnavailable", 0],
  ["maxSurge", 0],
];

/** What is wrong with how a Deployment replaces its Pods. */
export function deploymentStrategyErrors(object: JsonObject): FieldError[] {
  const strategy = objectAt(object, ["spec", "strategy"]);
  const [path, update] = ["spec.strategy.rollingUpdate", memberAt(strategy, ["rollingUpdate"])];
  switch (stringAt(strategy, ["type"])) {
    case "Recreate":
      return isJsonObject(update)
        ? [forbiddenValue(path, "may not be specified when strategy `type` is 'Recreate'")]
        : [];
    case "RollingUpdate":
      return isJsonObject(update) ? deploymentUpdateErrors(update, path) : [];
    default:
      return [unsupportedPrinted("spec.strategy", inGo(strategy, ...amounts), ["Recreate", "RollingUpdate"])];
  }
}

function deploymentUpdateErrors(update: JsonObject, path: string): FieldError[] {
  const unavailable = memberAt(update, ["maxUnavailable"]);
  const isStuck = amountOf(unavailable) === 0 && amountOf(memberAt(update, ["maxSurge"])) === 0;
  return [
    ...amountErrors(update, "maxUnavailable", path),
    ...amountErrors(update, "maxSurge", path),
    ...(isStuck ? [invalidValue(`${path}.maxUnavailable`, unavailable ?? 0, "may not be 0 when `maxSurge` is 0")] : []),
    ...atMostAll(update, "maxUnavailable", path),
  ];
}

/** What is wrong with how a DaemonSet replaces its Pods. */
export function daemonStrategyErrors(object: JsonObject): FieldError[] {
  const strategy = objectAt(object, ["spec", "updateStrategy"]);
  const path = "spec.updateStrategy.rollingUpdate";
  switch (stringAt(strategy, ["type"])) {
    case "OnDelete":
      return [];
    case "RollingUpdate":
      return daemonUpdateErrors(objectAt(strategy, ["rollingUpdate"]), path);
    default:
      return [unsupportedPrinted("spec.updateStrategy", inGo(strategy, ...amounts), ["RollingUpdate", "OnDelete"])];
  }
}

function daemonUpdateErrors(update: JsonObject, path: string): FieldError[] {
  const [unavailable, surge] = [memberAt(update, ["maxUnavailable"]), memberAt(update, ["maxSurge"])];
  const [hasUnavailable, hasSurge] = [amountOf(unavailable) !== 0, amountOf(surge) !== 0];
  return [
    ...amountErrors(update, "maxUnavailable", path),
    ...amountErrors(update, "maxSurge", path),
    ...atMostAll(update, "maxUnavailable", path),
    ...atMostAll(update, "maxSurge", path),
    ...(hasUnavailable && hasSurge
      ? [invalidValue(`${path}.maxSurge`, surge ?? 0, "may not be set when maxUnavailable is non-zero")]
      : []),
    ...(hasUnavailable || hasSurge ? [] : [requiredValue(`${path}.maxUnavailable`, "cannot be 0 when maxSurge is 0")]),
  ];
}

/** What is wrong with how a StatefulSet replaces its Pods. */
export function statefulStrategyErrors(object: JsonObject): FieldError[] {
  const strategy = objectAt(object, ["spec", "updateStrategy"]);
  const [path, update] = ["spec.updateStrategy.rollingUpdate", memberAt(strategy, ["rollingUpdate"])];
  switch (stringAt(strategy, ["type"])) {
    case "OnDelete": {
      const { partition = 0, maxUnavailable = null } = isJsonObject(update) ? update : {};
      const shown = `{"Partition":${goJson(partition)},"MaxUnavailable":${goJson(maxUnavailable)}}`;
      const why = "only allowed for updateStrategy 'RollingUpdate'";
      return isJsonObject(update) ? [invalidPrinted(path, shown, why)] : [];
    }
    case "RollingUpdate":
      return isJsonObject(update) ? [...notNegative("partition")(update, path)] : [];
    default:
      return [
        invalidPrinted(
          "spec.updateStrategy",
          inGo(strategy, ["partition", 0], ["maxUnavailable", null]),
          "must be 'RollingUpdate' or 'OnDelete'",
        ),
      ];
  }
}
