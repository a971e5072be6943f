// SPDX-License-Identifier: Apache-2.0
// `purlin start` on a real API server: hostile answers, objects and packages neither hold its event loop nor stop other composite resources.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, encode, RunFunctionResponse, State } from "@purlin/function-protocol";
import { tempDirectory } from "@purlin/kube-apiserver/testing";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

import { type AnsweringFunction, startFunction } from "../answers/answering-function.ts";
import {
  type AttackedPlane,
  type Condition,
  startAttackedCluster,
  syncedOf,
  until,
  xrType,
} from "../answers/attacked-plane.ts";
import { type Attack, attacks } from "../answers/attacks.ts";
import { expectRefused, removeAttack } from "../answers/refused.ts";
import { compositionOf, hostileCompositions, hostileDefinitions, hostileSpecs } from "./hostile-objects.ts";
import { type HostileRegistry, packageAttacks, startHostileRegistry } from "./hostile-registry.ts";

/** Of `purlin start`: what it has when it is idle, and two answers of the largest size in several forms. */
const mostMebibytes = 1_000;

/** One of each class: the code that reads answers is the same as in `purlin up`, the client and the API server are others. */
const answersOnCluster = [
  "resources-600000",
  "requirements-20000",
  "status-30-mb",
  "answer-70-mb",
  "gzip-bomb",
  "status-5-mb",
  "unknown-fields",
  "deep-struct",
  "name-with-escape",
  "same-object-5000-times",
  "no-kind",
  "always-more",
  "unserved-kinds",
  "conditions-of-32-mb",
  "fatal-of-30-mb",
  "grpc-message-with-escapes",
];

let fn: AnsweringFunction;
let plane: AttackedPlane;
let registry: HostileRegistry;

before(async () => {
  const honest = encode(RunFunctionResponse, create(RunFunctionResponse, { desired: create(State, {}) }));
  fn = await startFunction((request) => {
    const spec = request.observed?.composite?.resource?.value["spec"];
    const name = String(isJsonObject(spec) ? spec["case"] : "");
    return attacks[name]?.answer(request) ?? { message: honest };
  });
  registry = await startHostileRegistry();
  plane = await startAttackedCluster(tempDirectory(), fn.address);
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  await fn?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
});

for (const name of answersOnCluster) {
  test(`the answer ${name} is refused, and nothing is composed`, () =>
    expectRefused(plane, name, attacks[name] as Attack));
}

/** An XR that is created beside an attack becomes ready. */
async function expectOthersReconcile(beside: string): Promise<void> {
  const name = `beside-${beside}`;
  const { status, message } = await plane.attack(name);
  assert.equal(status, "True", message ?? "");
  await removeAttack(plane, name);
}

/** The Synced condition of an XR once it has been reconciled. */
async function reconciled(name: string): Promise<Condition | undefined> {
  let last: KubeObject | undefined;
  await until(
    `${name} is reconciled`,
    async () => {
      last = await plane.users.get(xrType, { name });
      return syncedOf(last) !== undefined;
    },
    () => JSON.stringify(last).slice(0, 1_000),
  );
  return syncedOf(last);
}

for (const [name, spec] of Object.entries(hostileSpecs)) {
  test(`an XR with ${name} is reconciled or refused, and so are others`, async () => {
    await plane.watched.during(name, async () => {
      await plane.users.create({ ...xrType, metadata: { name }, spec });
      await expectOthersReconcile(name);
      const { message = "" } = (await reconciled(name)) ?? {};
      assert.ok(Buffer.byteLength(message) <= 32_768);
      await removeAttack(plane, name);
    });
  });
}

test("an XR with 500 conditions of a user is reconciled", async () => {
  const name = "many-conditions";
  await plane.watched.during(name, async () => {
    await plane.attack(name);
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const conditions = Array.from({ length: 500 }, (_, i) => ({
      type: `T${i}`,
      status: "True",
      reason: "R",
      lastTransitionTime,
    }));
    const patch = { status: { conditions }, metadata: { annotations: { again: "1" } } };
    await plane.users.patch({ ...xrType, name }, patch as JsonObject, { type: "merge", subresource: "status" });
    await expectOthersReconcile(name);
    await removeAttack(plane, name);
  });
});

for (const [index, [title, definition]] of Object.entries(hostileDefinitions).entries()) {
  test(`a definition with ${title} is established or refused`, async () => {
    const key = { name: definition.metadata.name ?? "" };
    await plane.watched.during(title, async () => {
      const created = await plane.users.create(definition).catch((error: unknown) => error);
      await expectOthersReconcile(`definition-${index}`);
      if (created instanceof Error) return;
      let last: KubeObject | undefined;
      await until(
        "it has a condition",
        async () => {
          last = await plane.users.get(definition, key);
          return (
            isJsonObject(last["status"]) &&
            Array.isArray(last["status"]["conditions"]) &&
            last["status"]["conditions"].length > 0
          );
        },
        () => JSON.stringify(last).slice(0, 1_000),
      );
      await plane.users.delete({ apiVersion: definition.apiVersion, kind: definition.kind, ...key });
    });
  });
}

for (const [index, [title, spec]] of Object.entries(hostileCompositions).entries()) {
  test(`a Composition with ${title} is used or refused`, async () => {
    const name = `composition-${index}`;
    await plane.watched.during(title, async () => {
      await plane.users.create(compositionOf(name, spec));
      await plane.users.create({ ...xrType, metadata: { name }, spec: { crossplane: { compositionRef: { name } } } });
      await expectOthersReconcile(name);
      assert.ok(await reconciled(name));
      await removeAttack(plane, name);
      await plane.users.delete({ ...compositionOf(name, spec), name });
    });
  });
}

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;

/** What the conditions of a package and of its revisions say. */
async function saidOf(name: string): Promise<string> {
  const labelSelector = `pkg.crossplane.io/package=${name}`;
  const revisions = await plane.users.list({ ...functionType, kind: "FunctionRevision" }, { labelSelector });
  const objects = [await plane.users.get(functionType, { name }), ...revisions.items];
  return objects
    .flatMap(({ status }) => (isJsonObject(status) && Array.isArray(status["conditions"]) ? status["conditions"] : []))
    .map(
      (condition) =>
        `${String((condition as JsonObject)["status"])} ${String((condition as JsonObject)["message"] ?? "")}`,
    )
    .join("\n");
}

for (const [name, { refused, layer }] of Object.entries(packageAttacks)) {
  test(`the package ${name} is refused, with the reason in a condition`, async () => {
    await layer?.();
    await plane.watched.during(name, async () => {
      const spec = { package: `${registry.address}/attacks/${name}:v1` };
      await plane.users.create({ ...functionType, metadata: { name }, spec });
      let said = "";
      const isRefused = async (): Promise<boolean> => {
        said = await saidOf(name);
        return said.split("\n").some((line) => line.startsWith("False ") && refused.test(line));
      };
      await until(`${name} is refused`, isRefused, () => said);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
      assert.doesNotMatch(said.replaceAll("\n", " "), /[\u0000-\u001f\u007f-\u009f]/);
      await expectOthersReconcile(`package-${name}`);
      await plane.users.delete({ ...functionType, name });
    });
  });
}

test("memory stays bounded", () => {
  const peak = plane.peakMemory();
  assert.ok(peak < mostMebibytes, `${peak.toFixed(0)} MiB`);
});
