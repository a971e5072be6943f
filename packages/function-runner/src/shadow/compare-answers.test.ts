// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import {
  Condition,
  create,
  Ready,
  Resource,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { createRedactor, keyedMark } from "@purlin/run-store";
import type { MovedNames } from "../function-runner.ts";
import { type Comparison, compareAnswers, rank, shadowClasses, worse } from "./compare-answers.ts";

const redactor = createRedactor({ mark: keyedMark(Buffer.alloc(32, 7)) });
const map = (data: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  data,
  ...more,
});
const resource = (object: JsonObject, more: Partial<Resource> = {}): Resource =>
  create(Resource, { resource: Struct.from(object), ...more });

function answer(
  resources: Readonly<Record<string, JsonObject | Resource>>,
  more: Partial<RunFunctionResponse> = {},
  composite?: Resource,
): RunFunctionResponse {
  const entries = Object.entries(resources).map(([name, one]) => {
    return [name, "connectionDetails" in one ? (one as Resource) : resource(one as JsonObject)] as const;
  });
  const desired = create(State, { resources: new Map(entries), ...(composite && { composite }) });
  return create(RunFunctionResponse, { desired, ...more });
}

function compare(stable: RunFunctionResponse, candidate: RunFunctionResponse, moved?: MovedNames): Comparison {
  return finish(compareAnswers({ request: create(RunFunctionRequest, {}), stable, candidate, moved }, redactor));
}

const fatal = create(Result, { severity: Severity.SEVERITY_FATAL, message: "no disk" });
const note = create(Result, { severity: Severity.SEVERITY_NORMAL, message: "hello" });
const nothing = { resources: [], differing: 0 };

test("classes are ordered from harmless to worst", () => {
  assert.deepEqual(shadowClasses.map(rank), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.equal(worse("change", "delete"), "delete");
  assert.equal(worse("error", "none"), "error");
  assert.equal(worse("slower", "cosmetic"), "slower");
});

test("equal answers have the class none, other results the class cosmetic", () => {
  const stable = answer({ a: map({}) });
  assert.deepEqual(compare(stable, answer({ a: map({}) })), { class: "none", ...nothing });
  assert.deepEqual(compare(stable, answer({ a: map({}) }, { results: [note] })), { class: "cosmetic", ...nothing });
  assert.deepEqual(compare(answer({}), create(RunFunctionResponse, {})), { class: "none", ...nothing });
});

test("a fatal result counts when the stable revision has none", () => {
  assert.deepEqual(compare(answer({ a: map({}) }), answer({}, { results: [note, fatal] })), {
    class: "fatal",
    ...nothing,
    message: "no disk",
  });
  assert.equal(compare(answer({}, { results: [fatal] }), answer({}, { results: [fatal] })).class, "none");
  assert.equal(compare(answer({}, { results: [fatal] }), answer({})).class, "cosmetic");
});

test("a secret of an answer is not in the message of a fatal result", () => {
  const secret = { apiVersion: "v1", kind: "Secret", stringData: { password: "hunter2-hunter2" } };
  const result = create(Result, { severity: Severity.SEVERITY_FATAL, message: "cannot log in with hunter2-hunter2" });
  for (const [stable, candidate] of [
    [answer({}), answer({ secret }, { results: [result] })],
    [answer({ secret }), answer({}, { results: [result] })],
  ] as const) {
    assert.match(compare(stable, candidate).message ?? "", /^cannot log in with \*\*REDACTED:[0-9a-f]{8}\*\*$/);
  }
});

test("another order of fields is the same state", () => {
  const one = { apiVersion: "v1", kind: "ConfigMap", data: { a: "1", b: "2" } };
  const other = { kind: "ConfigMap", data: { b: "2", a: "1" }, apiVersion: "v1" };
  assert.deepEqual(compare(answer({ a: one }), answer({ a: other })), { class: "none", ...nothing });
});

describe("resources", () => {
  const stable = answer({ b: map({ v: "1" }), a: map({ v: "1" }) });
  const kept = { b: map({ v: "1" }) };

  test("that are no longer desired are deleted", () => {
    assert.deepEqual(compare(stable, answer(kept)), {
      class: "delete",
      differing: 1,
      resources: [{ resource: "a", apiVersion: "v1", kind: "ConfigMap", class: "delete", fields: [] }],
    });
  });

  test("of another kind or group are replaced, of another version changed", () => {
    const to = (apiVersion: string, kind: string): ReturnType<typeof compare> =>
      compare(stable, answer({ ...kept, a: { ...map({ v: "1" }), apiVersion, kind } }));
    assert.deepEqual(to("v1", "Secret").resources[0]?.fields, [
      { path: "kind", op: "replace", old: "ConfigMap.", new: "Secret." },
    ]);
    assert.equal(to("v1", "Secret").class, "replace");
    assert.equal(to("example.org/v1", "ConfigMap").class, "replace");
    assert.equal(to("v2", "ConfigMap").class, "change");
  });

  test("that are new have one entry without fields of their own", () => {
    const { class: found, resources } = compare(stable, answer({ ...kept, a: map({ v: "1" }), c: map({}) }));
    assert.equal(found, "change");
    assert.deepEqual(resources, [
      { resource: "c", apiVersion: "v1", kind: "ConfigMap", class: "change", fields: [{ path: "", op: "add" }] },
    ]);
  });

  test("that change are listed by name with their fields", () => {
    const candidate = answer({ b: map({ v: "2" }), a: map({ v: "1", w: "x" }) });
    const { differing, resources } = compare(stable, candidate);
    assert.equal(differing, 2);
    assert.deepEqual(
      resources.map((one) => [one.resource, one.fields]),
      [
        ["a", [{ path: "data.w", op: "add", new: "x" }]],
        ["b", [{ path: "data.v", op: "replace", old: "1", new: "2" }]],
      ],
    );
  });

  test("may differ in readiness and connection details, whose values are not shown", () => {
    const details = (text: string): Resource =>
      resource(map({}), { connectionDetails: new Map([["password", Buffer.from(text)]]) });
    assert.deepEqual(
      compare(answer({ a: details("one-secret") }), answer({ a: details("two-secret") })).resources[0]?.fields,
      [{ path: "connectionDetails", op: "replace", sensitive: true }],
    );
    const ready = answer({ a: resource(map({}), { ready: Ready.READY_TRUE }) });
    assert.deepEqual(compare(answer({ a: map({}) }), ready).resources[0]?.fields, [
      { path: "ready", op: "replace", old: Ready.READY_UNSPECIFIED, new: Ready.READY_TRUE },
    ]);
  });

  test("the worst class is that of the answer", () => {
    assert.equal(compare(stable, answer({ b: map({ v: "2" }) })).class, "delete");
  });
});

describe("the composite resource", () => {
  const fields = (stable: RunFunctionResponse, candidate: RunFunctionResponse): unknown => {
    const { class: found, resources } = compare(stable, candidate);
    return [found, resources.map((one) => [one.resource, one.kind, one.fields])];
  };

  test("changes with its status and the context, in an entry without a name", () => {
    const of = (phase: string): Resource => resource({ status: { phase } });
    assert.deepEqual(fields(answer({}, {}, of("a")), answer({}, { context: Struct.from({ k: 1 }) }, of("b"))), [
      "change",
      [
        [
          "",
          "",
          [
            { path: "status.phase", op: "replace", old: "a", new: "b" },
            { path: "context.k", op: "add", new: 1 },
          ],
        ],
      ],
    ]);
  });

  test("changes with its conditions", () => {
    const condition = create(Condition, { type: "Ok", reason: "Yes" });
    const [found, [entry]] = fields(answer({}), answer({}, { conditions: [condition] })) as [string, [unknown[]]];
    assert.equal(found, "change");
    const shown = `Ok ${condition.status} Yes`;
    assert.deepEqual(entry?.[2], [{ path: "conditions", op: "replace", old: [], new: [shown] }]);
  });
});

describe("declared moves", () => {
  const moved = { renames: [["old", "new"]], leaving: ["gone"] };

  test("are changes, with the fields that change at the same time", () => {
    const found = compare(answer({ old: map({ v: "1" }) }), answer({ new: map({ v: "2" }) }), moved);
    assert.equal(found.class, "change");
    assert.deepEqual(
      found.resources.map((one) => [one.resource, one.fields]),
      [
        [
          "new",
          [
            { path: "resource", op: "replace", old: "old", new: "new" },
            { path: "data.v", op: "replace", old: "1", new: "2" },
          ],
        ],
      ],
    );
  });

  test("of a resource that leaves are not deletions", () => {
    const found = compare(answer({ gone: map({}) }), answer({}), moved);
    assert.deepEqual(found.resources[0]?.fields, [{ path: "resource", op: "remove", old: "gone" }]);
    assert.equal(found.class, "change");
    assert.equal(compare(answer({ gone: map({}) }), answer({ gone: map({}) }), moved).class, "none");
  });

  test("do not apply to another kind, or when both names are there", () => {
    assert.equal(
      compare(answer({ old: map({}) }), answer({ new: map({}, { kind: "Secret" }) }), moved).class,
      "delete",
    );
    const both = { old: map({}), new: map({}) };
    assert.equal(compare(answer(both), answer({ new: map({}) }), moved).class, "delete");
  });
});

describe("limits of a report", () => {
  const many = (count: number, text: string): Record<string, JsonObject> =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`r${String(index).padStart(2, "0")}`, map({ text })]),
    );

  test("20 resources are listed, all are counted", () => {
    for (const [count, listed] of [
      [20, 20],
      [21, 20],
    ] as const) {
      const found = compare(answer(many(count, "a")), answer(many(count, "b")));
      assert.deepEqual([found.resources.length, found.differing], [listed, count]);
    }
  });

  test("20 fields of a resource are listed", () => {
    const data = (value: string): JsonObject =>
      Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, value]));
    const found = compare(answer({ a: map(data("1")) }), answer({ a: map(data("2")) }));
    assert.equal(found.resources[0]?.fields.length, 20);
  });

  test("a value of more than 400 characters is cut", () => {
    const shown = (length: number): unknown => {
      const [entry] = compare(answer({ a: map({ v: "" }) }), answer({ a: map({ v: "x".repeat(length) }) })).resources;
      return entry?.fields[0]?.new;
    };
    assert.equal(shown(398), "x".repeat(398));
    assert.equal(shown(399), `"${"x".repeat(399)}…`);
  });

  test("resources are named beyond 16 KiB of fields", () => {
    const [old, now] = ["a", "b"].map((letter) => {
      const data = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, letter.repeat(390)]));
      return answer({ x: map(data), y: map(data) });
    }) as [RunFunctionResponse, RunFunctionResponse];
    const { resources } = compare(old, now);
    const [first, second] = resources.map(({ fields }) => fields.length);
    assert.deepEqual([resources.length, second], [2, 0]);
    assert.ok(first !== undefined && first > 15 && first <= 20, String(first));
  });
});

test("many resources are compared in parts", () => {
  const many = (text: string): RunFunctionResponse =>
    answer(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`r${index}`, map({ text })])));
  const pair = { request: create(RunFunctionRequest, {}), stable: many("a"), candidate: many("b") };
  const work = compareAnswers(pair, redactor);
  let parts = 0;
  while (!work.next().done) parts++;
  assert.ok(parts >= 100, `${parts} parts`);
});
