// SPDX-License-Identifier: Apache-2.0
// E36: the details of an invalid resource are in events, or in the condition when server-side apply cannot merge it.

import { isJsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { type Condition, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import { argumentOf, refOf, refText } from "../inspect/facts.ts";
import { found, type Recognized, type TextContext, type TextRule } from "../inspect/inspection.ts";
import type { Evidence, RecordedRun } from "../model/explanation.ts";

/** Recognizes resources that the API server refused, by the events of the reconcile that the condition is about. */
export function eventRule(rules: readonly TextRule[]): TextRule {
  return async (context) => {
    if (!/Unsynced resources: |some resources were invalid/.test(context.text)) return undefined;
    const events = await context.inspection.reader.eventsOf(context.object);
    const refusal = newestRefusal(events, context.condition);
    if (refusal === undefined) return withoutEvent(context);
    const about = { ...context, text: refusal.text, evidence: [...context.evidence, refusal] };
    for (const rule of rules) {
      const recognized = await rule(about);
      if (recognized !== undefined) return recognized;
    }
    return invalidResource(about);
  };
}

/** Recognizes a resource that the API server refused in the text of the condition. */
export const refusedResource: TextRule = (context) =>
  /cannot apply composed resource "[^"]+"[\s\S]*?(?:failed to create typed patch object| is invalid: )/.test(
    context.text,
  )
    ? invalidResource(context)
    : undefined;

const refusalText = /cannot apply composed resource "|some resources were invalid|is invalid: /;

function newestRefusal(events: readonly KubeObject[], { lastTransitionTime }: Condition): Evidence | undefined {
  const since = Date.parse(lastTransitionTime);
  return events
    .filter((event) => stringAt(event, ["type"]) === "Warning" && refusalText.test(stringAt(event, ["message"])))
    .map((event) => ({ event, time: timeOf(event) }))
    .filter(({ time }) => Number.isNaN(since) || Date.parse(time) >= since)
    .sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : messageOf(a.event) < messageOf(b.event) ? -1 : 1))
    .map(({ event, time }) => ({ object: refText(refOf(event)), path: "message", time, text: messageOf(event) }))[0];
}

function messageOf(event: KubeObject): string {
  return stringAt(event, ["message"]);
}

function timeOf(event: KubeObject): string {
  const series = stringAt(event, ["series", "lastObservedTime"]);
  return (
    series ||
    stringAt(event, ["lastTimestamp"]) ||
    stringAt(event, ["eventTime"]) ||
    (event.metadata.creationTimestamp ?? "")
  );
}

function withoutEvent(context: TextContext): Recognized {
  const names = /Unsynced resources: (.*)$/.exec(context.text)?.[1];
  return found("E36", context, {
    sentence: `The API server refuses ${names === undefined ? "some resources" : `resources ${names}`} as invalid; no event with the details was found`,
    next: [
      `purlin events --for ${argumentOf(refOf(context.object))}`,
      "the event is emitted again at the next reconcile",
    ],
  });
}

async function invalidResource(context: TextContext): Promise<Recognized> {
  const name = /composed resource "([^"]+)"/.exec(context.text)?.[1] ?? "";
  const [, path = "", why = ""] =
    /(?:is invalid: \[?|typed patch object \([^)]*\): (?:errors:\s*)?)((?:[\w.-]+|\[[^\]]*\])+): ([\s\S]*?)\]?$/.exec(
      context.text,
    ) ?? [];
  const field = path.replace(/^\./, "");
  const blame = await blamed(context, name, field);
  const detail = field === "" ? context.text : `${field}: ${why}`;
  return found("E36", context, {
    ...(field === "" ? {} : { path: field }),
    sentence: `Resource "${name}" is invalid: ${detail.replaceAll(/\n\s*/g, ", ")}${blame}`,
    next: ["correct the field in the function, or check the manifests with purlin validate"],
  });
}

/** The step that set a field, from the last recorded run. */
async function blamed({ inspection, object }: TextContext, resource: string, path: string): Promise<string> {
  const [run] = (await inspection.history?.runsOf(refOf(object), 1)) ?? [];
  if (run === undefined || path === "") return "";
  const step = stepThatSet(run, resource, path);
  return step === undefined ? "" : `; set by step "${step.name}" to ${printJson(step.value)}`;
}

function stepThatSet(
  run: RecordedRun,
  resource: string,
  path: string,
): { readonly name: string; readonly value: JsonValue } | undefined {
  let found: { readonly name: string; readonly value: JsonValue } | undefined;
  for (const { step, desired } of run.steps) {
    const value = valueAt(desired.resources[resource]?.object ?? {}, path);
    if (value !== undefined && !(found && jsonEqual(value, found.value))) found = { name: step, value };
  }
  return found;
}

function valueAt(object: JsonValue, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const [, quoted, key = quoted ?? ""] of path.matchAll(/\["([^"]*)"\]|([^.[\]]+)/g)) {
    if (Array.isArray(value)) value = elementAt(value, key);
    else value = isJsonObject(value) ? value[key] : undefined;
  }
  return value;
}

/** An element by its index, or by its keys as server-side apply writes them: `name="web"`. */
function elementAt(list: readonly JsonValue[], key: string): JsonValue | undefined {
  const keys = key.split(",").map((part) => part.split("="));
  if (keys.some(([, value]) => value === undefined)) return list[Number(key)];
  return list.find(
    (one) => isJsonObject(one) && keys.every(([name = "", value]) => printJson(one[name] ?? null) === value),
  );
}
