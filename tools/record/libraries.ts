// SPDX-License-Identifier: Apache-2.0
// What the libraries of Kubernetes answer about texts, patches, selectors and metadata.
import { readFileSync } from "node:fs";
import { type JsonObject, type JsonValue, parseJson } from "../../packages/kube-objects/src/json/index.ts";
import { lines, pretty, prettyList, prettyMember } from "./formats.ts";
import type { Entry, Recording } from "./recording.ts";

const folder = "packages/kube-objects/src";

export interface Table extends Omit<Recording, "answer"> {
  /** What the program of tools/record/go calls it. */
  readonly asks: string;
  /** The members of an entry that ask; all others are the answer. */
  readonly asked: readonly string[];
  /** What is sent for an entry; the entry itself by default. */
  readonly question?: (entry: Entry) => JsonValue;
}

/** A table whose entries a program of tools/record/go answers one by one. */
export function recordingOf({ asks, asked, question = (entry) => entry, ...rest }: Table): Recording {
  return {
    ...rest,
    answer: async (entries, peers) => {
      const answers = peers.askLibraries(asks, entries.map(question));
      return entries.map((entry, index) => {
        const own = Object.entries(entry).filter(([name]) => asked.includes(name));
        return { ...Object.fromEntries(own), ...(answers[index] as JsonObject) };
      });
    },
  };
}

const selectorFile = `${folder}/selector/testdata/selectors.json`;

interface Selectors {
  readonly labels: { readonly sets: JsonValue; readonly rows: readonly Entry[] };
  readonly fields: { readonly sets: JsonValue; readonly rows: readonly Entry[] };
}

const readSelectors = (text: string): Selectors => parseJson(text) as unknown as Selectors;

/** The rows of one kind of selectors; a selector is tried on all sets of its kind. */
function rowsOf(part: "labels" | "fields"): Pick<Table, "parse" | "print" | "question"> {
  return {
    parse: (text) => [...readSelectors(text)[part].rows],
    print: (rows, previous) => {
      const all = readSelectors(previous);
      return pretty({ ...all, [part]: { ...all[part], rows: [...rows] } } as unknown as JsonObject);
    },
    question: (entry) => ({ ...entry, sets: readSelectors(readFileSync(selectorFile, "utf8"))[part].sets }),
  };
}

const objectRows: Pick<Table, "parse" | "print" | "question"> = {
  ...prettyMember("objects"),
  question: (entry) => ({ ...entry, sets: readSelectors(readFileSync(selectorFile, "utf8")).labels.sets }),
};

/** Long texts are kept as `{"repeat": "x", "times": 262144}`. */
function unfolded(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(unfolded);
  if (typeof value !== "object" || value === null) return value;
  const { repeat, times } = value as JsonObject;
  if (typeof repeat === "string" && typeof times === "number") return repeat.repeat(times);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, unfolded(one)]));
}

const tables: readonly Table[] = [
  {
    subject: "json",
    file: `${folder}/json/testdata/json-texts.json`,
    ...prettyList,
    asks: "json-texts",
    asked: ["text"],
  },
  {
    subject: "apply",
    file: `${folder}/apply/testdata/field-sets.json`,
    ...prettyList,
    asks: "field-sets",
    asked: ["fields"],
  },
  {
    subject: "patch",
    file: `${folder}/patch/testdata/patches.jsonl`,
    ...lines,
    asks: "patches",
    asked: ["type", "doc", "patch", "kind"],
  },
  {
    subject: "metadata",
    file: `${folder}/metadata/testdata/metadata-validation.json`,
    ...prettyList,
    asks: "metadata",
    asked: ["reason", "call"],
    question: unfolded,
  },
  {
    subject: "errors",
    file: `${folder}/errors/testdata/status-errors.json`,
    ...prettyMember("statuses"),
    asks: "status-errors",
    asked: ["call"],
  },
  {
    subject: "errors",
    file: `${folder}/errors/testdata/status-errors.json`,
    ...prettyMember("invalid"),
    asks: "status-invalid",
    asked: ["call"],
  },
  {
    subject: "patch",
    file: `${folder}/patch/testdata/decode-patch.json`,
    ...prettyMember("options"),
    asks: "patch-options",
    asked: ["options", "apply"],
  },
  { subject: "labels", file: selectorFile, ...rowsOf("labels"), asks: "label-selectors", asked: ["text"] },
  { subject: "fields", file: selectorFile, ...rowsOf("fields"), asks: "field-selectors", asked: ["text"] },
  { subject: "selectors", file: selectorFile, ...objectRows, asks: "selector-objects", asked: ["object"] },
];

export const libraryRecordings: readonly Recording[] = tables.map(recordingOf);
