// SPDX-License-Identifier: Apache-2.0

import { at, number, text } from "@purlin/kube-apiserver/kinds";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { ageOf } from "@purlin/kube-objects/object";

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
