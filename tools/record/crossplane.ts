// SPDX-License-Identifier: Apache-2.0
// What the libraries of Crossplane answer: the CRDs of a CompositeResourceDefinition, and versions of packages.
import { readFileSync } from "node:fs";
import { type JsonObject, type JsonValue, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import type { Entry, Recording } from "./recording.ts";

const definitions = "packages/composition/src/definition/testdata";

/** One CRD, derived from the definition in another file. */
function derived(kind: "composite" | "claim", name: string): Recording {
  return {
    subject: "definitions",
    file: `${definitions}/${name}-${kind}-crd.json`,
    parse: (text) => [parseJson(text) as JsonObject],
    print: ([crd = {}]) => `${printJson(sorted(crd), { indent: 2 })}\n`,
    answer: async (_entries, peers) => {
      const definition = parseJson(readFileSync(`${definitions}/${name}-definition.json`, "utf8"));
      return peers.askCrossplane(`${kind}-crd`, [definition]).map(asServed);
    },
  };
}

/** A value with its members by name: Go prints those of a struct in the order of its source. */
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, one]) => [name, sorted(one)]));
}

/** A CRD as its author would write it: Go prints a status that is empty, and no type where the caller is to add it. */
function asServed({ status: _status, metadata, spec }: JsonObject): JsonObject {
  const { creationTimestamp: _created, ...kept } = metadata as JsonObject;
  return { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: kept, spec: spec ?? {} };
}

const versionFile = "packages/oci/src/version/testdata/masterminds-semver.json";

interface Versions {
  readonly compares: Readonly<Record<string, JsonValue>>;
  readonly constraints: readonly Entry[];
  readonly parses: Readonly<Record<string, JsonValue>>;
  readonly versions: readonly string[];
}

const readVersions = (text: string): Versions => parseJson(text) as unknown as Versions;
const allVersions = (): JsonValue => [...readVersions(readFileSync(versionFile, "utf8")).versions];

const print = (previous: string, change: Partial<Versions>): string =>
  `${printJson({ ...readVersions(previous), ...change } as unknown as JsonObject)}\n`;

const constraints: Recording = {
  subject: "versions",
  file: versionFile,
  parse: (text) => [...readVersions(text).constraints],
  print: (entries, previous) => print(previous, { constraints: entries }),
  answer: async (entries, peers) => {
    const versions = allVersions();
    const questions = entries.map(({ constraint = "" }) => ({ constraint, versions }));
    const answers = peers.askCrossplane("version-constraints", questions);
    return answers.map((answer, index) => ({ constraint: entries[index]?.["constraint"] ?? "", ...answer }));
  },
};

/** Answers that are kept under the version that was asked about. */
function byVersion(
  member: "parses" | "compares",
  asks: { readonly subject: string; readonly answer: string },
): Recording {
  return {
    subject: "versions",
    file: versionFile,
    parse: (text) => Object.entries(readVersions(text)[member]).map(([version, answer]) => ({ version, answer })),
    print: (entries, previous) => {
      const all = entries.map(({ version, answer = null }): [string, JsonValue] => [String(version), answer]);
      return print(previous, { [member]: Object.fromEntries(all) });
    },
    answer: async (entries, peers) => {
      const versions = allVersions();
      const questions = entries.map(({ version = "" }) => ({ version, versions }));
      const answers = peers.askCrossplane(asks.subject, questions);
      return answers.map((answer, index) => ({
        version: entries[index]?.["version"] ?? "",
        answer: answer[asks.answer] ?? null,
      }));
    },
  };
}

export const crossplaneRecordings: readonly Recording[] = [
  derived("composite", "app"),
  derived("claim", "app"),
  derived("composite", "cache"),
  constraints,
  byVersion("parses", { subject: "versions", answer: "parsed" }),
  byVersion("compares", { subject: "version-order", answer: "orders" }),
];
