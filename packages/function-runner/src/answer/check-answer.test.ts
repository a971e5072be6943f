// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  Condition,
  create,
  decodeInTurns,
  encode,
  type JsonObject,
  MatchLabels,
  Requirements,
  Resource,
  ResourceSelector,
  Result,
  RunFunctionResponse,
  SchemaSelector,
  State,
  Struct,
} from "@purlin/function-protocol";
import {
  type AnswerLimits,
  decodeLimitsOf,
  defaultAnswerLimits,
  isAnswerLimitName,
  problemOf,
} from "./check-answer.ts";

const limits: AnswerLimits = {
  answerBytes: 100_000,
  resources: 10,
  requirements: 10,
  results: 10,
  conditions: 10,
  objectBytes: 10_000,
  objectValues: 200,
  nameLength: 100,
  selectedObjects: 10,
};

const some = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const named = <T>(count: number, value: T): Map<string, T> => new Map(some(count, (i) => [`n${i}`, value]));
const object = (value: JsonObject): Resource => create(Resource, { resource: Struct.from(value) });
const desired = (init: Partial<State>): Partial<RunFunctionResponse> => ({ desired: create(State, init) });
const only = (name: string): Partial<RunFunctionResponse> =>
  desired({ resources: new Map([[name, create(Resource)]]) });
const requires = (init: Partial<Requirements>): Partial<RunFunctionResponse> => ({
  requirements: create(Requirements, init),
});
const selector = create(ResourceSelector, { apiVersion: "v1", kind: "Secret" });
const schema = create(SchemaSelector, { apiVersion: "v1", kind: "Secret" });
const bytes = (size: number): JsonObject => ({ text: "x".repeat(size) });
const labelled = (labels: number): ResourceSelector => {
  const value = create(MatchLabels, { labels: new Map(some(labels, (i) => [`l${i}`, "x"])) });
  return create(ResourceSelector, { ...selector, match: { case: "matchLabels", value } });
};
const details = (count: number, size: number): Resource =>
  create(Resource, { connectionDetails: named(count, new Uint8Array(size)) });
const list = (items: number): JsonObject => ({ list: some(items, () => null) });

/** Responses within the limits, as far as they go, and one beyond: undefined where it is accepted. */
const cases: Readonly<Record<string, readonly [Partial<RunFunctionResponse>, string | undefined]>> = {
  "no more than the limit of resources": [desired({ resources: named(10, create(Resource)) }), undefined],
  "one resource too many": [
    desired({ resources: named(11, create(Resource)) }),
    "more than 10 desired resources (limit resources=10)",
  ],
  "no more than the limit of requirements": [requires({ resources: named(10, selector) }), undefined],
  "one requirement too many": [
    requires({ resources: named(11, selector) }),
    "more than 10 requirements (limit requirements=10)",
  ],
  "one extra requirement too many": [
    requires({ extraResources: named(11, selector) }),
    "more than 10 requirements (limit requirements=10)",
  ],
  "one schema too many": [
    requires({ schemas: named(11, schema) }),
    "more than 10 requirements (limit requirements=10)",
  ],
  "too many requirements of different types together": [
    requires({ resources: named(5, selector), extraResources: named(5, selector), schemas: named(1, schema) }),
    "the function's answer has 11 requirements (limit requirements=10)",
  ],
  "no more than the limit of results": [{ results: some(10, () => create(Result)) }, undefined],
  "one result too many": [{ results: some(11, () => create(Result)) }, "more than 10 results (limit results=10)"],
  "messages of conditions as long as one object": [
    { conditions: some(10, () => create(Condition, { message: "x".repeat(1_000) })) },
    undefined,
  ],
  "messages of conditions one character too long": [
    { conditions: some(10, (i) => create(Condition, { message: "x".repeat(i === 9 ? 1_001 : 1_000) })) },
    "the messages of the conditions in the function's answer have more than 10000 characters (limit objectBytes=10000)",
  ],
  "no more than the limit of conditions": [{ conditions: some(10, () => create(Condition)) }, undefined],
  "one condition too many": [
    { conditions: some(11, () => create(Condition)) },
    "more than 10 conditions (limit conditions=10)",
  ],
  "a composite resource of the limit": [desired({ composite: object(bytes(9_900)) }), undefined],
  "a composite resource beyond it": [
    desired({ composite: object(bytes(10_000)) }),
    "desired.composite.resource in the function's answer has 10015 bytes (limit objectBytes=10000)",
  ],
  "a composed resource beyond it": [
    desired({ resources: new Map([["a", object(bytes(10_000))]]) }),
    'desired.resources["a"].resource in the function\'s answer has 10015 bytes (limit objectBytes=10000)',
  ],
  "a context beyond it": [
    { context: Struct.from(bytes(10_000)) },
    "context in the function's answer has 10015 bytes (limit objectBytes=10000)",
  ],
  "an output beyond it": [
    { output: Struct.from(bytes(10_000)) },
    "output in the function's answer has 10015 bytes (limit objectBytes=10000)",
  ],
  "connection details of the limit": [desired({ composite: details(10, 998) }), undefined],
  "connection details beyond it": [
    desired({ composite: details(10, 999) }),
    "desired.composite.connectionDetails in the function's answer has 10010 bytes (limit objectBytes=10000)",
  ],
  "connection details of a composed resource beyond it": [
    desired({ resources: new Map([["a", details(10, 999)]]) }),
    'desired.resources["a"].connectionDetails in the function\'s answer has 10010 bytes (limit objectBytes=10000)',
  ],
  "connection details with long keys": [
    desired({ composite: create(Resource, { connectionDetails: new Map([["k".repeat(10_001), new Uint8Array()]]) }) }),
    "desired.composite.connectionDetails in the function's answer has 10001 bytes (limit objectBytes=10000)",
  ],
  "more connection details than a Secret has": [
    desired({ composite: details(1_001, 1) }),
    "more than 1000 connection details of one resource",
  ],
  "a selector of many labels": [
    requires({ resources: new Map([["a", labelled(1_001)]]) }),
    "more than 1000 labels in one selector",
  ],
  "as many values as the limit": [{ context: Struct.from(list(199)) }, undefined],
  "one value too many in a list": [
    { context: Struct.from(list(200)) },
    "context in the function's answer has more than 200 values (limit objectValues=200)",
  ],
  "too many values in lists of lists": [
    { context: Struct.from({ a: some(10, () => some(20, () => null)) }) },
    "context in the function's answer has more than 200 values (limit objectValues=200)",
  ],
  "too many members": [
    { context: Struct.from(Object.fromEntries(some(201, (i) => [`m${i}`, i]))) },
    "context in the function's answer has more than 200 values (limit objectValues=200)",
  ],
  "a member named __proto__": [
    { context: Struct.from(JSON.parse('{"__proto__": {"a": 1}, "constructor": {"prototype": {}}}') as JsonObject) },
    undefined,
  ],
  "a resource named __proto__": [only("__proto__"), undefined],
  "a name of the limit": [only("x".repeat(100)), undefined],
  "a name beyond it": [
    only("x".repeat(101)),
    `the name of a desired resource in the function's answer has 101 characters ("${"x".repeat(64)}"…) (limit nameLength=100)`,
  ],
  "a requirement's name beyond it": [
    requires({ resources: new Map([["x".repeat(101), selector]]) }),
    "the name of a requirement in the function's answer has 101 characters",
  ],
  "an extra requirement's name beyond it": [
    requires({ extraResources: new Map([["x".repeat(101), selector]]) }),
    "the name of a requirement in the function's answer has 101 characters",
  ],
  "a schema's name beyond it": [
    requires({ schemas: new Map([["x".repeat(101), schema]]) }),
    "the name of a requirement in the function's answer has 101 characters",
  ],
  "a condition's type beyond it": [
    { conditions: [create(Condition, { type: "x".repeat(101) })] },
    "the type of a condition in the function's answer has 101 characters",
  ],
  "a condition's reason beyond it": [
    { conditions: [create(Condition, { reason: "x".repeat(101) })] },
    "the reason of a condition in the function's answer has 101 characters",
  ],
  "a result's reason beyond it": [
    { results: [create(Result, { reason: "x".repeat(101) })] },
    "the reason of a result in the function's answer has 101 characters",
  ],
  "a long message": [{ results: [create(Result, { message: "x\n".repeat(20_000) })] }, undefined],
  "a name in any script": [only("größe-名前-🚀"), undefined],
  "an empty name": [only(""), undefined],
};

const controls: Readonly<Record<string, string>> = {
  "a line feed": "\n",
  "a carriage return": "\r",
  "a tab": "\t",
  NUL: "\0",
  ESC: "\u001b[2J",
  DEL: "\u007f",
  "a C1 control": "\u009b",
  "a line separator": "\u2028",
  "a paragraph separator": "\u2029",
};

const holders: Readonly<Record<string, (name: string) => Partial<RunFunctionResponse>>> = {
  "the name of a desired resource": only,
  "the name of a requirement": (name) => requires({ resources: new Map([[name, selector]]) }),
  "the type of a condition": (type) => ({ conditions: [create(Condition, { type })] }),
  "the reason of a condition": (reason) => ({ conditions: [create(Condition, { reason })] }),
  "the reason of a result": (reason) => ({ results: [create(Result, { reason })] }),
};

async function read(init: Partial<RunFunctionResponse>, most: AnswerLimits): Promise<string | undefined> {
  const message = encode(RunFunctionResponse, create(RunFunctionResponse, init));
  try {
    const response = await decodeInTurns(RunFunctionResponse, message, decodeLimitsOf(most));
    return (await problemOf(response, most))?.text;
  } catch (error) {
    return (error as Error).message;
  }
}

for (const [name, [init, want]] of Object.entries(cases)) {
  test(`an answer with ${name} is ${want === undefined ? "accepted" : "refused"}`, async () => {
    const problem = await read(init, limits);
    if (want === undefined) assert.equal(problem, undefined);
    else assert.ok(problem?.includes(want), String(problem));
  });
}

for (const [what, make] of Object.entries(holders)) {
  for (const [character, text] of Object.entries(controls)) {
    test(`${what} with ${character} is refused, and the error does not contain it`, async () => {
      const problem = await read(make(`a${text}b`), limits);
      assert.match(problem ?? "", /^the .* in the function's answer contains a control character: "a\\/);
      assert.ok(problem?.startsWith(what) && !problem.includes(text[0] as string), String(problem));
    });
  }
}

test("an answer as large as all defaults together allow is accepted", async () => {
  const full = {
    ...desired({
      resources: new Map(
        some(defaultAnswerLimits.resources, (i) => [
          `resource-${i}`,
          create(Resource, {
            resource: Struct.from({ i }),
            ready: 1,
            connectionDetails: new Map([["a", Buffer.from("b")]]),
          }),
        ]),
      ),
    }),
    ...requires({ resources: new Map(some(defaultAnswerLimits.requirements, (i) => [`r${i}`, labelled(1)])) }),
    results: some(defaultAnswerLimits.results, () =>
      create(Result, { severity: 1, message: "m", reason: "R", target: 2 }),
    ),
    conditions: some(defaultAnswerLimits.conditions, () =>
      create(Condition, { type: "T", status: 2, reason: "R", message: "m", target: 2 }),
    ),
  };
  assert.equal(await read(full, defaultAnswerLimits), undefined);
});

test("names of limits are recognized, other words are not", () => {
  assert.deepEqual(["resources", "toString", "__proto__", ""].map(isAnswerLimitName), [true, false, false, false]);
});

test("a message that is cut when it is stored counts with what is left of it", async () => {
  const message = "x".repeat(defaultAnswerLimits.objectBytes + 1);
  const answer = create(RunFunctionResponse, { conditions: [create(Condition, { message })] });
  assert.equal(await problemOf(answer, defaultAnswerLimits), undefined);
});
