// SPDX-License-Identifier: Apache-2.0
// Expressions and rules of CEL, answered by Kubernetes' own libraries.
import { readFileSync } from "node:fs";
import { type JsonObject, parseJson } from "../../packages/kube-objects/src/json/index.ts";
import { lines } from "./formats.ts";
import type { Entry, Recording } from "./recording.ts";

const folder = "packages/cel/src/testdata";
const tables = [
  ...["conversions", "data", "generated", "generated-syntax", "limits", "lists", "macros", "network", "operators"],
  ...["optionals", "quantities", "strings", "syntax", "times", "types"],
];

/** The members of an entry that ask; all others are the answer. */
const pick = (entry: Entry, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(entry).filter(([name]) => names.includes(name)));

function expressions(table: string): Recording {
  const asked = ["expr", "isNew", "optOld"];
  return {
    subject: "cel",
    file: `${folder}/${table}.jsonl`,
    ...lines,
    answer: async (entries, peers) => {
      const subject = parseJson(readFileSync(`${folder}/subject.json`, "utf8"));
      // The program keeps the subject of the first question for the others.
      const questions = entries.map((entry, index) => ({ ...pick(entry, asked), ...(index === 0 && { subject }) }));
      const answers = peers.askLibraries("cel-expressions", questions);
      return entries.map((entry, index) => ({ ...pick(entry, asked), ...(answers[index] as JsonObject) }));
    },
  };
}

function rules(table: string): Recording {
  const asked = ["why", "schema", "self", "oldSelf", "budget"];
  return {
    subject: "cel",
    file: `${folder}/${table}.jsonl`,
    ...lines,
    answer: async (entries, peers) => {
      const answers = peers.askLibraries(`cel-${table}`, entries);
      return entries.map((entry, index) => ({ ...pick(entry, asked), ...(answers[index] as JsonObject) }));
    },
  };
}

export const celRecordings: readonly Recording[] = [...tables.map(expressions), rules("validations"), rules("schemas")];
