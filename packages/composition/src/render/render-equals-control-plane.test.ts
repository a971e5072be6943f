// SPDX-License-Identifier: Apache-2.0
// What render prints is what the controller then does, on a real API server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createResourceFetcher, noSchemas } from "@purlin/function-runner";
import { conditionsOf, type KubeObject, objectAt } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { appDefinition, cacheDefinition } from "../../test/definitions.ts";
import { contains, startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { autoReady, type ResponseWish } from "../../test/test-doubles.ts";
import { clientReader } from "../composite/observe/observe.ts";
import { resourceRefsOf } from "../composite-resource/crossplane-fields.ts";
import { renderComposite } from "./render-composite.ts";

let cluster: TestCluster;
let modern: CompositeBench;
let legacy: CompositeBench;
const definitions = new Map<CompositeBench, KubeObject>();
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  for (const xrd of [cacheDefinition("Namespaced"), appDefinition()]) {
    const stored = await cluster.define(xrd);
    const bench = createCompositeBench(cluster, stored);
    definitions.set(bench, stored);
    if (bench.kind.schema === "modern") modern = bench;
    else legacy = bench;
  }
});
after(() => cluster[Symbol.asyncDispose]());

const short = (xr: KubeObject): string[] =>
  conditionsOf(xr)
    .map(({ type, status, reason, message = "" }) => `${type} ${status} ${reason} ${message}`)
    .sort();

interface Row {
  readonly legacy?: boolean;
  readonly wish: ResponseWish;
  readonly readied?: boolean;
}

const rows: Readonly<Record<string, Row>> = {
  Nothing: { wish: {} },
  TwoMaps: { wish: { resources: { a: configMap({ x: "1" }), b: configMap({ x: "2" }) }, ready: ["a"] } },
  Named: {
    wish: { resources: { a: configMap({ x: "1" }, { name: "mine", labels: { l: "v" }, annotations: { n: "v" } }) } },
  },
  Status: { wish: { status: { url: "https://x" }, resources: { a: configMap({ x: "1" }) }, compositeReady: 1 } },
  Conditions: {
    wish: {
      conditions: [{ type: "Db", status: 3, reason: "Down", message: "no", target: 2 }],
      results: [{ severity: 2, message: "careful" }],
    },
  },
  AutoReady: { wish: { resources: { a: configMap({ x: "1" }) } }, readied: true },
  Legacy: {
    legacy: true,
    wish: {
      resources: { a: configMap({ x: "1" }, { namespace: "default" }) },
      conditions: [{ type: "Db", status: 2, reason: "Up", target: 2 }],
    },
  },
};

for (const [name, row] of Object.entries(rows)) {
  test(`render equals the control plane: ${name}`, async () => {
    const bench = row.legacy ? legacy : modern;
    const composition = await bench.compositionOf(`c${number}`, row.readied ? ["f", "ready"] : ["f"]);
    const named = { compositionRef: { name: `c${number}` } };
    const spec = row.legacy ? named : { crossplane: named };
    const xr = await bench.xr(`xr${number++}`, spec, row.legacy ? {} : { namespace: "default" });
    bench.functions.set("f", row.wish);
    bench.functions.set("ready", autoReady);
    const key = { name: xr.metadata.name ?? "", namespace: xr.metadata.namespace };

    const fetchers = { resources: createResourceFetcher(clientReader(cluster.client)), schema: noSchemas };
    const {
      metadata: { name: ownName = "", namespace, uid = "" },
    } = xr;
    const input = { ...xr, metadata: { name: ownName, uid, ...(namespace && { namespace }) } };
    const rendered = await renderComposite(
      { xr: input, composition, definition: definitions.get(bench) },
      { runStep: bench.functions.runStep, fetchers },
    );
    await bench.reconcile(key);

    const stored = await bench.read(key);
    const { schema } = bench.kind;
    assert.deepEqual(resourceRefsOf(rendered.xr.short, schema), resourceRefsOf(stored, schema));
    assert.deepEqual(short(rendered.xr.short), short(stored));
    const { conditions: _, ...status } = objectAt(rendered.xr.short, ["status"]);
    const { conditions: _stored, ...same } = objectAt(stored, ["status"]);
    assert.deepEqual(status, same);
    for (const object of rendered.resources) {
      const applied = await cluster.kube.get(object, {
        name: object.metadata.name ?? "",
        namespace: object.metadata.namespace,
      });
      contains(applied, object, object.metadata.name ?? "");
    }
    const events = bench.takeEvents().map((line) => line.replace(/^\S+ /, ""));
    const printed = rendered.results.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
    const plain = (lines: readonly string[]): string[] => lines.filter((line) => !line.includes("elected composition"));
    assert.deepEqual(plain(printed), plain(events));
  });
}
