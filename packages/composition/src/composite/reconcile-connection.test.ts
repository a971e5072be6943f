// SPDX-License-Identifier: Apache-2.0
// Connection secrets: read for functions, written for legacy XRs.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, beforeEach, test } from "node:test";
import { internalError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { type CompositeBench, createCompositeBench } from "../../test/composite-bench.ts";
import { appDefinition, cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { type Intercept, intercepted, respond } from "../../test/test-doubles.ts";
import { connectionSecretType, kinds } from "../composite-resource/constants.ts";

let cluster: TestCluster;
let bench: CompositeBench;
let intercept: Intercept;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  const client = intercepted(cluster.client, (call) => intercept(call));
  bench = createCompositeBench(cluster, await cluster.define(appDefinition()), { client });
  // A kind whose objects name a connection secret, to be composed.
  await cluster.define(cacheDefinition("Namespaced", { version: anySpec() }));
  await bench.compositionOf("c", ["f"]);
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => {
  intercept = () => {};
  bench.takeEvents();
});

function anySpec(): JsonObject {
  const spec = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return { schema: { openAPIV3Schema: { type: "object", properties: { spec } } } };
}

const secret = (name: string): Promise<KubeObject> => cluster.kube.get(kinds.secret, { namespace: "default", name });
const data = (texts: Record<string, string>): JsonObject =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));

async function xr(connection: Record<string, string>): Promise<{ name: string; ref: string }> {
  const name = `xr${number++}`;
  const ref = `${name}-conn`;
  bench.functions.set("f", { connection });
  await bench.xr(name, {
    compositionRef: { name: "c" },
    writeConnectionSecretToRef: { name: ref, namespace: "default" },
  });
  return { name, ref };
}
const published = async (name: string): Promise<unknown> =>
  memberAt(await bench.read(name), ["status", "connectionDetails", "lastPublishedTime"]);

test("details are published once, and what is the same is not published again", async () => {
  const { name, ref } = await xr({ user: "u", password: "p" });
  await bench.reconcile(name);
  const stored = await secret(ref);
  assert.deepEqual([stored["type"], stored["data"]], [connectionSecretType, data({ user: "u", password: "p" })]);
  assert.deepEqual(stored.metadata.ownerReferences, [controllerReference(await bench.read(name))]);
  const line = `XApp/${name} Normal PublishConnectionSecret: Successfully published connection details`;
  assert.ok(bench.takeEvents().includes(line));
  assert.match(String(await published(name)), /^\d{4}-/);
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual([cluster.takeWrites(), bench.takeEvents()], [[], []]);
});

test("an XR that names no Secret gets none", async () => {
  const name = `xr${number++}`;
  bench.functions.set("f", { connection: { user: "u" } });
  await bench.xr(name, { compositionRef: { name: "c" } });
  await bench.reconcile(name);
  assert.equal(await published(name), undefined);
});

test("the keys of the definition filter", async () => {
  const path = { ...kinds.definition, name: bench.kind.definition };
  await cluster.kube.patch(path, { spec: { connectionSecretKeys: ["user"] } }, { type: "merge" });
  await bench.seen(kinds.definition, { name: bench.kind.definition });
  const { name, ref } = await xr({ user: "u", password: "p" });
  await bench.reconcile(name);
  assert.deepEqual((await secret(ref))["data"], data({ user: "u" }));
  await cluster.kube.patch(path, { spec: { connectionSecretKeys: null } }, { type: "merge" });
  await bench.seen(kinds.definition, { name: bench.kind.definition });
});

test("a key functions drop stays, and costs nothing from then on", async () => {
  const { name, ref } = await xr({ user: "u", password: "p" });
  await bench.reconcile(name);
  bench.functions.set("f", { connection: { user: "u2" } });
  await bench.reconcile(name);
  assert.deepEqual((await secret(ref))["data"], data({ user: "u2", password: "p" }));
  bench.takeEvents();
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual([cluster.takeWrites(), bench.takeEvents()], [[], []]);
});

test("a Secret without a controller is adopted only if it is a connection secret", async () => {
  const { name, ref } = await xr({ user: "u" });
  await cluster.kube.create({ ...kinds.secret, metadata: { name: ref, namespace: "default" }, type: "Opaque" });
  await assert.rejects(bench.reconcile(name));
  const { message } = await bench.condition(name, "Synced");
  assert.equal(
    message,
    `cannot publish connection details: cannot apply connection secret: refusing to modify uncontrolled secret of type "Opaque": Secret "default/${ref}" was not created by this control plane: name another one in writeConnectionSecretToRef, or delete it`,
  );
  const other = await xr({ user: "u" });
  const metadata = { name: other.ref, namespace: "default" };
  await cluster.kube.create({
    ...kinds.secret,
    metadata,
    type: connectionSecretType,
    data: data({ old: "o" }),
  } as KubeObject);
  await bench.reconcile(other.name);
  const adopted = await secret(other.ref);
  assert.deepEqual(adopted["data"], data({ old: "o", user: "u" }));
  assert.equal(adopted.metadata.ownerReferences?.[0]?.uid, (await bench.read(other.name)).metadata.uid);
});

test("a Secret of another owner is refused", async () => {
  const { name, ref } = await xr({ user: "u" });
  const ownerReferences = [{ apiVersion: "v1", kind: "Other", name: "o", uid: "u9", controller: true }];
  await cluster.kube.create({
    ...kinds.secret,
    metadata: { name: ref, namespace: "default", ownerReferences },
    type: connectionSecretType,
  });
  await assert.rejects(bench.reconcile(name));
  const { uid } = (await bench.read(name)).metadata;
  const { message } = await bench.condition(name, "Synced");
  assert.equal(
    message,
    `cannot publish connection details: cannot apply connection secret: existing secret is not controlled by UID "${uid}": Secret "default/${ref}" belongs to Other "o": name another one in writeConnectionSecretToRef, or delete it`,
  );
});

test("when publishing fails resources and status stay, and nothing else is reported", async () => {
  const { name } = await xr({ user: "u" });
  bench.functions.set("f", {
    connection: { user: "u" },
    composite: { status: { url: "u" } },
    results: [{ severity: 3, message: "hello" }],
  });
  intercept = ({ method, kind }) => {
    if (method === "create" && kind === "Secret") throw internalError("boom");
  };
  await assert.rejects(bench.reconcile(name));
  const stored = await bench.read(name);
  assert.equal(memberAt(stored, ["status", "url"]), "u");
  assert.match(
    (await bench.condition(name, "Synced")).message ?? "",
    /^cannot publish connection details: cannot apply connection secret: .*boom/,
  );
  const events = bench.takeEvents().filter((line) => !line.includes("SelectComposition"));
  assert.equal(events.length, 1);
  assert.match(events[0] ?? "", /Warning PublishConnectionSecret: cannot publish connection details: /);
});

test("the XR's own details, and those of what it composed, reach functions", async () => {
  const { name, ref } = await xr({ user: "u" });
  const composed = {
    apiVersion: "platform.example.org/v1",
    kind: "Cache",
    metadata: { namespace: "default" },
    spec: { writeConnectionSecretToRef: { name: `cd-${ref}` } },
  };
  let seen: Record<string, string[]> = {};
  const texts = (details: ReadonlyMap<string, Uint8Array> | undefined): string[] =>
    [...(details ?? [])].map(([key, value]) => `${key}=${Buffer.from(value)}`);
  bench.functions.set("f", (request) => {
    const { observed } = request;
    seen = {
      xr: texts(observed?.composite?.connectionDetails),
      cd: texts(observed?.resources.get("cd")?.connectionDetails),
    };
    return respond(request, { connection: { user: "u" }, resources: { cd: composed } });
  });
  await bench.reconcile(name);
  await bench.reconcile(name);
  assert.deepEqual(seen, { xr: ["user=u"], cd: [] }, "a Secret that does not exist yet has no details");
  await cluster.kube.create({
    ...kinds.secret,
    metadata: { name: `cd-${ref}`, namespace: "default" },
    data: data({ host: "h" }),
  });
  await bench.reconcile(name);
  assert.deepEqual(seen, { xr: ["user=u"], cd: ["host=h"] });
  intercept = ({ method, kind, name: secretName }) => {
    if (method === "get" && kind === "Secret" && secretName.startsWith("cd-")) throw internalError("boom");
  };
  await assert.rejects(bench.reconcile(name));
  assert.match(
    (await bench.condition(name, "Synced")).message ?? "",
    /cannot get existing composed resources: cannot fetch connection details for composed resource "cd" \(a Cache named .*\): cannot get connection secret of composed resource: .*boom/,
  );
});
