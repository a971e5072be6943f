// SPDX-License-Identifier: Apache-2.0
// Paths of fields, the fields that differ, and which step set them, on runs made in memory.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  create,
  Ready,
  Resource,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { blame, blameAt, changesBetween, childrenOf, leavesOf } from "./blame.ts";
import type { Run, RunStepMessages } from "./run-views.ts";

/** What a step wants: resources by name, or nothing where its call failed. */
type Wanted = Readonly<Record<string, object>> | undefined;

const resourceOf = (object: object): Resource => create(Resource, { resource: Struct.from(object) });

function stepWanting(wanted: Wanted, index: number, composite?: object): RunStepMessages {
  const resources = new Map(Object.entries(wanted ?? {}).map(([name, object]) => [name, resourceOf(object)]));
  const desired = create(State, { resources, composite: composite && resourceOf(composite) });
  const response = wanted === undefined ? undefined : create(RunFunctionResponse, { desired });
  return {
    ...{ index, name: `step-${index}`, function: `fn-${index}`, revision: `fn-${index}-abc`, package: "p" },
    ...{ durationMs: 1, bytesIn: 0, bytesOut: 0, cached: false },
    calls: [{ request: create(RunFunctionRequest), response }],
  };
}

function runOf(steps: readonly RunStepMessages[]): Run {
  return {
    ...{ id: "01", xr: { apiVersion: "example.org/v1", kind: "App", name: "shop" }, uid: "u", generation: 1 },
    ...{ resourceVersion: "1", composition: "apps", compositionRevision: "apps-1", cause: "spec" },
    ...{ began: "2026-01-01T00:00:00.000Z", durationMs: 1, outcome: "composed", conditions: [], writes: [] },
    ...{ composite: {}, repeats: 0, last: "2026-01-01T00:00:00.000Z", steps },
  };
}

const run = (...wanted: readonly Wanted[]): Run => runOf(wanted.map((one, index) => stepWanting(one, index)));

describe("the fields of a value", () => {
  const paths = (value: JsonValue, path = ""): string[] => childrenOf(value, path).map((child) => child.path);

  test("are the members of an object in the order of their names", () => {
    assert.deepEqual(childrenOf({ b: 1, a: null }, "spec"), [
      { path: "spec.a", value: null },
      { path: "spec.b", value: 1 },
    ]);
  });

  test("a name that is not an identifier is in brackets", () => {
    const names: Readonly<Record<string, string>> = {
      plain: "x.plain",
      "with-dash": "x.with-dash",
      _private: "x._private",
      $ref: "x.$ref",
      "(ready)": "x.(ready)",
      a1: "x.a1",
      "1a": "x[1a]",
      "app.kubernetes.io/name": "x[app.kubernetes.io/name]",
      "-dash": "x[-dash]",
      "": "x[]",
      schlüssel: "x[schlüssel]",
    };
    for (const [name, path] of Object.entries(names)) assert.deepEqual(paths({ [name]: 1 }, "x"), [path]);
    assert.deepEqual(paths({ plain: 1, "1a": 2 }), ["[1a]", "plain"], "at the top, no dot comes first");
  });

  test("the items of a list have the first key that identifies all of them", () => {
    const rows: readonly (readonly [items: JsonValue[], paths: string[]])[] = [
      [
        [{ name: "a" }, { name: "b" }],
        ["x[name=a]", "x[name=b]"],
      ],
      [
        [
          { name: "a", key: "k" },
          { name: "a", key: "l" },
        ],
        ["x[key=k]", "x[key=l]"],
      ],
      [
        [{ id: "1" }, { id: "2", name: "n" }],
        ["x[id=1]", "x[id=2]"],
      ],
      [
        [{ type: "Ready" }, { type: "Synced" }],
        ["x[type=Ready]", "x[type=Synced]"],
      ],
      [
        [{ name: "a" }, { name: "" }],
        ["x[0]", "x[1]"],
      ],
      [
        [{ name: "a" }, "b"],
        ["x[0]", "x[1]"],
      ],
      [[{ name: 1 }], ["x[0]"]],
      [
        ["a", "b"],
        ["x[0]", "x[1]"],
      ],
      [[], []],
    ];
    for (const [items, expected] of rows) assert.deepEqual(paths(items, "x"), expected, JSON.stringify(items));
  });

  test("a scalar and an empty object or list have none", () => {
    for (const value of [null, true, 1, "a", {}, []]) assert.deepEqual(childrenOf(value, "x"), []);
  });

  test("the leaves are what has no fields, also empty objects and lists", () => {
    const value = { a: { b: [1, { c: "x" }], empty: {}, none: null }, list: [] };
    assert.deepEqual(
      [...leavesOf(value)],
      [
        ["a.b[0]", 1],
        ["a.b[1].c", "x"],
        ["a.empty", {}],
        ["a.none", null],
        ["list", []],
      ],
    );
    assert.deepEqual([...leavesOf("text", "spec.a")], [["spec.a", "text"]]);
    assert.deepEqual([...leavesOf({})], [["", {}]]);
    assert.deepEqual([...leavesOf(undefined)], []);
  });
});

describe("the fields that differ", () => {
  const changes = (before: JsonValue | undefined, after: JsonValue | undefined): string[] =>
    changesBetween(before, after).map(
      ({ path, before: old, after: now }) => `${path}: ${JSON.stringify(old)} -> ${JSON.stringify(now)}`,
    );

  test("are those that were added, removed or changed, by path", () => {
    assert.deepEqual(changes({ same: 1, gone: 2, other: "a" }, { same: 1, other: "b", added: null }), [
      "added: undefined -> null",
      "gone: 2 -> undefined",
      'other: "a" -> "b"',
    ]);
  });

  test("items of a list are compared by their key, so that a move is not a change", () => {
    const [a, b] = [
      { name: "a", v: 1 },
      { name: "b", v: 2 },
    ];
    assert.deepEqual(changes([a, b], [b, a]), []);
    assert.deepEqual(changes([a, b], [{ ...a, v: 3 }, b]), ["[name=a].v: 1 -> 3"]);
    assert.deepEqual(changes([1, 2], [2, 1]), ["[0]: 1 -> 2", "[1]: 2 -> 1"]);
  });

  test("an object in place of a scalar is two changes", () => {
    assert.deepEqual(changes({ a: 1 }, { a: { b: 1 } }), ["a: 1 -> undefined", "a.b: undefined -> 1"]);
    assert.deepEqual(changes({ a: {} }, { a: [] }), ["a: {} -> []"]);
  });

  test("a whole value that is missing on one side, or equal on both", () => {
    assert.deepEqual(changes(undefined, { a: 1 }), ["a: undefined -> 1"]);
    assert.deepEqual(changes({ a: 1 }, undefined), ["a: 1 -> undefined"]);
    assert.deepEqual(changes(undefined, undefined), []);
    assert.deepEqual(changes({ a: { b: [1] } }, { a: { b: [1] } }), []);
  });

  test("paths begin where the caller says", () => {
    assert.deepEqual(changesBetween({ a: 1 }, { a: 2 }, "spec"), [{ path: "spec.a", before: 1, after: 2 }]);
  });
});

describe("the step that set a field", () => {
  const lines = (of: Run, filter = {}): string[] =>
    blame(of, filter).map(({ resource, path, step, value }) => `${resource}|${path}|${JSON.stringify(value)}|${step}`);

  test("comes with its function and revision", () => {
    assert.deepEqual(blame(run({ a: { x: 1 } })), [
      {
        ...{ resource: "a", path: "", value: { x: 1 }, step: "step-0", function: "fn-0", revision: "fn-0-abc" },
        overwrote: [],
      },
    ]);
  });

  test("is one entry for a subtree of one step, and an entry for each field of several", () => {
    const two = run({ a: { spec: { x: 1, y: { z: 1 } } } }, { a: { spec: { x: 1, y: { z: 1, n: 2 } } } });
    assert.deepEqual(lines(two), ["a|spec.x|1|step-0", "a|spec.y.n|2|step-1", "a|spec.y.z|1|step-0"]);
  });

  test("an overwritten field keeps its subtree apart, with what earlier steps had set", () => {
    const found = blame(run({ a: { s: { x: 1, y: 1 } } }, { a: { s: { x: 2, y: 2 } } }));
    assert.deepEqual(
      found.map(({ path, overwrote }) => [path, overwrote]),
      [
        ["s.x", [{ step: "step-0", value: 1 }]],
        ["s.y", [{ step: "step-0", value: 1 }]],
      ],
    );
  });

  test("a step without a response is skipped: the last response is what is wanted", () => {
    assert.deepEqual(lines(run({ a: { x: 1 } }, undefined)), ['a||{"x":1}|step-0']);
    assert.deepEqual(lines(run(undefined)), []);
    assert.deepEqual(lines(runOf([])), []);
  });

  test("the last call of a step counts", () => {
    const first = stepWanting({ a: { x: "first" } }, 0);
    const second = stepWanting({ a: { x: "second" } }, 0);
    const both = { ...first, calls: [...first.calls, ...second.calls] };
    assert.deepEqual(lines(runOf([both])), ['a||{"x":"second"}|step-0']);
    assert.deepEqual(lines(runOf([{ ...first, calls: [] }])), []);
  });

  test("a resource that is removed and wanted again is of the later step", () => {
    const found = blame(run({ a: { x: 1 } }, {}, { a: { x: 1 } }));
    assert.deepEqual(
      found.map(({ path, step, overwrote }) => [path, step, overwrote]),
      [
        [
          "x",
          "step-2",
          [
            { step: "step-0", value: 1 },
            { step: "step-1", value: undefined },
          ],
        ],
      ],
    );
  });

  test("the composite resource is listed under its own name, and readiness is a field", () => {
    const step = stepWanting({ a: { x: 1 } }, 0, { status: { url: "u" } });
    const ready = step.calls[0]?.response?.desired?.resources.get("a");
    assert.ok(ready);
    ready.ready = Ready.READY_FALSE;
    assert.deepEqual(lines(runOf([step])), [
      '(composite)||{"status":{"url":"u"}}|step-0',
      'a||{"x":1,"(ready)":false}|step-0',
    ]);
  });

  test("a filter selects a resource, and a path what is at or below it", () => {
    const both = run({ a: { spec: { x: 1, xy: 2, l: [{ name: "n", v: 1 }] } }, b: { spec: { x: 3 } } });
    assert.deepEqual(lines(both, { resource: "b" }), ['b||{"spec":{"x":3}}|step-0']);
    assert.deepEqual(lines(both, { resource: "c" }), []);
    assert.deepEqual(lines(both, { path: "spec.x" }), ["a|spec.x|1|step-0", "b|spec.x|3|step-0"]);
    assert.deepEqual(lines(both, { resource: "a", path: "spec.l" }), ['a|spec.l|[{"name":"n","v":1}]|step-0']);
    assert.deepEqual(lines(both, { resource: "a", path: "spec.l[name=n].v" }), ["a|spec.l[name=n].v|1|step-0"]);
    assert.deepEqual(lines(both, { path: "spec.none" }), []);
    assert.deepEqual(lines(both, { path: "spe" }), [], "a part of a name is not a path");
  });

  test("a field of the resource that was once an object is blamed as what it is now", () => {
    const changed = run({ a: { k: 1, s: { b: 1 } } }, { a: { k: 1, s: 5 } });
    assert.deepEqual(lines(changed), ["a|k|1|step-0", "a|s|5|step-1"]);
  });
});

describe("a field at a path", () => {
  test("is the text of its values, independent of the order of members, and its steps", () => {
    const at = (object: JsonObject, path: string) => blameAt(run({ a: object }), "a", path);
    assert.deepEqual(at({ spec: { b: 1, a: [{ d: 1, c: 2 }] } }, "spec"), {
      step: "step-0",
      text: '[["spec",{"a":[{"c":2,"d":1}],"b":1}]]',
    });
    assert.deepEqual(at({ spec: { b: 1 } }, "spec"), at({ spec: { b: 1 } }, "spec"));
    assert.equal(at({ spec: {} }, "spec.b"), undefined);
    assert.equal(blameAt(run({ a: {} }), "b", ""), undefined);
  });

  test("names every step that set a part of it, once", () => {
    const two = run({ a: { s: { x: 1, y: 1 } } }, { a: { s: { x: 1, y: 1, z: 2 } } });
    assert.deepEqual(blameAt(two, "a", "s"), {
      step: "step-0,step-1",
      text: '[["s.x",1],["s.y",1],["s.z",2]]',
    });
  });
});
