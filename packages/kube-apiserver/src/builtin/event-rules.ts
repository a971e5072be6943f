// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalidValue, type JsonObject, requiredValue, toTypedForm } from "@purlin/kube-objects";
import { metaOf } from "../rest/object-meta.ts";
import type { KindRules } from "./kind-rules.ts";
import { textAt, textField, textFields, valueAt } from "./read-field.ts";

/** The names of the same fields in the core group and in events.k8s.io. */
const NAMES: readonly (readonly [core: string, named: string])[] = [
  ["message", "note"],
  ["involvedObject", "regarding"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
];
const TO_NAMED: ReadonlyMap<string, string> = new Map(NAMES);
const TO_CORE: ReadonlyMap<string, string> = new Map(NAMES.map(([core, named]) => [named, core]));

function renamed(object: JsonObject, names: ReadonlyMap<string, string>, apiVersion: string): JsonObject {
  const entries = Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value] as const);
  return { ...Object.fromEntries(entries), apiVersion };
}

/** An event is where its subject is; those of cluster-scoped subjects are in the namespace default. */
function namespaceErrors(object: JsonObject, member: string): FieldError[] {
  const { namespace = "" } = metaOf(object);
  const subject = textAt(object, member, "namespace");
  const isRight = subject === "" ? namespace === "default" || namespace === "kube-system" : subject === namespace;
  return isRight ? [] : [invalidValue(`${member}.namespace`, subject, "does not match event.namespace")];
}

const SUBJECT_FIELDS = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

export const coreEventRules: KindRules = {
  validate: (object) => namespaceErrors(object, "involvedObject"),
  fields: {
    ...textFields(...SUBJECT_FIELDS.map((name) => `involvedObject.${name}`), "reason", "reportingComponent", "type"),
    // The older of two names for who reports it.
    source: (object) => textAt(object, "source", "component") || textAt(object, "reportingComponent"),
  },
};

const REQUIRED = ["reportingController", "reportingInstance", "action", "reason"];

export const namedEventRules: KindRules = {
  toServed: (stored) => toTypedForm(renamed(stored, TO_NAMED, "events.k8s.io/v1")).object,
  toStored: (served) => renamed(served, TO_CORE, "v1"),
  validate: (object) => [
    ...namespaceErrors(object, "regarding"),
    ...(valueAt(object, "eventTime") ? [] : [requiredValue("eventTime")]),
    ...REQUIRED.filter((name) => textAt(object, name) === "").map((name) => requiredValue(name)),
    ...(["Normal", "Warning"].includes(textAt(object, "type"))
      ? []
      : [invalidValue("type", textAt(object, "type"), "has invalid value")]),
  ],
  fields: {
    ...textFields(...SUBJECT_FIELDS.map((name) => `regarding.${name}`), "reason", "reportingController", "type"),
    reportingComponent: textField("reportingController"),
  },
};
