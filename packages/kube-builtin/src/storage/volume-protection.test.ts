// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt } from "@purlin/kube-objects/object";
import { startTestServer, type TestServer } from "../../test/index.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const pods = "/api/v1/namespaces/default/pods";
const volumes = "/api/v1/persistentvolumes";

const claim = (name: string, metadata: JsonObject = {}): JsonObject => ({
  metadata: { name, ...metadata },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});
const volume = (name: string): JsonObject => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/tmp" } },
});
const pod = (name: string, volumeOfPod: JsonObject, nodeName = "node"): JsonObject => ({
  metadata: { name },
  spec: { nodeName, containers: [{ name: "c", image: "i" }], volumes: [{ name: "data", ...volumeOfPod }] },
});
const using = (claimName: string): JsonObject => ({ persistentVolumeClaim: { claimName } });

const finalizersOf = (object: JsonObject): unknown => memberAt(object, ["metadata", "finalizers"]);

async function remove(path: string): Promise<void> {
  await server.delete(path, { gracePeriodSeconds: 0 });
}

function untilGone(path: string): Promise<void> {
  return server.until(path, ({ code }) => code === 404);
}

/** Lets the controllers look at what has changed: a later claim is gone when they have. */
async function letControllersWork(): Promise<void> {
  await server.post(claims, claim("later"));
  await remove(`${claims}/later`);
  await untilGone(`${claims}/later`);
}

test("new claims and volumes have a finalizer, once", async () => {
  const own = { finalizers: ["example.org/mine", "kubernetes.io/pvc-protection"] };
  assert.deepEqual(finalizersOf(await server.post(claims, claim("own", own))), own.finalizers);
  assert.deepEqual(finalizersOf(await server.post(claims, claim("plain"))), ["kubernetes.io/pvc-protection"]);
  assert.deepEqual(finalizersOf(await server.post(volumes, volume("plain"))), ["kubernetes.io/pv-protection"]);
});

test("a claim without its finalizer gets it back", async () => {
  await server.post(claims, claim("again"));
  await server.patch(`${claims}/again`, { metadata: { finalizers: null } });
  await server.until(`${claims}/again`, (response) => finalizersOf(answerValue(response) as JsonObject) !== undefined);
  const metadata = objectAt(await server.body(`${claims}/again`), ["metadata"]);
  assert.deepEqual(metadata["finalizers"], ["kubernetes.io/pvc-protection"]);
  const managers = (metadata["managedFields"] as JsonObject[]).map((entry) => entry["manager"]);
  assert.equal(managers.includes("kube-controller-manager"), true, String(managers));
});

test("a claim that no Pod uses is deleted at once", async () => {
  await server.post(claims, claim("unused"));
  await server.post(pods, pod("unscheduled", using("unused"), ""));
  await remove(`${claims}/unused`);
  await untilGone(`${claims}/unused`);
});

test("a claim stays until the last Pod that uses it is gone", async () => {
  await server.post(claims, claim("used"));
  await server.post(pods, pod("one", using("used")));
  await server.post(pods, pod("two", using("used")));
  await remove(`${claims}/used`);
  await letControllersWork();
  await remove(`${pods}/one`);
  await letControllersWork();
  const kept = await server.body(`${claims}/used`);
  assert.deepEqual(finalizersOf(kept), ["kubernetes.io/pvc-protection"]);
  await remove(`${pods}/two`);
  await untilGone(`${claims}/used`);
});

test("a claim for an ephemeral volume stays until its Pod is gone", async () => {
  const template = { spec: claim("")["spec"] as JsonObject };
  const made = await server.post(pods, pod("temp", { ephemeral: { volumeClaimTemplate: template } }));
  const uid = String(memberAt(made, ["metadata", "uid"]));
  const owner = { apiVersion: "v1", kind: "Pod", name: "temp", uid, controller: true };
  await server.post(claims, claim("temp-data", { ownerReferences: [owner] }));
  await remove(`${claims}/temp-data`);
  await letControllersWork();
  assert.equal((await server.send(`${claims}/temp-data`)).code, 200);
  await remove(`${pods}/temp`);
  await untilGone(`${claims}/temp-data`);
});

test("a volume stays while it is bound", async () => {
  const made = await server.post(volumes, volume("bound"));
  const status = (phase: string, object: JsonObject): Promise<unknown> =>
    server.send(`${volumes}/bound/status`, { method: "PUT", body: { ...object, status: { phase } } });
  await status("Bound", made);
  await remove(`${volumes}/bound`);
  await server.post(volumes, volume("later"));
  await remove(`${volumes}/later`);
  await untilGone(`${volumes}/later`);
  const kept = await server.body(`${volumes}/bound`);
  assert.deepEqual(finalizersOf(kept), ["kubernetes.io/pv-protection"]);
  await status("Released", kept);
  await untilGone(`${volumes}/bound`);
});

test("a class of volume attributes stays while a claim has it", async () => {
  const classes = "/apis/storage.k8s.io/v1/volumeattributesclasses";
  const gold = { metadata: { name: "gold" }, driverName: "example.org", parameters: { iops: "1" } };
  assert.deepEqual(finalizersOf(await server.post(classes, gold)), ["kubernetes.io/vac-protection"]);
  const { metadata, spec } = claim("fast");
  const fields = { metadata, spec: { ...(spec as JsonObject), volumeAttributesClassName: "gold" } };
  await server.post(claims, fields as JsonObject);
  await remove(`${classes}/gold`);
  await server.post(classes, { ...gold, metadata: { name: "later" } });
  await remove(`${classes}/later`);
  await untilGone(`${classes}/later`);
  assert.equal((await server.send(`${classes}/gold`)).code, 200);
  await remove(`${claims}/fast`);
  await untilGone(`${classes}/gold`);
});
