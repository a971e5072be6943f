// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explanation } from "@purlin/explain";
import type { FunctionProcess, ProcessState } from "@purlin/function-process";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { plainStyle, TestIo } from "../../test/test-io.ts";
import {
  collectStatus,
  isSettled,
  type PackageSource,
  type StatusSource,
  snapshotLines,
  snapshotTexts,
  unsettledLines,
} from "./status-snapshot.ts";
import { createLiveView, createStatusWatcher, showCauses } from "./status-watcher.ts";

function composite(name: string, status: "True" | "False", more: object = {}): KubeObject {
  const conditions = [
    { type: "Synced", status: "True" },
    { type: "Ready", status, reason: status === "True" ? "Available" : "Creating" },
  ];
  return { apiVersion: "e/v1", kind: "X", metadata: { name, resourceVersion: "7", ...more }, status: { conditions } };
}

function sourceOf(
  composites: readonly KubeObject[],
  pending: readonly KubeObject[] = [],
  packages: Partial<PackageSource> = {},
): StatusSource {
  const find: StatusSource["find"] = ({ name }) => composites.find(({ metadata }) => metadata.name === name);
  const none = { packages: [], compositions: [], compositionRevisions: [] };
  return { composites, pending, find, packages: { ...none, ...packages } };
}

const withPackages = (...packages: readonly KubeObject[]): StatusSource => sourceOf([], [], { packages });

/** A Function with the conditions Installed and Healthy, unless other ones are given. */
function functionObject(
  name: string,
  more: { readonly annotations?: object; readonly conditions?: JsonValue; readonly status?: object } = {},
): KubeObject {
  const healthy = ["Installed", "Healthy"].map((type) => ({ type, status: "True", observedGeneration: 1 }));
  const { annotations = {}, conditions = healthy, status = {} } = more;
  const owned = Object.fromEntries(Object.keys(annotations).map((key) => [`f:${key}`, {}]));
  const metadata = {
    name,
    generation: 1,
    annotations: annotations as Record<string, string>,
    managedFields: [
      { manager: "purlin-apply", operation: "Apply", fieldsV1: { "f:metadata": { "f:annotations": owned } } } as const,
    ],
  };
  return { apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata, status: { conditions, ...status } };
}

const source = { annotations: { "purlin.dev/source": "/fn.ts" } };
const unpacking = { reason: "UnpackingPackage", status: "False", observedGeneration: 1 };
const composition = (functionName: string): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "c" },
  spec: { pipeline: [{ step: "a", functionRef: { name: functionName } }] },
});
const compositionRevision = (revision: number, status: string): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: { name: `c-${revision}`, labels: { "crossplane.io/composition-name": "c" } },
  spec: { revision },
  status: { conditions: [{ type: "ValidPipeline", status, reason: "MissingCapabilities", message: "no composition" }] },
});
const target = { annotations: { "render.crossplane.io/runtime": "Development" } };

function process(state: ProcessState): FunctionProcess {
  return { name: "fn", state } as unknown as FunctionProcess;
}

const definition = (message: string): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xs.e" },
  status: { conditions: [{ type: "Established", status: "False", message }] },
});

const serving = { phase: "serving", endpoint: "e" } as const;

const snapshots: Record<
  string,
  {
    readonly source: StatusSource;
    readonly processes?: readonly FunctionProcess[];
    readonly applied?: readonly KubeObject[];
    readonly settled: boolean;
    readonly waiting: readonly string[];
  }
> = {
  Nothing: { source: sourceOf([]), settled: true, waiting: [] },
  Ready: { source: sourceOf([composite("a", "True")]), processes: [process(serving)], settled: true, waiting: [] },
  Waiting: { source: sourceOf([composite("a", "False")]), settled: false, waiting: ["X a: Waiting: Ready: Creating"] },
  NotSeenYet: { source: sourceOf([]), applied: [composite("a", "True")], settled: false, waiting: [] },
  SeenBefore: {
    source: sourceOf([composite("a", "True")]),
    applied: [composite("a", "True", { resourceVersion: "10" })],
    settled: false,
    waiting: [],
  },
  Seen: { source: sourceOf([composite("a", "True")]), applied: [composite("a", "True")], settled: true, waiting: [] },
  Undefined: {
    source: sourceOf([], [definition("cannot\n  do that")]),
    settled: false,
    waiting: ["CompositeResourceDefinition xs.e: cannot do that"],
  },
  NotOffered: {
    source: sourceOf([], [definition("")]),
    settled: false,
    waiting: ["CompositeResourceDefinition xs.e: not offered yet"],
  },
  FunctionStarts: {
    source: sourceOf([]),
    processes: [process({ phase: "starting" })],
    settled: false,
    waiting: ["Function fn: starting"],
  },
  SourceNotStartedSinceRestart: {
    source: withPackages(functionObject("fn", source)),
    settled: false,
    waiting: ["Function fn: starting"],
  },
  SourceServes: {
    source: withPackages(functionObject("fn", source)),
    processes: [process(serving)],
    settled: true,
    waiting: [],
  },
  RunElsewhere: {
    source: withPackages(functionObject("fn", { ...target, conditions: [] })),
    settled: true,
    waiting: [],
  },
  PackageNotFetched: {
    source: withPackages(
      functionObject("fn", {
        conditions: [{ type: "Installed", ...unpacking, message: "cannot unpack package: 404" }],
      }),
    ),
    settled: false,
    waiting: ["Function fn: Failing: Installed: UnpackingPackage: cannot unpack package: 404"],
  },
  PackageOfAnOlderGeneration: {
    source: withPackages({ ...functionObject("fn"), metadata: { name: "fn", generation: 2 } }),
    settled: false,
    waiting: ["Function fn: Waiting: Installed: not reported yet"],
  },
  RevisionNotStartedSinceRestart: {
    source: withPackages(functionObject("f", { status: { currentRevision: "fn" } })),
    settled: false,
    waiting: ["Function f: starting"],
  },
  RevisionServes: {
    source: withPackages(functionObject("f", { status: { currentRevision: "fn" } })),
    processes: [process(serving)],
    settled: true,
    waiting: [],
  },
  FunctionMissing: {
    source: sourceOf([], [], { compositions: [composition("nope")], packages: [functionObject("fn", target)] }),
    settled: false,
    waiting: ['Composition c: Function "nope" not found; referenced by step "a" of Composition "c". Installed: fn'],
  },
  PipelineInvalid: {
    source: sourceOf([], [], {
      compositions: [composition("fn")],
      packages: [functionObject("fn", target)],
      compositionRevisions: [compositionRevision(2, "False"), compositionRevision(1, "True")],
    }),
    settled: false,
    waiting: ["Composition c: MissingCapabilities: no composition"],
  },
  PipelineWasInvalid: {
    source: sourceOf([], [], {
      compositions: [composition("fn")],
      packages: [functionObject("fn", target)],
      compositionRevisions: [compositionRevision(1, "False"), compositionRevision(2, "True")],
    }),
    settled: true,
    waiting: [],
  },
  FunctionFails: {
    source: sourceOf([]),
    processes: [process({ phase: "failed", problem: "fn.ts:1:2: no" })],
    settled: false,
    waiting: ["Function fn: fn.ts:1:2: no"],
  },
  NewVersionFails: {
    source: sourceOf([]),
    processes: [process({ ...serving, problem: "fn.ts:1:2: no" })],
    settled: false,
    waiting: ["Function fn: fn.ts:1:2: no (the last working version keeps serving)"],
  },
};
for (const [name, { source, processes = [], applied = [], settled, waiting }] of Object.entries(snapshots)) {
  test(`whether there is anything to wait for: ${name}`, () => {
    const seen = (object: KubeObject): KubeObject | undefined =>
      source.composites.find(({ metadata }) => metadata.name === object.metadata.name);
    const snapshot = collectStatus(
      source,
      processes,
      applied.map((object) => ({ object, seen })),
    );
    assert.equal(isSettled(snapshot), settled);
    assert.deepEqual(unsettledLines(snapshot), waiting);
  });
}

test("a screen shows trees and errors; lines also report functions that serve", () => {
  const snapshot = collectStatus(sourceOf([composite("a", "True")]), [
    process(serving),
    { name: "bad", state: { phase: "failed", problem: "no" } } as unknown as FunctionProcess,
  ]);
  assert.deepEqual(snapshotLines(snapshot, plainStyle), ["✓ X a  Ready", "✗ Function bad", "    no"]);
  assert.deepEqual(
    [...snapshotTexts(snapshot).values()].map(({ title, text }) => `${title}: ${text}`),
    ["Function fn: serving", "Function bad: no", "X a: Ready"],
  );
});

test("a screen that is too small shows objects that need attention first, otherwise all by name", () => {
  const failing = { status: { conditions: [{ type: "Synced", status: "False", reason: "No" }] } };
  const nodes = [composite("a", "True"), composite("b", "False"), { ...composite("c", "True"), ...failing }];
  const bad = { name: "bad", state: { phase: "failed", problem: "no" } } as unknown as FunctionProcess;
  const snapshot = collectStatus(sourceOf(nodes), [bad]);
  const byName = ["✓ X a  Ready", "… X b  Waiting", "✗ X c  Failing", "✗ Function bad"];
  const titles = (rows?: number): string[] =>
    snapshotLines(snapshot, plainStyle, rows).filter((line) => !line.startsWith(" "));
  assert.deepEqual(titles(), byName);
  assert.deepEqual(titles(7), byName);
  assert.deepEqual(titles(6), ["✗ Function bad", "✗ X c  Failing", "… X b  Waiting", "✓ X a  Ready"]);
});

test("without a terminal each change is a line; on one the tree is drawn again", () => {
  const before = collectStatus(sourceOf([composite("a", "False")]), []);
  const after = collectStatus(sourceOf([composite("a", "True")]), []);
  const pipe = new TestIo();
  const lines = createLiveView(pipe);
  lines.say("hello");
  for (const snapshot of [before, before, after]) lines.show(snapshot);
  assert.equal(pipe.stdout.text, "hello\nX a: Waiting: Ready: Creating\nX a: Ready\n");
  const terminal = new TestIo({ isTTY: true, env: { NO_COLOR: "1" } });
  const drawn = createLiveView(terminal);
  for (const snapshot of [before, after]) drawn.show(snapshot);
  drawn.say("hello");
  assert.equal(
    terminal.stdout.text,
    "\n… X a  Waiting\n    Ready: Creating\n\r\x1b[3A\x1b[0J\n✓ X a  Ready\n\r\x1b[2A\x1b[0Jhello\n\n✓ X a  Ready\n",
  );
});

test("on a terminal the causes of failures are below the tree, and gone when nothing fails", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const terminal = new TestIo({ isTTY: true, env: { NO_COLOR: "1" } });
  const view = createLiveView(terminal);
  const watcher = createStatusWatcher();
  const object = { apiVersion: "e/v1", kind: "X", name: "a" };
  const cause = {
    code: "E29",
    object,
    sentence: "no\u001b[2J port",
    evidence: [],
    next: ["add it"],
    effects: [],
  } as const;
  const none = { waiting: [], unknown: [], notes: [], notRead: [] };
  const explanation: Explanation = {
    apiVersion: "explain.purlin.dev/v1alpha1",
    kind: "Explanation",
    ...{ object, verdict: "broken", causes: [cause], ...none },
  };
  const asked = Promise.withResolvers<void>();
  const failing = composite("a", "False");
  const conditions = [{ type: "Synced", status: "False", reason: "ReconcileError", message: "no port" }];
  watcher.collect = () => collectStatus(sourceOf([{ ...failing, status: { conditions } }]), []);
  using _ = showCauses(watcher, view, async () => {
    asked.resolve();
    return [explanation];
  });
  const text = (): string => terminal.stdout.text;
  assert.equal(text(), "", "not explained at once");
  mock.timers.tick(1000);
  await asked.promise;
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(text(), "\nX a: E29 FATAL_RESULT: no\\x1b[2J port\nNext:     add it\n");
  watcher.collect = () => collectStatus(sourceOf([composite("a", "True")]), []);
  watcher.changed();
  mock.timers.tick(100);
  assert.ok(text().endsWith("\x1b[0J"), "drawn without them");
});

test("lines say that a problem is resolved, and that an object is gone only if it is", () => {
  const pipe = new TestIo();
  const lines = createLiveView(pipe);
  const shown = (source: StatusSource, processes: readonly FunctionProcess[] = []): string => {
    const { length } = pipe.stdout.text;
    lines.show(collectStatus(source, processes));
    return pipe.stdout.text.slice(length);
  };
  const packages = [functionObject("fn", target)];
  assert.match(shown(sourceOf([], [definition("no")], { compositions: [composition("nope")], packages })), /not found/);
  assert.equal(
    shown(sourceOf([], [], { compositions: [composition("fn")], packages })),
    "CompositeResourceDefinition xs.e: resolved\nComposition c: resolved\n",
  );
  const status = { currentRevision: "f-1" };
  const unhealthy = functionObject("f", { status, conditions: [{ type: "Installed", ...unpacking, message: "404" }] });
  const revision = (state: ProcessState): FunctionProcess => ({ name: "f-1", state, root: "/" }) as never;
  assert.match(shown(withPackages(unhealthy)), /^Function f: Failing: /);
  assert.equal(
    shown(withPackages(unhealthy), [revision({ phase: "failed", problem: "no" })]),
    "Function f: waiting for FunctionRevision f-1\nFunctionRevision f-1: no\n",
  );
  assert.equal(
    shown(withPackages(functionObject("f", { status })), [revision(serving)]),
    "Function f: ready\nFunctionRevision f-1: serving\n",
  );
  assert.equal(shown(sourceOf([])), "Function f: gone\nFunctionRevision f-1: gone\n");
});

test("the process of a Provider has the name of a ProviderRevision", () => {
  const status = { currentRevision: "p-1" };
  const unhealthy = functionObject("p", { status, conditions: [{ type: "Installed", ...unpacking, message: "404" }] });
  const state: ProcessState = { phase: "failed", problem: "no" };
  const process = { name: "p-1", state, root: "/", isProvider: true } as never;
  const pipe = new TestIo();
  createLiveView(pipe).show(collectStatus(withPackages({ ...unhealthy, kind: "Provider" }), [process]));
  assert.equal(pipe.stdout.text, "Provider p: waiting for ProviderRevision p-1\nProviderRevision p-1: no\n");
});

test("the status watcher collects once for many changes, and resolves when everything is ready", async () => {
  const statusWatcher = createStatusWatcher();
  let ready: "True" | "False" = "False";
  let collected = 0;
  statusWatcher.collect = () => {
    collected++;
    return collectStatus(sourceOf([composite("a", ready)]), []);
  };
  const settled = statusWatcher.settled(new AbortController().signal);
  for (let i = 0; i < 10; i++) statusWatcher.changed();
  ready = "True";
  await settled;
  assert.equal(collected, 2, "once at the start, once for all changes");
  const stop = new AbortController();
  ready = "False";
  const never = statusWatcher.settled(stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(never, /enough/);
  statusWatcher.close();
});
