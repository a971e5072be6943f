// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Condition, create, Duration, ResponseMeta, Result, RunFunctionResponse } from "@purlin/function-protocol";
import { readResults, shorter, ttlOf } from "./step-results.ts";

const response = (results: Partial<Result>[], conditions: Partial<Condition>[] = []): RunFunctionResponse =>
  create(RunFunctionResponse, {
    results: results.map((result) => create(Result, result)),
    conditions: conditions.map((condition) => create(Condition, condition)),
  });
const [fatal, warning, normal] = [1, 2, 3];

const events: Readonly<Record<string, { result: Partial<Result>; want: object }>> = {
  Normal: {
    result: { severity: normal, message: "hi" },
    want: { type: "Normal", reason: "ComposeResources", message: "hi", forClaim: false, detail: 'Pipeline step "s": ' },
  },
  WarningForClaim: {
    result: { severity: warning, message: "hi", reason: "Why", target: 2 },
    want: { type: "Warning", reason: "Why", message: "hi", forClaim: true, detail: 'Pipeline step "s": ' },
  },
  EmptyReason: {
    result: { severity: normal, message: "hi", reason: "", target: 1 },
    want: { type: "Normal", reason: "ComposeResources", message: "hi", forClaim: false, detail: 'Pipeline step "s": ' },
  },
  UnknownTarget: {
    result: { severity: normal, message: "hi", target: 99 },
    want: { type: "Normal", reason: "ComposeResources", message: "hi", forClaim: false, detail: 'Pipeline step "s": ' },
  },
  UnspecifiedSeverity: {
    result: { severity: 0, message: "hi", target: 2 },
    want: {
      type: "Warning",
      reason: "ComposeResources",
      message: 'Pipeline step "s" returned a result of unknown severity (assuming warning): hi',
      forClaim: false,
      detail: "",
    },
  },
  UnknownSeverity: {
    result: { severity: 42, message: "hi" },
    want: {
      type: "Warning",
      reason: "ComposeResources",
      message: 'Pipeline step "s" returned a result of unknown severity (assuming warning): hi',
      forClaim: false,
      detail: "",
    },
  },
};

for (const [name, { result, want }] of Object.entries(events)) {
  test(`the event of a result, ${name}`, () => {
    assert.deepEqual(readResults("s", response([result])).events, [want]);
  });
}

test("the first fatal counts, and no result after it; conditions count all the same", () => {
  const results = [
    { severity: warning, message: "before" },
    { severity: fatal, message: "first" },
    { severity: fatal, message: "second" },
    { severity: normal, message: "after" },
  ];
  const read = readResults("s", response(results, [{ type: "Db", status: 2 }]));
  assert.equal(read.fatal?.message, "first");
  assert.deepEqual(
    read.events.map(({ message }) => message),
    ["before"],
  );
  assert.deepEqual(
    read.conditions.map(({ type }) => type),
    ["Db"],
  );
});

const statuses: Readonly<Record<number, string>> = { 0: "Unknown", 1: "Unknown", 2: "True", 3: "False", 9: "Unknown" };

for (const [status, want] of Object.entries(statuses)) {
  test(`the condition status ${status} is ${want}`, () => {
    const [condition] = readResults("s", response([], [{ type: "Db", status: Number(status) }])).conditions;
    assert.equal(condition?.status, want);
  });
}

test("the shortest time to live counts, and without any there is no limit", () => {
  const ttl = (seconds: number, nanos = 0): number | undefined =>
    ttlOf(
      create(RunFunctionResponse, {
        meta: create(ResponseMeta, { ttl: create(Duration, { seconds: BigInt(seconds), nanos }) }),
      }),
    );
  assert.equal([ttl(300), ttl(0), ttl(60)].reduce(shorter, undefined), 60_000);
  assert.equal([ttl(0), ttl(0)].reduce(shorter, undefined), undefined);
  assert.equal(ttl(0, 500_000_000), 500);
  assert.equal(ttl(-5), undefined);
  assert.equal(ttlOf(create(RunFunctionResponse)), undefined);
});
