// SPDX-License-Identifier: Apache-2.0
import { badRequest, goQuote, isJsonObject, isStatusError, type JsonValue, maxJsonDepth } from "@purlin/kube-objects";
import { wideIntegerSchema } from "@purlin/kube-objects/yaml";
import { constructFromEvents, EVENT_ID, type Event, getScalarValue, parseEvents, YAMLException } from "js-yaml";
import { yamlProblem } from "./yaml-problem.ts";

/** What a YAML body says, and what is wrong with it strictly speaking: keys that come twice. */
export interface YamlReading {
  readonly value: JsonValue;
  readonly duplicates: readonly string[];
}

/** A document may say the same thing many times with few words; this is how many words it may stand for. */
const MAX_NODES = 500_000;

/** Reads one YAML document. Throws 400 in the reference's words. */
export function readYaml(text: string): YamlReading {
  try {
    const events = parseEvents(text, { maxDepth: maxJsonDepth });
    const strict = constructStrictly(events, text);
    const [value] = strict ?? constructFromEvents(events, { source: text, schema: wideIntegerSchema, json: true });
    requireJson(value ?? null, { left: MAX_NODES });
    return { value: (value ?? null) as JsonValue, duplicates: strict === undefined ? duplicatesOf(events, text) : [] };
  } catch (error) {
    if (isStatusError(error)) {
      throw error;
    }
    throw badRequest(
      `error converting YAML to JSON: yaml: ${error instanceof Error ? yamlProblem(error, text) : String(error)}`,
      error,
    );
  }
}

/** Undefined when a key comes twice. */
function constructStrictly(events: Event[], source: string): unknown[] | undefined {
  try {
    return constructFromEvents(events, { source, schema: wideIntegerSchema });
  } catch (error) {
    if (error instanceof YAMLException && /duplicate/i.test(error.reason)) {
      return undefined;
    }
    throw error;
  }
}

/** The keys that come twice in one mapping, in the words of Go's YAML package. */
function duplicatesOf(events: readonly Event[], source: string): string[] {
  const found: string[] = [];
  // One set of keys for each open mapping, none for each open sequence; keys and values alternate in a mapping.
  const open: { readonly keys: Set<string> | undefined; isKey: boolean }[] = [];
  const next = (event: Event): void => {
    const top = open.at(-1);
    if (top?.keys === undefined) {
      return;
    }
    if (top.isKey && event.type === EVENT_ID.SCALAR) {
      const key = getScalarValue(source, event);
      if (top.keys.has(key)) {
        const line = source.slice(0, event.valueStart).split("\n").length;
        found.push(`line ${line}: key ${goQuote(key)} already set in map`);
      }
      top.keys.add(key);
    }
    top.isKey = !top.isKey;
  };
  for (const event of events) {
    if (event.type === EVENT_ID.POP) {
      open.pop();
      continue;
    }
    next(event);
    if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.DOCUMENT) {
      open.push({ keys: event.type === EVENT_ID.MAPPING ? new Set() : undefined, isKey: true });
    }
  }
  return found;
}

/** Refuses what JSON cannot say, and documents that stand for far more than they are. */
function requireJson(value: unknown, budget: { left: number }): void {
  budget.left -= 1;
  if (budget.left < 0) {
    throw badRequest("error converting YAML to JSON: yaml: document contains excessive aliasing");
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    const shown = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    throw badRequest(`error converting YAML to JSON: json: unsupported value: ${shown}`);
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      requireJson(item, budget);
    }
  } else if (isJsonObject(value)) {
    for (const member of Object.values(value)) {
      requireJson(member, budget);
    }
  }
}
