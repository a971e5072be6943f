// SPDX-License-Identifier: Apache-2.0
// Compares our answers to random questions with those of Kubernetes' own libraries: `node fuzz.ts [count] [seed]`.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { type JsonObject, printJson } from "../../../packages/kube-objects/src/json/index.ts";
import { crdToOpenAPI } from "../../../packages/kube-objects/src/openapi/index.ts";
import { checkSchema } from "../../../packages/kube-objects/src/schema/index.ts";
import { factsOf } from "../facts.ts";
import type { Json } from "../original.ts";
import { definitions, questions } from "./arbitraries.ts";
import { type Answer, askReference } from "./ask.ts";

const numRuns = Number(process.argv[2] ?? 5_000);
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 2 ** 31));
const sample = { numRuns, seed };

const lines = (errors: Answer["errors"]): string[] =>
  (errors ?? []).map(({ field, type, body }) => `${field} | ${type} | ${body}`).sort();
const facts = (schemas: object): unknown =>
  JSON.parse(
    JSON.stringify(
      Object.entries(schemas)
        .sort()
        .map(([name, schema]) => [name, factsOf(schema as Json)]),
    ),
  );

/** Compares one pair of answers; prints both when they differ. */
function isSame(question: unknown, ours: unknown, theirs: unknown): boolean {
  if (isDeepStrictEqual(ours, theirs)) return true;
  console.log({ question: printJson(question as JsonObject), ours, theirs });
  return false;
}

const asked = fc.sample(questions, sample);
const wrong = askReference("schema-checks", asked).filter((answer, index) => {
  const { schema, value } = asked[index] ?? { schema: {}, value: null };
  return !isSame(asked[index], lines(checkSchema(value, schema as JsonObject)), lines(answer.errors));
});

const defined = fc.sample(definitions, sample).map((crd) => ({ crd }));
const misprinted = askReference("crd-documents", defined).filter(({ documents }, index) => {
  const published = crdToOpenAPI(defined[index]?.crd).get("apis/example.org/v1")?.components.schemas ?? {};
  return !isSame(defined[index], facts(published), facts(documents?.["v1"] ?? {}));
});

console.log(
  `seed ${seed}: ${wrong.length} of ${numRuns} checks and ${misprinted.length} of ${numRuns} documents differ`,
);
process.exitCode = wrong.length + misprinted.length === 0 ? 0 : 1;
