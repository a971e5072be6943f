// SPDX-License-Identifier: Apache-2.0
// What the field managers of Kubernetes and structured-merge-diff answer about objects that several managers own.
import { readFileSync } from "node:fs";
import { type JsonObject, type JsonValue, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import { lines, pretty, prettyList, prettyMember } from "./formats.ts";
import { recordingOf } from "./libraries.ts";
import type { Entry, Recording } from "./recording.ts";

const folder = "packages/kube-objects/src/apply/testdata";

const readObject = (name: string): JsonObject => parseJson(readFileSync(`${folder}/${name}`, "utf8")) as JsonObject;
const widgetSchemas = (): JsonObject => readObject("widget-schemas.json");

/** Go walks maps in random order, so what it lists from one is compared as a set. */
const unordered = (all: JsonValue | undefined): string[] =>
  ((all ?? []) as JsonObject[]).map((one) => printJson(Object.entries(one).sort())).sort();

/** The result of a step, with the causes of a conflict in any order. */
function comparableResult({ result }: JsonObject): unknown {
  const { error } = result as { readonly error?: { readonly status?: JsonObject } };
  if (error?.status === undefined) return result;
  const { details, ...status } = error.status;
  return { status, causes: unordered((details as JsonObject | undefined)?.["causes"]) };
}

const sequences: Recording = {
  subject: "apply",
  file: `${folder}/sequences.jsonl`,
  ...lines,
  comparable: ({ steps }) => (steps as JsonObject[]).map(comparableResult),
  answer: async (entries, peers) => {
    // The program keeps the schemas of the first question for the others.
    const questions = entries.map((entry, index) => ({ ...entry, ...(index === 0 && { schemas: widgetSchemas() }) }));
    const answers = peers.askLibraries("apply-sequences", questions);
    return entries.map((entry, index) => {
      const { results } = answers[index] as { readonly results: readonly JsonValue[] };
      const steps = (entry["steps"] as JsonObject[]).map((step, number) => ({
        ...step,
        result: results[number] ?? null,
      }));
      return { ...entry, steps };
    });
  },
};

/** The fields of the whole object first, then what each set of fields takes out of it. */
const extract = recordingOf({
  subject: "apply",
  file: `${folder}/extract.json`,
  parse: (text) => {
    const { set, rows } = parseJson(text) as { readonly set: JsonValue; readonly rows: readonly Entry[] };
    return [{ set }, ...rows];
  },
  print: ([first, ...rows], previous) => pretty({ ...(parseJson(previous) as JsonObject), ...first, rows }),
  asks: "apply-extract",
  asked: ["fields"],
  question: ({ fields }) => ({
    schemas: widgetSchemas()["granular"] ?? {},
    object: readObject("extract.json")["object"] ?? {},
    ...(fields !== undefined && { fields }),
  }),
});

const typedValues = recordingOf({
  subject: "apply",
  file: `${folder}/typed-values.json`,
  ...prettyMember("rows"),
  asks: "apply-values",
  asked: ["reason", "schema", "live", "config"],
  question: ({ schema, live, config }) => {
    const schemas = readObject("typed-values.json")["schemas"] as JsonObject;
    return { type: schemas[String(schema)] ?? {}, live: live ?? null, config: config ?? null };
  },
});

const typeProblems = recordingOf({
  subject: "apply",
  file: `${folder}/type-problems.json`,
  ...prettyList,
  comparable: ({ error, ...rest }) => ({ ...rest, error: String(error).split("\n").sort() }),
  asks: "apply-problems",
  asked: ["reason", "config"],
  question: ({ config }) => ({ schemas: widgetSchemas()["granular"] ?? {}, config: config ?? null }),
});

const scaleManagers = recordingOf({
  subject: "apply",
  file: `${folder}/scale-managers.json`,
  ...prettyList,
  comparable: ({ entries, ...rest }) => ({ ...rest, entries: unordered(entries) }),
  asks: "scale-managers",
  asked: ["dir", "parent", "scale", "paths", "group", "version"],
});

export const applyRecordings: readonly Recording[] = [sequences, extract, typedValues, typeProblems, scaleManagers];
