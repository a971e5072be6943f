// SPDX-License-Identifier: Apache-2.0
// The rules of ResourceSlices, in which drivers publish the devices of a pool.
import { all, type Check, eachItem, type KindRules, listAt, textFields } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  firstErrorsByName,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import {
  goQuote,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  utf8Length,
} from "@purlin/kube-objects/json";
import { dns1123LabelProblems, labelKeyProblems, labelValueProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { goForm } from "../checks/go-form.ts";
import { changes, driverName, hasObject, immutable, immutableText } from "../checks/rule-checks.ts";
import { type Edit, each, fill, inside } from "../defaults/pod-defaults.ts";
import {
  bindingConditions,
  labelAt,
  limited,
  poolName,
  qualifiedNameErrors,
  taintEffects,
  unique,
} from "./device-parts.ts";
import { deviceNodes, requestPolicy, sliceNodes } from "./slice-parts.ts";

const pool: Check = all(poolName("name"), (one, path) => {
  const [slices, generation] = [numberAt(one, ["resourceSliceCount"]), numberAt(one, ["generation"])];
  return [
    ...(slices > 0 ? [] : [invalidValue(`${path}.resourceSliceCount`, slices, "must be greater than zero")]),
    ...(generation < 0
      ? [invalidValue(`${path}.generation`, generation, "must be greater than or equal to zero")]
      : []),
  ];
});

const maxValue = 64;
const versionPattern =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;

/** The value of an attribute, which has one type. */
const attribute: Check = (one, path) => {
  const given = ["int", "bool", "string", "version"].filter((name) => (one[name] ?? null) !== null);
  const [text, version] = [stringAt(one, ["string"]), memberAt(one, ["version"])];
  const why = "exactly one value must be specified";
  return [
    ...(utf8Length(text) > maxValue ? [tooLong(`${path}.string`, maxValue)] : []),
    ...(typeof version === "string" ? versionErrors(version, `${path}.version`) : []),
    ...(given.length === 0 ? [invalidValue(path, "", why)] : []),
    ...(given.length > 1 ? [invalidPrinted(path, goForm("DeviceAttribute", one), why)] : []),
  ];
};

function versionErrors(version: string, path: string): FieldError[] {
  return [
    ...(versionPattern.test(version)
      ? []
      : [invalidValue(path, version, "must be a string compatible with semver.org spec 2.0.0")]),
    ...(utf8Length(version) > maxValue ? [tooLong(path, maxValue)] : []),
  ];
}

const maxKey = 63 + 1 + 32;

/** A key as errors name it: the middle of a long one is left out. */
function shownKey(key: string, most: number): string {
  if (key.length <= most) return key;
  const left = most - 3;
  return `${key.slice(0, Math.floor((left + 1) / 2))}...${key.slice(key.length - Math.floor(left / 2))}`;
}

/** How the entries of a map are checked, and how much of a long key errors show. */
interface EntryChecks {
  readonly key: (key: string, path: string) => FieldError[];
  readonly value: Check;
  readonly shown: number;
}

/** The errors of a map: of its keys, which are about the map, and of its values. */
function eachEntry(name: string, { key: keyErrors, value, shown }: EntryChecks): Check {
  return (object, path) => {
    const [entries, at] = [objectAt(object, [name]), `${path}.${name}`];
    return firstErrorsByName(entries, (key) => [
      ...keyErrors(key, at),
      ...value(objectAt(entries, [key]), `${at}[${shownKey(key, shown)}]`),
    ]);
  };
}

const maxNames = 32;

const capacityCheck =
  (isShared: boolean): Check =>
  (one, path) => {
    if (!hasObject(one, "requestPolicy")) return [];
    if (!isShared) return [forbiddenValue(`${path}.requestPolicy`, "allowMultipleAllocations must be true")];
    return requestPolicy(objectAt(one, ["requestPolicy"]), `${path}.requestPolicy`, stringAt(one, ["value"]));
  };

const namedValues: Check = (device, path) => {
  const count = ["attributes", "capacity"].reduce((sum, name) => sum + Object.keys(objectAt(device, [name])).length, 0);
  const isShared = memberAt(device, ["allowMultipleAllocations"]) === true;
  const why = `the total number of attributes and capacities must not exceed ${maxNames}`;
  return [
    ...(count > maxNames ? [invalidValue(path, count, why)] : []),
    ...eachEntry("attributes", { key: qualifiedNameErrors, value: attribute, shown: maxKey })(device, path),
    ...eachEntry("capacity", { key: qualifiedNameErrors, value: capacityCheck(isShared), shown: maxKey })(device, path),
  ];
};

const taint: Check = (one, path) => {
  const [key, value, effect] = ["key", "value", "effect"].map((name) => stringAt(one, [name])) as [
    string,
    string,
    string,
  ];
  return [
    ...labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
    ...(value === "" ? [] : labelValueProblems(value).map((problem) => invalidValue(`${path}.value`, value, problem))),
    ...(effect === "" ? [requiredValue(`${path}.effect`)] : []),
    ...(effect === "" || taintEffects.includes(effect)
      ? []
      : [unsupportedValue(`${path}.effect`, effect, taintEffects)]),
  ];
};

const labelErrors = (text: string, path: string): FieldError[] =>
  dns1123LabelProblems(text).map((problem) => invalidValue(path, text, problem));

/** Counters by name, in a set of a name. */
function counters(nameMember: string): Check {
  return (one, path) => {
    const name = stringAt(one, [nameMember]);
    const count = Object.keys(objectAt(one, ["counters"])).length;
    return [
      ...(name === "" ? [requiredValue(`${path}.${nameMember}`)] : labelErrors(name, `${path}.${nameMember}`)),
      ...(count === 0 ? [requiredValue(`${path}.counters`)] : []),
      ...(count > maxNames
        ? [tooMany(`${path}.counters`, count, maxNames)]
        : eachEntry("counters", { key: labelErrors, value: () => [], shown: 63 })(one, path)),
    ];
  };
}

const maxConsumptions = 2;
const maxTaints = 16;

/** A device. Taints that a change keeps are not checked again. */
function device(spec: JsonObject, old: JsonObject | undefined): Check {
  const before = new Map(listAt(old ?? {}, "devices").map((one) => [stringAt(one, ["name"]), one]));
  const taints = limited("taints", maxTaints, eachItem("taints", taint));
  return all(
    labelAt("name"),
    namedValues,
    (one, path) => {
      const was = before.get(stringAt(one, ["name"]));
      return was !== undefined && jsonEqual(listAt(was, "taints"), listAt(one, "taints")) ? [] : taints(one, path);
    },
    limited(
      "consumesCounters",
      maxConsumptions,
      all(eachItem("consumesCounters", counters("counterSet")), unique("consumesCounters", "counterSet")),
    ),
    deviceNodes(memberAt(spec, ["perDeviceNodeSelection"]) === true),
    bindingConditions,
  );
}

const maxSets = 8;

function specErrors(spec: JsonObject, old: JsonObject | undefined): FieldError[] {
  const devices = listAt(spec, "devices");
  const isAdvanced = devices.some((one) => listAt(one, "taints").length + listAt(one, "consumesCounters").length > 0);
  const hasBoth = Array.isArray(spec["sharedCounters"]) && Array.isArray(spec["devices"]);
  return [
    ...driverName("driver")(spec, "spec"),
    ...pool(objectAt(spec, ["pool"]), "spec.pool"),
    ...sliceNodes(spec, "spec"),
    ...(hasBoth ? [invalidValue("spec", "", "only one of `sharedCounters` or `devices` is allowed")] : []),
    ...limited(
      "devices",
      isAdvanced ? 64 : 128,
      all(eachItem("devices", device(spec, old)), unique("devices", "name")),
    )(spec, "spec"),
    ...limited(
      "sharedCounters",
      maxSets,
      all(eachItem("sharedCounters", counters("name")), unique("sharedCounters", "name")),
    )(spec, "spec"),
  ];
}

const fields = textFields("spec.nodeName", "spec.driver");
const sliceFields = new Set(["metadata.name", ...Object.keys(fields)]);

/** Fields of features that are off by default. */
function withoutDisabled(object: JsonObject): JsonObject {
  const spec = objectAt(object, ["spec"]);
  if (!Array.isArray(spec["devices"])) return object;
  return {
    ...object,
    spec: { ...spec, devices: spec["devices"].map((one) => (isJsonObject(one) ? enabled(one) : one)) },
  };
}

const disabledValues = ["ints", "bools", "strings", "versions"];

function enabled({ nodeAllocatableResourceMappings: _mappings, ...device }: JsonObject): JsonObject {
  const attributes = device["attributes"];
  if (!isJsonObject(attributes) || !Object.keys(attributes).some((name) => hasDisabled(attributes[name]))) {
    return device;
  }
  const kept = Object.entries(attributes).map(([name, value]) => [name, isJsonObject(value) ? plain(value) : value]);
  return { ...device, attributes: Object.fromEntries(kept) as JsonObject };
}

function hasDisabled(attribute: JsonValue | undefined): boolean {
  return isJsonObject(attribute) && disabledValues.some((name) => Object.hasOwn(attribute, name));
}

const plain = ({
  ints: _ints,
  bools: _bools,
  strings: _strings,
  versions: _versions,
  ...value
}: JsonObject): JsonObject => value;

/** Taints say since when they are there. */
function withTaintTimes(now: () => Date): Edit {
  return (object) =>
    inside(
      "spec",
      each("devices", each("taints", fill({ timeAdded: `${now().toISOString().slice(0, 19)}Z` }))),
    )(object);
}

/** An empty list of counters excludes devices like any other, and an empty list of devices counters: it is not the same as none. */
function withCounters(object: JsonObject, sent: JsonObject): JsonObject {
  const paths = [
    ["spec", "sharedCounters"],
    ["spec", "devices"],
  ];
  const lists = paths.map((path) => memberAt(sent, path));
  if (!lists.every((list) => Array.isArray(list))) return object;
  return paths.reduce((made, path, index) => (lists[index]?.length === 0 ? withMember(made, path, []) : made), object);
}

/** The rules of ResourceSlices. */
export const sliceRules = (now: () => Date): KindRules => ({
  decode: (object, sent) => withCounters(withTaintTimes(now)(object), sent),
  fields,
  fieldProblem: (field) =>
    sliceFields.has(field)
      ? undefined
      : `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`,
  withoutDisabled,
  warnings: (object) => {
    const driver = stringAt(object, ["spec", "driver"]);
    const why = `driver names should be lowercase; ${goQuote(driver)} contains uppercase characters`;
    return driver === driver.toLowerCase() ? [] : [`spec.driver: ${why}`];
  },
  validateNew: (object) => specErrors(objectAt(object, ["spec"]), undefined),
  validateChange: changes(
    (object, old) => specErrors(objectAt(object, ["spec"]), objectAt(old, ["spec"])),
    immutableText(["spec", "pool", "name"]),
    immutableText(["spec", "driver"]),
    immutable(["spec", "nodeName"]),
  ),
});
