// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { request } from "node:https";
import { json } from "node:stream/consumers";
import { suite, test } from "node:test";
import { silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { keptCrds, UsageIndex } from "@purlin/composition";
import type { KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, stringAt } from "@purlin/kube-objects/object";
import { startEmbeddedApi } from "../test/embedded-api.ts";
import { reviewDeletion, startUsageWebhook } from "./usage-webhook.ts";

const attempt = "usage.crossplane.io/deletion-attempt-with-policy";
const attemptUid = "purlin.dev/deletion-attempt-uid";

interface Scene {
  readonly patches: unknown[];
  review(more?: JsonObject): Promise<JsonObject>;
}

const usage: KubeObject = {
  apiVersion: "protection.crossplane.io/v1beta1",
  kind: "Usage",
  metadata: { name: "u", namespace: "a" },
  spec: { of: { apiVersion: "v1", kind: "ConfigMap", resourceRef: { name: "used" } }, reason: "r" },
};

interface SceneOptions {
  readonly isReady?: boolean;
  /** The cache does not have the Usage yet. */
  readonly isBehind?: boolean;
  readonly failure?: Error;
}

/** Reviews deletions of the ConfigMap a/used, with one Usage of it. */
function setUp({ isReady = true, isBehind = false, failure }: SceneOptions = {}): Scene {
  const live = new UsageIndex();
  live.written("u", usage);
  const index = isBehind ? new UsageIndex() : live;
  const patches: unknown[] = [];
  const patch = (async (_: unknown, body: unknown) => {
    if (failure !== undefined) throw failure;
    patches.push(body);
    return {};
  }) as unknown as KubeClient["patch"];
  const usages = {
    index,
    readLive: async () => live,
    requireAll() {
      if (!isReady) throw new Error("cannot list protection.crossplane.io/v1beta1, Kind=Usage: not yet");
    },
  };
  return {
    patches,
    review: (more = {}) =>
      reviewDeletion(
        {
          uid: "1",
          operation: "DELETE",
          kind: { group: "", version: "v1", kind: "ConfigMap" },
          userInfo: { username: "alice" },
          oldObject: { metadata: { name: "used", namespace: "a", uid: "7" } },
          ...more,
        },
        { client: { patch }, usages },
      ),
  };
}

suite("the webhook of Usages", () => {
  const text =
    'This resource is in-use by 1 usage(s), including the *v1beta1.Usage "u" (in namespace "a") with reason: "r".';

  test("denies a deletion, records its policy, and records it once", async () => {
    const { review, patches } = setUp();
    assert.deepEqual(await review(), { uid: "1", allowed: false, status: { code: 409, reason: text } });
    await review({ options: { propagationPolicy: "Foreground" } });
    await review({ options: { orphanDependents: true } });
    const annotations = { [attempt]: "Background", [attemptUid]: "7" };
    await review({ oldObject: { metadata: { name: "used", namespace: "a", uid: "7", annotations } } });
    assert.deepEqual(patches, [
      { metadata: { uid: "7", annotations } },
      { metadata: { uid: "7", annotations: { ...annotations, [attempt]: "Foreground" } } },
      { metadata: { uid: "7", annotations: { ...annotations, [attempt]: "Orphan" } } },
    ]);
  });

  test("a dry run is denied and not recorded", async () => {
    const { review, patches } = setUp();
    assert.equal((await review({ dryRun: true }))["allowed"], false);
    assert.deepEqual(patches, []);
  });

  test("an attempt of the garbage collector is marked", async () => {
    for (const username of [
      "system:kube-controller-manager",
      "system:serviceaccount:kube-system:generic-garbage-collector",
    ]) {
      const { review, patches } = setUp();
      await review({ userInfo: { username } });
      const by = { "purlin.dev/deletion-attempt-by": "garbage-collector" };
      assert.deepEqual(patches, [
        { metadata: { uid: "7", annotations: { [attempt]: "Background", [attemptUid]: "7", ...by } } },
      ]);
    }
  });

  test("a caller that does not know the object's UID, or names an unknown policy, leaves no mark on it", async () => {
    const { review, patches } = setUp();
    const nameless = await review({ oldObject: { metadata: { name: "used", namespace: "a" } } });
    assert.deepEqual(nameless["status"], { code: 500, message: "the object has no uid" });
    const strange = await review({ options: { propagationPolicy: "x\n".repeat(1000) } });
    assert.equal((strange["status"] as JsonObject)["code"], 400);
    assert.equal(strange["allowed"], false);
    assert.deepEqual(patches, []);
  });

  test("an object that nothing uses is deleted", async () => {
    const { review } = setUp();
    const allowed = { uid: "1", allowed: true, status: { code: 200 } };
    assert.deepEqual(await review({ oldObject: { metadata: { name: "other", namespace: "a" } } }), allowed);
    assert.deepEqual(await review({ oldObject: { metadata: { name: "used", namespace: "b" } } }), allowed);
    assert.deepEqual(await review({ kind: { group: "example.org", version: "v1", kind: "ConfigMap" } }), allowed);
  });

  for (const operation of ["CREATE", "UPDATE", "CONNECT"]) {
    test(`${operation} is refused`, async () => {
      const { review } = setUp();
      const message = `unexpected operation "${operation}", expected "DELETE"`;
      assert.deepEqual((await review({ operation }))["status"], { code: 400, message });
    });
  }

  test("a Usage that the cache does not have yet protects", async () => {
    const { review, patches } = setUp({ isBehind: true });
    const oldObject = { metadata: { name: "used", namespace: "a", uid: "7" } };
    assert.deepEqual((await review({ oldObject }))["status"], { code: 409, reason: text });
    const annotations = { [attempt]: "Background", [attemptUid]: "7" };
    assert.deepEqual(patches, [{ metadata: { uid: "7", annotations } }]);
  });

  test("a request without an object is refused", async () => {
    const { review } = setUp();
    assert.equal(((await review({ oldObject: null }))["status"] as JsonObject)["code"], 400);
  });

  test("while Usages are not known, or an attempt cannot be recorded, nothing is deleted", async () => {
    const unknown = await setUp({ isReady: false }).review();
    assert.deepEqual(unknown["status"], {
      code: 500,
      message: "cannot list protection.crossplane.io/v1beta1, Kind=Usage: not yet",
    });
    const failed = await setUp({ failure: new Error("forbidden") }).review();
    assert.deepEqual(failed["status"], { code: 500, message: "forbidden" });
  });
});

const hourMs = 3_600_000;
const secretType = { apiVersion: "v1", kind: "Secret" };
const configuration = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };

/** Posts a review to the webhook at 127.0.0.1, trusting one authority. */
function post(port: number, ca: string, body: JsonObject): Promise<JsonObject> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
  const options = { host: "127.0.0.1", port, ca, method: "POST", path: "/validate-no-usages", agent: false } as const;
  const sent = request(options, (response) => {
    json(response).then((answer) => resolve(answer as JsonObject), reject);
  });
  sent.on("error", reject).end(JSON.stringify(body));
  return promise;
}

test("the webhook serves at an address, and a new authority reaches the API server", async () => {
  await using api = await startEmbeddedApi();
  const clock = manualClock(Date.now() - 2 * hourMs);
  const client = api.connect();
  const namespace = "crossplane-system";
  await api.users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await installCrds(api.users, keptCrds());
  const { signal } = new AbortController();
  const secretName = "crossplane-tls-server";
  const listen = { port: 0, host: "127.0.0.1" };
  const options = {
    client,
    namespace,
    listen,
    failurePolicy: "Fail",
    usages: true,
    secretName,
    clock,
    log: silentLog,
  } as const;
  await using webhook = await startUsageWebhook({ ...options, url: "https://127.0.0.1:9443" }, signal);
  await webhook.configure(signal);
  const trusted = async (): Promise<string> => {
    const found = await api.users.get(configuration, { name: "crossplane-no-usages" });
    const [one] = memberAt(found, ["webhooks"]) as unknown as readonly JsonObject[];
    return Buffer.from(stringAt(one ?? {}, ["clientConfig", "caBundle"]), "base64").toString();
  };
  const first = await trusted();
  const oldObject = { metadata: { name: "x", namespace: "a", uid: "1" } };
  const body = {
    request: { uid: "1", operation: "DELETE", kind: { group: "", version: "v1", kind: "Pod" }, oldObject },
  };
  const isAllowed = async (ca: string): Promise<boolean> =>
    memberAt(await post(webhook.port, ca, body), ["response", "allowed"]) === true;
  await eventually("the caches are filled", () => isAllowed(first));
  const { items } = await api.users.list(secretType, { namespace });
  for (const { metadata } of items) await api.users.delete({ ...secretType, namespace, name: metadata.name ?? "" });
  clock.advance(hourMs);
  const second = await eventually("another authority", async () => {
    const ca = await trusted();
    return ca === first ? undefined : ca;
  });
  assert.ok(await isAllowed(second));
  const answerTo = async (more: JsonObject): Promise<string> =>
    stringAt(await post(webhook.port, second, { request: { ...body.request, ...more } }), ["message"]);
  assert.match(await answerTo({ many: Array.from({ length: 1_000_001 }, () => 1) }), /more than 1000000 values/);
  assert.match(await answerTo({ deep: JSON.parse(`${"[".repeat(2000)}${"]".repeat(2000)}`) as JsonValue }), /./);
  assert.notEqual(await answerTo({ long: "x".repeat(8 * 1024 ** 2) }).catch(() => "refused"), "");
  assert.ok(await isAllowed(second));
  await assert.rejects(post(webhook.port, first, body));
});

test("the API server asks about used objects of every scope, except those of the control plane's namespace", async () => {
  await using api = await startEmbeddedApi();
  const namespace = "crossplane-system";
  await api.users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await installCrds(api.users, keptCrds());
  const { signal } = new AbortController();
  const secretName = "crossplane-tls-server";
  const listen = { port: 0, host: "127.0.0.1" };
  const clock = manualClock(Date.now());
  const options = { client: api.connect(), namespace, listen, secretName, clock, log: silentLog } as const;
  // Nothing answers there: a request that is let through is one that the API server does not ask about.
  const url = "https://127.0.0.1:1";
  await using webhook = await startUsageWebhook({ ...options, failurePolicy: "Fail", usages: true, url }, signal);
  await webhook.configure(signal);
  const labels = { "crossplane.io/in-use": "true" };
  const clusterRole = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
  const configMap = { apiVersion: "v1", kind: "ConfigMap" };
  await api.users.create({ ...clusterRole, metadata: { name: "used", labels }, rules: [] } as KubeObject);
  await api.users.create({ ...configMap, metadata: { name: "used", namespace: "default", labels } });
  await api.users.create({ ...configMap, metadata: { name: "used", namespace, labels } });
  const asked = /failed calling webhook "nousages\.protection\.crossplane\.io"/;
  await eventually("the configuration is in force", async () => {
    await assert.rejects(api.users.delete({ ...configMap, name: "used", namespace: "default" }), asked);
    return true;
  });
  await assert.rejects(api.users.delete({ ...clusterRole, name: "used" }), asked);
  await api.users.delete({ ...configMap, name: "used", namespace });
});
