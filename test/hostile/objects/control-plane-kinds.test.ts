// SPDX-License-Identifier: Apache-2.0
// Objects of the control plane's own kinds that are as large, many or circular as allowed, on a `purlin up` that runs: activation policies,
// schedules, operations, Usages and rollouts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isConflict } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import { chaosDirectory } from "../../chaos/harness/server-process.ts";
import { type AnsweringFunction, startFunction } from "../answers/answering-function.ts";
import { type AttackedPlane, startAttackedPlane, until, xrType } from "../answers/attacked-plane.ts";

/** Most resident memory, in MiB, of the whole process. */
const mostMebibytes = 1_000;

let fn: AnsweringFunction;
let plane: AttackedPlane;
let calls = 0;

before(async () => {
  fn = await startFunction(() => {
    calls++;
    return {} as never;
  });
  plane = await startAttackedPlane(chaosDirectory(), fn.address, "--enable-operations", "--enable-function-rollouts");
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  await fn?.[Symbol.asyncDispose]();
});

interface Type {
  readonly apiVersion: string;
  readonly kind: string;
}

const create = ({ apiVersion, kind }: Type, name: string, more: JsonObject, namespace?: string): Promise<KubeObject> =>
  plane.users.create({
    ...{ apiVersion, kind, metadata: { name, ...(namespace !== undefined && { namespace }) } },
    ...more,
  } as KubeObject);

async function inBatches(count: number, action: (index: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < count; at += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - at) }, (_, i) => action(at + i)));
  }
}

const crossplane = "apiextensions.crossplane.io/v1alpha1";
const policyType = { apiVersion: crossplane, kind: "ManagedResourceActivationPolicy" };

/** Conditions of an object, as one line each. */
async function conditionTexts(type: Type, name: string) {
  const found = conditionsOf(await plane.users.get(type, { name }));
  return found.map((one) => `${one.type} ${one.status} ${one.reason} ${one.message ?? ""}`);
}

async function conditionMatching(type: Type, name: string, pattern: RegExp): Promise<void> {
  let texts: readonly string[] = [];
  await until(
    `${type.kind} ${name} has ${pattern}`,
    async () => {
      texts = await conditionTexts(type, name);
      return texts.some((text) => pattern.test(text));
    },
    () => texts.join("\n"),
  );
}

test("activation policies with hundreds of thousands of patterns, and classes of a megabyte", async () => {
  await inBatches(100, (i) =>
    create({ apiVersion: crossplane, kind: "ManagedResourceDefinition" }, `a${i}s.many.example.org`, {
      spec: {
        ...{ group: "many.example.org", scope: "Cluster", names: { kind: `A${i}`, plural: `a${i}s` } },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    }),
  );
  const policies: Record<string, string[]> = {
    patterns: Array.from({ length: 90_000 }, (_, i) => `*${i}?z`),
    class: [`*[${"\u4e00".repeat(800_000)}]x`],
    stars: Array.from({ length: 40 }, () => `${"*a".repeat(120)}`),
    malformed: Array.from({ length: 90_000 }, (_, i) => `[${i}`),
  };
  await plane.watched.during("activation policies", async () => {
    for (const [name, activate] of Object.entries(policies)) await create(policyType, name, { spec: { activate } });
    for (const name of ["patterns", "class", "malformed"]) await conditionMatching(policyType, name, /are ignored/);
    await conditionMatching(policyType, "stars", /Healthy True/);
  });
});

test("schedules of two megabytes", async () => {
  const [commas, fields] = [`${"*,".repeat(700_000)}* * * * *`, "* ".repeat(700_000)];
  const pipeline = [{ step: "run", functionRef: { name: "fn" } }];
  const operationTemplate = { spec: { mode: "Pipeline", pipeline } };
  const cron = { apiVersion: "ops.crossplane.io/v1alpha1", kind: "CronOperation" };
  await plane.watched.during("schedules", async () => {
    for (const [name, schedule] of Object.entries({ commas, fields })) {
      await create(cron, name, { spec: { schedule, operationTemplate } });
      await conditionMatching(cron, name, /the schedule has more than 1024 characters/);
      const template = { spec: { containers: [{ name: "a", image: "a" }], restartPolicy: "Never" } };
      const job = { spec: { schedule, jobTemplate: { spec: { template } } } };
      await assert.rejects(
        create({ apiVersion: "batch/v1", kind: "CronJob" }, name, job, "default"),
        /more than 1024 characters/,
      );
    }
  });
});

const watchType = { apiVersion: "ops.crossplane.io/v1alpha1", kind: "WatchOperation" };
const operationTemplate = { spec: { mode: "Pipeline", pipeline: [{ step: "run", functionRef: { name: "fn" } }] } };

test("a WatchOperation whose status has a version of two million digits", async () => {
  const watch = { apiVersion: "v1", kind: "ConfigMap", namespace: "nowhere" };
  const made = await create(watchType, "digits", { spec: { watch, operationTemplate } });
  await plane.watched.during("digits", async () => {
    const forged = { ...made, status: { lastHandledResourceVersion: "9".repeat(2_000_000) } };
    await forgeStatus(forged);
    await plane.users.delete({ ...watchType, name: "digits" });
    await until(
      "it is gone",
      () =>
        plane.users.get(watchType, { name: "digits" }).then(
          () => false,
          () => true,
        ),
      String,
    );
    await create(watchType, "digits", { spec: { watch, operationTemplate } });
    await forgeStatus({ ...(await plane.users.get(watchType, { name: "digits" })), status: forged.status });
    await delay(1000);
  });
});

test("thousands of objects that come and go while a WatchOperation is paused", async () => {
  const namespace = "brief";
  await create({ apiVersion: "v1", kind: "Namespace" }, namespace, {});
  const watch = { ...configMapType, namespace };
  const paused = { metadata: { name: "brief", annotations: { "crossplane.io/paused": "true" } } };
  await create(watchType, "brief", { spec: { watch, operationTemplate, concurrencyPolicy: "Forbid" } });
  await conditionMatching(watchType, "brief", /Watching True/);
  await plane.users.patch({ ...watchType, name: "brief" }, paused, { type: "merge" });
  await conditionMatching(watchType, "brief", /Watching False WatchPaused/);
  await plane.watched.during("brief", async () => {
    await inBatches(2_500, async (i) => {
      await create(configMapType, `brief-${i}`, {}, namespace);
      await plane.users.delete({ ...configMapType, name: `brief-${i}`, namespace });
    });
    const resumed = { metadata: { annotations: { "crossplane.io/paused": null } } };
    await plane.users.patch({ ...watchType, name: "brief" }, resumed, { type: "merge" });
    const events = () => plane.users.list({ apiVersion: "v1", kind: "Event" }, { namespace: "default" });
    await until(
      "the WatchOperation says what it skipped",
      async () => (await events()).items.some((event) => stringAt(event, ["reason"]) === "WatchedObjectsSkipped"),
      String,
    );
    await plane.users.delete({ ...watchType, name: "brief" });
  });
});

/** Writes a status as a user with the right to do so. */
async function forgeStatus(object: KubeObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  for (;;) {
    const stored = await plane.users.get({ apiVersion, kind }, { name: metadata.name ?? "" });
    try {
      await plane.users.update({ ...stored, status: object["status"] } as KubeObject, { subresource: "status" });
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

const protection = "protection.crossplane.io/v1beta1";
const usageType = { apiVersion: protection, kind: "Usage" };
const configMapType = { apiVersion: "v1", kind: "ConfigMap" };
const configMap = (name: string) => ({ ...configMapType, resourceRef: { name } });

test("thousands of Usages of one object, chains of Usages, and selectors over thousands of objects", async () => {
  const namespace = "usages";
  await create({ apiVersion: "v1", kind: "Namespace" }, namespace, {});
  await create(configMapType, "used", {}, namespace);
  await inBatches(2_000, (i) => create(configMapType, `many-${i}`, { data: { a: "b" } }, namespace));
  await plane.watched.during("Usages", async () => {
    await inBatches(1_500, (i) =>
      plane.users.create({
        ...{ ...usageType, metadata: { name: `u-${i}`, namespace, labels: { many: "yes" } } },
        spec: { of: configMap("used"), reason: "because" },
      }),
    );
    const chained = (i: number): JsonObject =>
      i === 0 ? configMap("used") : { ...usageType, resourceRef: { name: `chain-${i - 1}` } };
    // The last one first: each new one has all of those before as guardians.
    await inBatches(400, (i) =>
      create(usageType, `chain-${399 - i}`, { spec: { of: chained(399 - i), reason: "x" } }, namespace),
    );
    const selector = { ...configMapType, resourceSelector: { matchLabels: {} } };
    await inBatches(20, (i) => create(usageType, `selects-${i}`, { spec: { of: selector, reason: "x" } }, namespace));
    for (let i = 0; i < 20; i++)
      await assert.rejects(plane.users.delete({ ...configMapType, name: "used", namespace }), /in-use by 150/);
    await until(
      "selectors are resolved",
      async () =>
        stringAt(await plane.users.get(usageType, { name: "selects-19", namespace }), [
          "spec",
          "of",
          "resourceRef",
          "name",
        ]) !== "",
      String,
    );
    const path = `/apis/${protection}/namespaces/${namespace}/usages`;
    await plane.users.raw({ method: "DELETE", path, query: { labelSelector: "many=yes" } });
    const left = async (): Promise<number> =>
      (await plane.users.list(usageType, { namespace, labelSelector: "many=yes" })).items.length;
    await until("the Usages are released", async () => (await left()) === 0, String);
  });
});

test("a FunctionRollout with the longest durations and a forged status", async () => {
  const rollout = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
  const gates = [{ type: "Prometheus", url: "http://127.0.0.1:1/", query: "x", max: "1" }];
  await plane.watched.during("rollouts", async () => {
    await create(rollout, "long", {
      spec: {
        functionRef: { name: "fn" },
        progressDeadline: "2562047h",
        steps: Array.from({ length: 20 }, (_, i) => ({ percent: (i + 1) * 5, minDuration: "1h" })),
        healthGates: gates,
      },
    });
    await conditionMatching(rollout, "long", /./);
    const many = <T>(make: (index: number) => T): T[] => Array.from({ length: 9_000 }, (_, i) => make(i));
    await forgeStatus({
      ...(await plane.users.get(rollout, { name: "long" })),
      status: {
        phase: "Progressing",
        startedAt: "0001-01-01T00:00:00Z",
        deadlineAt: "9999-12-31T23:59:59Z",
        heldSince: "0001-01-01T00:00:00Z",
        currentStep: 9_000_000_000,
        functions: [{ name: "fn", stableRevision: "a", candidateRevision: "b" }],
        membership: { threshold: 5000, cohorts: many((i) => ({ matchLabels: { [`l${i}`]: "x" } })) },
        approvedSteps: many((i) => `step-${i}`),
        history: many(() => ({ time: "0001-01-01T00:00:00Z", decision: "x" })),
      },
    } as KubeObject);
    await inBatches(20, (i) => create(xrType, `rolled-${i}`, { spec: {} }));
    await delay(3_000);
    await plane.users.delete({ ...rollout, name: "long" });
  });
});

test("WatchOperations of Events do not trigger each other without end", async () => {
  const watch = { apiVersion: "v1", kind: "Event" };
  for (const name of ["first", "second"]) await create(watchType, name, { spec: { watch, operationTemplate } });
  await delay(20_000);
  const before = calls;
  await delay(10_000);
  const [during, end] = [calls - before, calls];
  for (const name of ["first", "second"]) await plane.users.delete({ ...watchType, name });
  assert.ok(during < 100, `the function was called ${during} times in 10 s, and ${end} times in all`);
});

test("the memory of the control plane stays within bounds", () => {
  const peak = plane.peakMemory();
  assert.ok(peak <= mostMebibytes, `it had ${peak} MiB: at most ${mostMebibytes} MiB are allowed`);
});
