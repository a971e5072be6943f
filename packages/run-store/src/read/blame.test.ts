// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { callOf, runOf, stepOf } from "../../test/sample-runs.ts";
import { openRunStore } from "../store/open-run-store.ts";
import { blame } from "./blame.ts";
import { inflateRun, type Run } from "./run-views.ts";

/** A run whose steps want these objects, as it is read from a store. */
function recorded(...desired: readonly Readonly<Record<string, object>>[]): Run {
  const directory = mkdtempSync(join(tmpdir(), "purlin-runs-"));
  try {
    using store = openRunStore({ directory });
    const now = Date.now();
    store.record(runOf({ beganMs: now, endedMs: now, steps: desired.map((one, index) => stepOf(index, callOf(one))) }));
    store.flush();
    const document = store.reader.get(store.reader.list()[0]?.id ?? "");
    assert.ok(document);
    return inflateRun(document);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const linesOf = (run: Run, path?: string): string[] =>
  blame(run, { path }).map(
    ({ resource, path: at, step, value, overwrote }) =>
      `${resource} ${at || "."} ${JSON.stringify(value)} ${step} [${overwrote.map((one) => `${one.step}=${JSON.stringify(one.value) ?? "removed"}`).join(" ")}]`,
  );

test("set, overwritten, removed and set again over four steps", () => {
  const run = recorded(
    { web: { kind: "D", spec: { replicas: 1, image: "a" } } },
    { web: { kind: "D", spec: { replicas: 2, image: "a" } } },
    { web: { kind: "D", spec: { image: "a" } } },
    { web: { kind: "D", spec: { replicas: 3, image: "a" } }, map: { kind: "C", data: { a: 1, b: { c: 2 } } } },
  );
  assert.deepEqual(linesOf(run), [
    'map . {"kind":"C","data":{"a":1,"b":{"c":2}}} step-3 []',
    'web kind "D" step-0 []',
    'web spec.image "a" step-0 []',
    "web spec.replicas 3 step-3 [step-0=1 step-1=2 step-2=removed]",
  ]);
});

test("a step that returns a value as it was is not blamed, and a removed resource is not listed", () => {
  const run = recorded({ a: { x: 1 }, b: { y: 1 } }, { a: { x: 1 }, b: { y: 1 } }, { a: { x: 1 } });
  assert.deepEqual(linesOf(run), ['a . {"x":1} step-0 []']);
});

test("items of a list are identified by name, and a path selects what is below it", () => {
  const run = recorded(
    {
      web: {
        spec: {
          containers: [
            { name: "app", image: "a" },
            { name: "log", image: "l" },
          ],
        },
      },
    },
    {
      web: {
        spec: {
          containers: [
            { name: "log", image: "l" },
            { name: "app", image: "b" },
          ],
        },
      },
    },
  );
  assert.deepEqual(linesOf(run, "spec.containers[name=app].image"), [
    'web spec.containers[name=app].image "b" step-1 [step-0="a"]',
  ]);
  assert.deepEqual(linesOf(run, "spec.containers[name=log]"), [
    'web spec.containers[name=log] {"name":"log","image":"l"} step-0 []',
  ]);
});
