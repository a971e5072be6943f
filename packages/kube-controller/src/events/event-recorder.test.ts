// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import type { KubeWriter } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type EmbeddedCluster, eventually, startEmbeddedCluster } from "../../test/test-server.ts";
import { type ClosableEventRecorder, createEventRecorder, noEvents } from "./event-recorder.ts";

const events = { apiVersion: "v1", kind: "Event" };
const start = Date.UTC(2030, 0, 1);
const bucket: KubeObject = {
  apiVersion: "example.org/v1",
  kind: "Bucket",
  metadata: { name: "b", namespace: "default", uid: "u", resourceVersion: "7" },
};

interface Setting {
  readonly recorder: ClosableEventRecorder;
  readonly clock: ManualClock;
  readonly cluster: EmbeddedCluster;
  stored(): Promise<KubeObject[]>;
}

async function withRecorder(use: (setting: Setting) => Promise<void>): Promise<void> {
  await using cluster = await startEmbeddedCluster();
  const clock = manualClock(start);
  const recorder = createEventRecorder({ client: cluster.client, source: "test", clock });
  const stored = async (): Promise<KubeObject[]> => {
    await recorder.flush();
    return [...(await cluster.client.list(events, { namespace: "default" })).items];
  };
  try {
    await use({ recorder, clock, cluster, stored });
  } finally {
    await recorder.close();
  }
}

const warning = (message: string, reason = "Boom") => ({ type: "Warning" as const, reason, message });

test("an event says what the reference's recorder says", async () => {
  await withRecorder(async ({ recorder, stored }) => {
    recorder.with("defined/x", "composite/buckets").event(bucket, { type: "Normal", reason: "Did", message: "it" });
    const [event] = await stored();
    assert.ok(event);
    const { metadata, ...rest } = event;
    assert.match(metadata.name ?? "", /^b\.[0-9a-f]+$/);
    assert.equal(BigInt(`0x${metadata.name?.slice(2)}`), BigInt(start) * 1_000_000n);
    assert.deepEqual(metadata.annotations, { controller: "composite/buckets" });
    const time = "2030-01-01T00:00:00Z";
    assert.deepEqual(rest, {
      ...events,
      involvedObject: {
        apiVersion: "example.org/v1",
        kind: "Bucket",
        name: "b",
        namespace: "default",
        uid: "u",
        resourceVersion: "7",
      },
      type: "Normal",
      reason: "Did",
      message: "it",
      source: { component: "defined/x" },
      reportingComponent: "defined/x",
      reportingInstance: "",
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      eventTime: null,
    });
  });
});

test("an event may have annotations of its own, but names its controller itself", async () => {
  await withRecorder(async ({ recorder, stored }) => {
    const annotations = { "external-name": "", controller: "mine" };
    recorder.with("offered/x", "claim/buckets").event(bucket, { ...warning("x"), annotations });
    const [event] = await stored();
    assert.deepEqual(event?.metadata.annotations, { "external-name": "", controller: "claim/buckets" });
  });
});

test("events of cluster-scoped objects are in default", async () => {
  await withRecorder(async ({ recorder, stored }) => {
    recorder.event({ ...bucket, metadata: { name: "cluster", uid: "u" } }, warning("x"));
    const [event] = await stored();
    assert.deepEqual((event?.["involvedObject"] as KubeObject | undefined)?.["namespace"], undefined);
    assert.equal(event?.metadata.namespace, "default");
  });
});

test("the same again raises the count of the same event", async () => {
  await withRecorder(async ({ recorder, clock, stored, cluster }) => {
    for (let i = 0; i < 3; i++) {
      recorder.event(bucket, warning("x"));
      clock.advance(1000);
    }
    const seen = await stored();
    assert.deepEqual(
      seen.map((one) => [one["count"], one["firstTimestamp"], one["lastTimestamp"]]),
      [[3, "2030-01-01T00:00:00Z", "2030-01-01T00:00:02Z"]],
    );
    const verbs = cluster
      .writes()
      .filter((line) => line.includes("/events"))
      .map((line) => line.split(" ")[0]);
    assert.deepEqual(verbs, ["POST", "PATCH", "PATCH"]);
    await cluster.client.delete({ ...events, name: seen[0]?.metadata.name ?? "", namespace: "default" });
    recorder.event(bucket, warning("x"));
    const [fresh] = await stored();
    assert.equal(fresh?.["count"], 1, "one that has expired is written again");
    recorder.event({ ...bucket, metadata: { ...bucket.metadata, uid: "other" } }, warning("x"));
    recorder.event(bucket, warning("x", "Other"));
    recorder.event(bucket, { ...warning("x"), type: "Normal" });
    recorder.with("other").event(bucket, warning("x"));
    assert.equal((await stored()).length, 5, "another object, reason, type or source is another event");
  });
});

test("many different messages about one thing become one event", async () => {
  await withRecorder(async ({ recorder, clock, stored }) => {
    for (let i = 1; i <= 15; i++) recorder.event(bucket, warning(`try ${i}`));
    const combined = (await stored()).filter((one) => String(one["message"]).startsWith("(combined from"));
    assert.deepEqual(
      combined.map((one) => [one["message"], one["count"]]),
      [["(combined from similar events): try 15", 6]],
    );
    assert.equal((await stored()).length, 10);
    clock.advance(601_000);
    recorder.event(bucket, warning("later"));
    assert.ok(
      (await stored()).some((one) => one["message"] === "later"),
      "after ten quiet minutes each counts again",
    );
  });
});

test("an object with too many events is limited, and may emit again later", async () => {
  await withRecorder(async ({ recorder, clock, stored }) => {
    for (let i = 0; i < 40; i++) recorder.event(bucket, warning("x"));
    assert.deepEqual(
      (await stored()).map((one) => one["count"]),
      [25],
    );
    recorder.event({ ...bucket, metadata: { name: "other", namespace: "default", uid: "v" } }, warning("x"));
    assert.equal((await stored()).length, 2, "others are not harmed");
    recorder.event(bucket, { ...warning("x"), type: "Normal" });
    assert.equal((await stored()).length, 3, "nor is the other type");
    clock.advance(300_000);
    for (let i = 0; i < 5; i++) recorder.event(bucket, warning("x"));
    assert.ok((await stored()).some((one) => one["count"] === 26));
  });
});

test("what the server refuses is dropped; what it cannot take now is tried again, in order", async () => {
  const tried: string[] = [];
  const failures = [new Error("connection refused"), new Error("connection refused")];
  const writer = {
    async create(object: KubeObject) {
      tried.push(`create ${object["message"]}`);
      const failure = failures.shift();
      if (failure) throw failure;
      return object;
    },
    async patch(_: unknown, patch: { count: number }) {
      tried.push(`count ${patch.count}`);
    },
  } as unknown as KubeWriter;
  let slept = 0;
  const recorder = createEventRecorder({ client: writer, source: "test", sleep: async () => void slept++ });
  recorder.event(bucket, warning("x"));
  recorder.event(bucket, warning("x"));
  await recorder.flush();
  assert.deepEqual([tried, slept], [["create x", "create x", "create x", "count 2"], 2]);
  await recorder.close();
  recorder.event(bucket, warning("late"));
  assert.equal(tried.length, 4, "a closed recorder writes nothing");
});

test("an event that takes its time holds up its own repetitions, and no other event", async () => {
  const tried: string[] = [];
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const writer = {
    async create(object: KubeObject) {
      tried.push(`create ${object["message"]}`);
      if (object["message"] === "slow") await answered;
      return object;
    },
    async patch(_: unknown, { message, count }: { message: string; count: number }) {
      tried.push(`${message} ${count}`);
    },
  } as unknown as KubeWriter;
  const recorder = createEventRecorder({ client: writer, source: "test" });
  for (const message of ["slow", "slow", "slow", "quick", "quick"]) recorder.event(bucket, warning(message));
  await eventually("the quick one is written", () => tried.includes("quick 2"));
  assert.deepEqual(tried, ["create slow", "create quick", "quick 2"]);
  answer();
  await recorder.flush();
  assert.deepEqual(tried.slice(3), ["slow 2", "slow 3"]);
  await recorder.close();
});

test("a server that never answers does not hold up the end, nor an event its teller", async () => {
  const clock = manualClock();
  const writer = {
    create: (_: KubeObject, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  } as unknown as KubeWriter;
  const recorder = createEventRecorder({ client: writer, source: "test", clock });
  for (let i = 0; i < 20_000; i++) {
    recorder.event({ ...bucket, metadata: { name: `b${i}`, uid: `u${i}` } }, warning("x"));
  }
  const closing = recorder.close(1000);
  clock.advance(1000);
  await closing;
});

test("a message of any length is emitted, and shortened", async () => {
  await withRecorder(async ({ recorder, stored }) => {
    recorder.event(bucket, warning("ä".repeat(40_000)));
    const [event] = await stored();
    const message = String(event?.["message"]);
    assert.ok(Buffer.byteLength(message) <= 32_768 && message.endsWith("ä…"));
  });
});

test("noEvents records nothing", () => {
  noEvents.with("x").event(bucket, warning("x"));
});

test("a recorder for namespaced objects emits nothing about cluster-scoped ones", async () => {
  await using cluster = await startEmbeddedCluster();
  const recorder = createEventRecorder({ client: cluster.client, source: "test", namespacedOnly: true });
  const node: KubeObject = { apiVersion: "v1", kind: "Node", metadata: { name: "n", uid: "u" } };
  recorder.event(node, warning("cluster-scoped"));
  recorder.with("other").event(bucket, warning("namespaced"));
  await recorder.close();
  const { items } = await cluster.client.list(events);
  assert.deepEqual(
    items.map((event) => event["message"]),
    ["namespaced"],
  );
});
