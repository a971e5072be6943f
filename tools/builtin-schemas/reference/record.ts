// SPDX-License-Identifier: Apache-2.0
// Writes what the reference server's libraries answer into the test data of kube-objects, beside each question there.
// To add a case, append a line with its reason and question, and run this.
import { readFileSync, writeFileSync } from "node:fs";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printJson,
} from "../../../packages/kube-objects/src/index.ts";
import { factsOf } from "../facts.ts";
import type { Json } from "../original.ts";
import { type Answer, askReference, type Question } from "./ask.ts";

const source = "k8s.io/apiextensions-apiserver v0.36.3, by tools/builtin-schemas/reference";
const testdata = new URL("../../../packages/kube-objects/src/", import.meta.url);

function record(file: string, answered: (question: JsonObject, answer: Answer) => JsonObject): void {
  const url = new URL(file, testdata);
  const [, ...lines] = readFileSync(url, "utf8").trimEnd().split("\n");
  const questions = lines.map((line) => parseJson(line) as JsonObject);
  const answers = askReference(questions as unknown as Question[]);
  const recorded = questions.map((question, index) => {
    const answer = answers[index];
    if (!answer || answer.failed) throw new Error(`${file}, ${question["reason"]}: ${answer?.failed}`);
    return printJson(answered(question, answer));
  });
  writeFileSync(url, `${[JSON.stringify({ source }), ...recorded].join("\n")}\n`);
  console.log(`${recorded.length} answers in ${file}`);
}

// Go walks maps in random order, so the answers are sorted to make recordings comparable.
const sortedErrors = (answer: Answer): JsonValue =>
  (answer.errors ?? [])
    .map(({ type, field, body }) => ({ field, type, body }))
    .sort((a, b) => (printJson(a) < printJson(b) ? -1 : 1));

record("schema/testdata/reference-answers.jsonl", (question, answer) => ({
  ...question,
  errors: sortedErrors(answer),
  ...("unknown" in question ? { unknown: [...(answer.unknown ?? [])] } : {}),
}));

record("openapi/testdata/crd-documents.jsonl", ({ reason, crd }, answer) => {
  const group = isJsonObject(crd) && isJsonObject(crd["spec"]) ? String(crd["spec"]["group"]) : "";
  const prefix = `${group.split(".").reverse().join(".")}.`;
  const documents = Object.entries(answer.documents ?? {}).map(([version, schemas]) => {
    const isOwn = ([name]: readonly [string, JsonValue]): boolean => name.startsWith(prefix);
    const own = Object.entries(schemas).filter(isOwn);
    const others = Object.keys(schemas).filter((name) => !name.startsWith(prefix));
    return [version, { own: Object.fromEntries(own.map(([name, schema]) => [name, factsOf(schema as Json)])), others }];
  });
  return { reason: reason ?? "", crd: crd ?? null, documents: Object.fromEntries(documents) };
});
