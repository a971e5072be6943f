// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { KubeObject } from "@purlin/kube-objects/object";
import { testCase } from "../../test/case-state.ts";
import { asRendered, CaseOutputs, documents, OutputsNotReadyError, writeOutputs } from "./case-outputs.ts";
import type { TestCase } from "./test-file.ts";

const object = (kind: string, name: string): KubeObject => ({ apiVersion: "v1", kind, metadata: { name } });
const rendered = [object("App", "shop"), object("Bucket", "logs"), object("Bucket", "data")];

const withId = (id: string | undefined, file = "xprin.yaml"): TestCase =>
  testCase({
    file,
    xprin: { id, isValidated: false, outputOf: () => undefined, contextFiles: {}, hooks: undefined },
  });
const reader = withId(undefined);

test("a case takes the composite resource, one object or everything of a case above", async () => {
  const outputs = new CaseOutputs();
  outputs.expect(withId("first"));
  const waiting = outputs.get(reader, { test: "first", what: "xr" });
  outputs.ended(withId("first"), rendered);
  assert.deepEqual(await waiting, [rendered[0]]);
  assert.deepEqual(await outputs.get(reader, { test: "first", what: "all" }), rendered);
  assert.deepEqual(await outputs.get(reader, { test: "first", what: { resource: "Bucket/data" } }), [rendered[2]]);
});

test("an output that is not there is an error that names what there is", async () => {
  const outputs = new CaseOutputs();
  outputs.expect(withId("first"));
  outputs.ended(withId("first"), rendered);
  await assert.rejects(outputs.get(reader, { test: "first", what: { resource: "Bucket/none" } }), {
    message: 'inputs: test "first" rendered no Bucket/none: it rendered App/shop, Bucket/logs, Bucket/data',
  });
  outputs.expect(withId("empty"));
  outputs.ended(withId("empty"), []);
  await assert.rejects(outputs.get(reader, { test: "empty", what: "xr" }), {
    message: 'inputs: test "empty" rendered no composite resource: it rendered ',
  });
});

test("a case above that failed, is not selected or runs again has no output", async () => {
  const outputs = new CaseOutputs();
  for (const id of ["failed", "doubtful"] as const) {
    outputs.expect(withId(id));
    outputs.ended(withId(id), id);
  }
  const get = (id: string) => outputs.get(reader, { test: id, what: "all" });
  await assert.rejects(get("failed"), { message: 'inputs: test "failed" has no output' });
  await assert.rejects(get("other"), {
    message: 'inputs: test "other" is not selected, and this one needs its output',
  });
  await assert.rejects(get("doubtful"), (error) => {
    assert.ok(error instanceof OutputsNotReadyError);
    assert.equal(error.message, 'test "doubtful" runs again');
    return true;
  });
});

test("a case that runs again replaces its output", async () => {
  const outputs = new CaseOutputs();
  outputs.expect(withId("first"));
  outputs.ended(withId("first"), "doubtful");
  outputs.expect(withId("first"));
  outputs.ended(withId("first"), rendered.slice(0, 1));
  assert.deepEqual(await outputs.get(reader, { test: "first", what: "all" }), rendered.slice(0, 1));
});

test("ids are those of one file; cases without an id have no output", async () => {
  const outputs = new CaseOutputs();
  outputs.expect(withId("first", "other/xprin.yaml"));
  outputs.ended(withId("first", "other/xprin.yaml"), rendered);
  outputs.expect(testCase());
  outputs.ended(testCase(), rendered);
  outputs.ended(withId("unknown"), rendered);
  await assert.rejects(outputs.get(reader, { test: "first", what: "all" }), /is not selected/);
});

const shop: KubeObject = {
  apiVersion: "acme.org/v1",
  kind: "App",
  metadata: {
    ...{ name: "shop", namespace: "a", labels: { l: "1" }, annotations: { a: "2" } },
    ...{ uid: "u", resourceVersion: "7", generation: 2, finalizers: ["f"] },
  },
  spec: {
    ...{ size: "s", resourceRefs: [], compositionRef: { name: "c" }, compositionRevisionRef: { name: "c-1" } },
    compositionUpdatePolicy: "Automatic",
  },
  status: { conditions: [] },
};

test("a composite resource as it is rendered has no members that a control plane sets, unless they were given", () => {
  assert.deepEqual(asRendered(shop, { size: "s", compositionRef: { name: "mine" } }), {
    ...{ apiVersion: "acme.org/v1", kind: "App" },
    metadata: { name: "shop", namespace: "a", labels: { l: "1" }, annotations: { a: "2" } },
    spec: { size: "s", compositionRef: { name: "c" } },
    status: { conditions: [] },
  });
});

test("without a given spec, or without a spec, only metadata is reduced; the object itself does not change", () => {
  const before = structuredClone(shop);
  assert.deepEqual(asRendered(shop, undefined)["spec"], shop["spec"]);
  assert.deepEqual(asRendered({ apiVersion: "v1", kind: "X", metadata: { uid: "u" } }, {}), {
    apiVersion: "v1",
    kind: "X",
    metadata: {},
  });
  assert.deepEqual(shop, before);
});

test("outputs are written as files: everything, the composite resource, and each object", async () => {
  using folder = tempFolder();
  const into = join(folder.path, "deep/outputs");
  const odd = object("Role", "system:a/b");
  const files = await writeOutputs([...rendered, odd], into);
  assert.deepEqual(files, {
    XR: join(into, "xr.yaml"),
    Render: join(into, "rendered.yaml"),
    RenderCount: 4,
    Rendered: {
      "App/shop": join(into, "rendered-app-shop.yaml"),
      "Bucket/logs": join(into, "rendered-bucket-logs.yaml"),
      "Bucket/data": join(into, "rendered-bucket-data.yaml"),
      "Role/system:a/b": join(into, "rendered-role-system:a_b.yaml"),
    },
  });
  assert.equal(readdirSync(into).length, 6);
  assert.equal(readFileSync(files.XR, "utf8"), "---\napiVersion: v1\nkind: App\nmetadata:\n  name: shop\n");
  assert.equal(readFileSync(files.Render, "utf8"), documents([...rendered, odd]));
});
