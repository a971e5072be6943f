// SPDX-License-Identifier: Apache-2.0
import { at, type KindRules, metaOf, number, text, textFields } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual, utf8Length } from "@purlin/kube-objects/json";

import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { ageOf, memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { toTypedForm } from "@purlin/kube-objects/typed";

/** The names of the same fields in the core group and in events.k8s.io. */
const renamedFields: readonly (readonly [core: string, named: string])[] = [
  ["message", "note"],
  ["involvedObject", "regarding"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
];
const toNamed: ReadonlyMap<string, string> = new Map(renamedFields);
const toCore: ReadonlyMap<string, string> = new Map(renamedFields.map(([core, named]) => [named, core]));

function renamed(object: JsonObject, names: ReadonlyMap<string, string>, apiVersion: string): JsonObject {
  const entries = Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value] as const);
  return { ...Object.fromEntries(entries), apiVersion };
}

/** The name of a member in a version: errors use the names of the core group, but for one. */
interface Names {
  readonly subject: string;
  readonly controller: string;
  readonly note: string;
}

const coreNames: Names = { subject: "involvedObject", controller: "reportingComponent", note: "message" };
const otherNames: Names = { subject: "regarding", controller: "reportingController", note: "note" };

/** An event is where its subject is; those of cluster-scoped subjects are in the namespace default. */
function eventErrors(object: JsonObject, names: Names): FieldError[] {
  const { namespace = "" } = metaOf(object);
  const subject = stringAt(object, [names.subject, "namespace"]);
  const isNew = Boolean(memberAt(object, ["eventTime"]));
  const open = isNew ? ["default", "kube-system"] : ["default"];
  const isRight = subject === "" ? open.includes(namespace) : isNew || subject === namespace;
  const misplaced = invalidValue("involvedObject.namespace", subject, "does not match event.namespace");
  return [...(isRight ? [] : [misplaced]), ...(isNew ? newEventErrors(object, names) : [])];
}

/** Events with a time also name their reporter. */
function newEventErrors(object: JsonObject, { controller, note }: Names): FieldError[] {
  const reporter = stringAt(object, [controller]);
  const limited = (member: string, max: number, field: string = member): FieldError[] =>
    utf8Length(stringAt(object, [member])) > max ? [invalidValue(field, "", `can have at most ${max} characters`)] : [];
  const needed = (member: string): FieldError[] => (stringAt(object, [member]) === "" ? [requiredValue(member)] : []);
  return [
    ...needed(controller),
    ...labelKeyProblems(reporter).map((problem) => invalidValue(controller, reporter, problem)),
    ...["reportingInstance", "action", "reason"].flatMap((member) => [...needed(member), ...limited(member, 128)]),
    ...limited(note, 1024, "message"),
  ];
}

/** What only events of their own group must be when they are new. */
function strictErrors(object: JsonObject): FieldError[] {
  const unset = (member: string, field: string): FieldError[] =>
    memberAt(object, [member]) ? [invalidValue(field, "", "needs to be unset")] : [];
  const source = objectAt(object, ["deprecatedSource"]);
  const type = stringAt(object, ["type"]);
  return [
    ...seriesErrors(object),
    ...(memberAt(object, ["eventTime"]) ? [] : [requiredValue("eventTime")]),
    ...(["Normal", "Warning"].includes(type) ? [] : [invalidValue("type", "", `has invalid value: ${type}`)]),
    ...unset("deprecatedFirstTimestamp", "firstTimestamp"),
    ...unset("deprecatedLastTimestamp", "lastTimestamp"),
    ...unset("deprecatedCount", "count"),
    ...(source["component"] || source["host"] ? [invalidValue("source", "", "needs to be unset")] : []),
  ];
}

function seriesErrors(object: JsonObject): FieldError[] {
  const series = memberAt(object, ["series"]);
  if (!isJsonObject(series)) return [];
  const count = memberAt(series, ["count"]);
  return [
    ...(typeof count === "number" && count >= 2 ? [] : [invalidValue("series.count", "", "should be at least 2")]),
    ...(memberAt(series, ["lastObservedTime"]) ? [] : [requiredValue("series.lastObservedTime")]),
  ];
}

/** Everything about an event but its series is immutable; errors use the names of the core group. */
const fixedFields: readonly string[] = [
  "regarding",
  "reason",
  "note",
  "deprecatedSource",
  "deprecatedFirstTimestamp",
  "deprecatedLastTimestamp",
  "deprecatedCount",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingController",
  "reportingInstance",
];

function changeErrors(object: JsonObject, old: JsonObject): FieldError[] {
  const series = jsonEqual(memberAt(object, ["series"]) ?? null, memberAt(old, ["series"]) ?? null)
    ? []
    : seriesErrors(object);
  const fixed = fixedFields.filter(
    (name) => !jsonEqual(memberAt(object, [name]) ?? null, memberAt(old, [name]) ?? null),
  );
  return [
    ...series,
    ...fixed.map((name) => invalidValue(fieldOf(name), memberAt(object, [name]) ?? null, "field is immutable")),
  ];
}

function fieldOf(name: string): string {
  return name === "reportingController" ? name : (toCore.get(name) ?? name);
}

const subjectFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

const toNamedEvent = (event: JsonObject): JsonObject => toTypedForm(renamed(event, toNamed, "events.k8s.io/v1")).object;
export const coreEventRules: KindRules = {
  validate: (object) => eventErrors(object, coreNames),
  fields: {
    ...textFields(...subjectFields.map((name) => `involvedObject.${name}`), "reason", "reportingComponent", "type"),
    // The older of two names of the reporter.
    source: (object) => stringAt(object, ["source", "component"]) || stringAt(object, ["reportingComponent"]),
  },
};

export const namedEventRules: KindRules = {
  toServed: toNamedEvent,
  toStored: (served) => toTypedForm(renamed(served, toCore, "v1")).object,
  validate: (object) => eventErrors(object, otherNames),
  validateNew: strictErrors,
  validateChange: changeErrors,
  fields: textFields(...subjectFields.map((name) => `regarding.${name}`), "reason", "reportingController", "type"),
};

/** The cells of an Event, written by the old API (`involvedObject`, `count`) or the new one (`regarding`, `series`). */
export function eventCells(object: JsonObject, now: number): JsonValue[] {
  const subject = at(object, "involvedObject") ?? at(object, "regarding");
  const eventTime = at(object, "eventTime");
  const first = at(object, "firstTimestamp") ?? at(object, "deprecatedFirstTimestamp") ?? eventTime;
  const last =
    at(object, "series", "lastObservedTime") ??
    at(object, "lastTimestamp") ??
    at(object, "deprecatedLastTimestamp") ??
    first;
  const counted =
    number(object, "series", "count") || number(object, "count") || number(object, "deprecatedCount") || 1;
  const name = text(subject, "name");
  const kind = text(subject, "kind").toLowerCase();
  return [
    ageOf(last, now),
    text(object, "type"),
    text(object, "reason"),
    name === "" ? kind : `${kind}/${name}`,
    text(subject, "fieldPath"),
    sourceText(object),
    (text(object, "message") || text(object, "note")).trim(),
    ageOf(first, now),
    counted,
    text(object, "metadata", "name"),
  ];
}

function sourceText(object: JsonObject): string {
  const source = at(object, "source") ?? at(object, "deprecatedSource");
  const component =
    text(source, "component") || text(object, "reportingComponent") || text(object, "reportingController");
  const host = text(source, "host") || text(object, "reportingInstance");
  return [component, host].filter((part) => part !== "").join(", ");
}
