// SPDX-License-Identifier: Apache-2.0
// What Kubernetes' own libraries find wrong with values of a schema, and how they publish a CustomResourceDefinition.
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printJson,
} from "../../packages/kube-objects/src/json/index.ts";
import { factsOf } from "../builtin-schemas/facts.ts";
import type { Json } from "../builtin-schemas/original.ts";
import { type Answer, askReference, type Question } from "../builtin-schemas/reference/ask.ts";
import { kubernetesAnswers } from "../peers/kubernetes-answers.ts";
import type { Entry, Recording } from "./recording.ts";

const folder = "packages/kube-objects/src";
const source = `k8s.io/apiextensions-apiserver v${kubernetesAnswers.version}, by tools/record`;

/** One entry per line, after a line that names the source. */
const sourcedLines: Pick<Recording, "parse" | "print"> = {
  parse: (text) => {
    const [, ...rest] = text.trimEnd().split("\n");
    return rest.map((line) => parseJson(line) as JsonObject);
  },
  print: (entries) => `${[{ source }, ...entries].map((entry) => printJson(entry)).join("\n")}\n`,
};

// Go walks maps in random order, so the errors are sorted.
const sortedErrors = (answer: Answer): JsonValue =>
  (answer.errors ?? [])
    .map(({ type, field, body }) => ({ field, type, body }))
    .sort((a, b) => (printJson(a) < printJson(b) ? -1 : 1));

const checks: Recording = {
  subject: "schemas",
  file: `${folder}/schema/testdata/reference-answers.jsonl`,
  ...sourcedLines,
  answer: async (entries) => {
    const answers = askReference("schema-checks", entries as unknown as Question[]);
    return answers.map((answer, index) => ({
      ...entries[index],
      errors: sortedErrors(answer),
      ...("unknown" in (entries[index] ?? {}) && { unknown: [...(answer.unknown ?? [])] }),
    }));
  },
};

/** The schemas of the group of a CRD in full, those of other groups by name. */
function publishedBy(crd: JsonValue | undefined, { documents = {} }: Answer): JsonObject {
  const group = isJsonObject(crd) && isJsonObject(crd["spec"]) ? String(crd["spec"]["group"]) : "";
  const prefix = `${group.split(".").reverse().join(".")}.`;
  const published = Object.entries(documents).map(([version, schemas]) => {
    const own = Object.entries(schemas).filter(([name]) => name.startsWith(prefix));
    const others = Object.keys(schemas).filter((name) => !name.startsWith(prefix));
    return [version, { own: Object.fromEntries(own.map(([name, schema]) => [name, factsOf(schema as Json)])), others }];
  });
  return Object.fromEntries(published) as JsonObject;
}

const documents: Recording = {
  subject: "schemas",
  file: `${folder}/openapi/testdata/crd-documents.jsonl`,
  ...sourcedLines,
  answer: async (entries) => {
    const answers = askReference("crd-documents", entries as unknown as Question[]);
    return entries.map(({ reason = "", crd = null }, index): Entry => {
      const answer = answers[index] ?? { errors: null, unknown: null };
      return { reason, crd, documents: publishedBy(crd, answer) };
    });
  },
};

export const schemaRecordings: readonly Recording[] = [checks, documents];
