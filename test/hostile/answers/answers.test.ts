// SPDX-License-Identifier: Apache-2.0
// Answers of hostile functions to a control plane that runs: none may hold its event loop, change anything that it should not, or make a
// terminal do something. What is refused says why on the composite resource.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { chaosDirectory } from "../../chaos/harness/server-process.ts";
import { type AnsweringFunction, startFunction } from "./answering-function.ts";
import { type AttackedPlane, startAttackedPlane, syncedOf, until, xrType } from "./attacked-plane.ts";
import { type Attack, attacks } from "./attacks.ts";
import { composedIn, expectRefused, removeAttack } from "./refused.ts";

/** Of the whole process: what it has when it is idle, and two answers of the largest size in several forms. */
const mostMebibytes = 1_200;

const directory = chaosDirectory();
let fn: AnsweringFunction;
let plane: AttackedPlane;
const calls = new Map<string, number>();

before(async () => {
  fn = await startFunction((request) => {
    const spec = request.observed?.composite?.resource?.value["spec"];
    const name = String(isJsonObject(spec) ? spec["case"] : "");
    calls.set(name, (calls.get(name) ?? 0) + 1);
    const { answer } = attacks[name] as Attack;
    return answer(request);
  });
  plane = await startAttackedPlane(directory, fn.address, "--function-limit", "selectedObjects=100");
  const maps = Array.from({ length: 150 }, (_, i) => i);
  for (const i of maps) {
    await plane.users.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `many-${i}`, namespace: "kube-public" },
    });
  }
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  await fn?.[Symbol.asyncDispose]();
});

const composedBy = (name: string): Promise<readonly KubeObject[]> => composedIn(plane, name);
const remove = (name: string): Promise<void> => removeAttack(plane, name);

for (const [name, { answer, refused }] of Object.entries(attacks)) {
  if (refused === undefined) continue;
  test(`${name} is refused, and nothing is composed`, () => expectRefused(plane, name, { answer, refused }));
}

async function used(name: string): Promise<KubeObject> {
  (attacks[name] as Attack).answer({ requiredResources: new Map() } as never);
  return plane.watched.during(name, async () => {
    const { status, message = "" } = await plane.attack(name);
    assert.equal(status, "True", message.slice(0, 500));
    return plane.users.get(xrType, { name });
  });
}

const statusOf = (xr: KubeObject): JsonObject => (xr["status"] ?? {}) as JsonObject;

for (const name of ["honest-requirements-5000", "honest-status-50000-values", "ttl-of-an-age", "ttl-in-the-past"]) {
  test(`${name} is used`, async () => {
    await used(name);
    await plane.watched.during(`${name}, deleted`, () => remove(name));
  });
}

test("honest-resources-500: all are composed", async () => {
  await used("honest-resources-500");
  assert.equal((await composedBy("honest-resources-500")).length, 500);
  await plane.watched.during("honest-resources-500, deleted", () => remove("honest-resources-500"));
});

test("honest-conditions-1000: all are stored", async () => {
  const { conditions } = statusOf(await used("honest-conditions-1000"));
  assert.ok(Array.isArray(conditions) && conditions.length > 1_000);
  await remove("honest-conditions-1000");
});

test("honest-results-10000: a few events, of which one says how many are left out", async () => {
  const xr = await used("honest-results-10000");
  const fieldSelector = `involvedObject.uid=${xr.metadata.uid}`;
  await until(
    "the last event is written",
    async () => {
      const { items } = await plane.users.list({ apiVersion: "v1", kind: "Event" }, { fieldSelector });
      return items.some((event) =>
        String(event["message"]).includes("9981 more events of this reconcile are left out"),
      );
    },
    () => "",
  );
  const { items } = await plane.users.list({ apiVersion: "v1", kind: "Event" }, { fieldSelector });
  assert.ok(items.length <= 60, `${items.length} events`);
  await remove("honest-results-10000");
});

test("long-message: cut as Kubernetes would", async () => {
  const { conditions } = statusOf(await used("long-message")) as {
    conditions?: readonly { type: string; message?: string }[];
  };
  const message = conditions?.find(({ type }) => type === "Long")?.message ?? "";
  assert.ok(message.endsWith("…") && Buffer.byteLength(message) <= 32_768);
  await remove("long-message");
});

test("odd-values: NaN and infinity are texts, of two members the last counts, and no prototype is touched", async () => {
  const { any } = statusOf(await used("odd-values"));
  const polluted = { polluted: 1 };
  const want = JSON.parse(
    JSON.stringify({ nan: "NaN", inf: "Infinity", twice: 2, constructor: polluted }),
  ) as JsonObject;
  Object.defineProperty(want, "__proto__", { value: polluted, enumerable: true });
  assert.equal(JSON.stringify(sorted(any as JsonObject)), JSON.stringify(sorted(want)));
  await remove("odd-values");
});

function sorted(value: JsonObject): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

test("drip: an answer that comes in many pieces is waited for", async () => {
  await used("drip");
  assert.equal((await composedBy("drip")).length, 1);
  await remove("drip");
});

test("ttl-of-a-millisecond: no hot loop", async () => {
  await used("ttl-of-a-millisecond");
  const before = calls.get("ttl-of-a-millisecond") ?? 0;
  await plane.watched.during("ttl-of-a-millisecond, for a while", () => delay(3_000));
  const more = (calls.get("ttl-of-a-millisecond") ?? 0) - before;
  assert.ok(more <= 6, `${more} calls in 3 seconds`);
  await remove("ttl-of-a-millisecond");
});

test("what commands print about hostile answers contains no control characters", async () => {
  const name = "grpc-message-with-escapes";
  await plane.attack(name);
  const printed = [
    await plane.purlin("trace"),
    await plane.purlin("trace", "attack", name),
    await plane.purlin("describe", "attack", name),
    await plane.purlin("events"),
    await plane.purlin("get", "attacks"),
    plane.output(),
  ];
  for (const text of printed) {
    assert.match(text, /attack/i);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
    assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    assert.doesNotMatch(text, /^error: forged/m);
  }
  assert.equal(syncedOf(await plane.users.get(xrType, { name }))?.status, "False");
  await remove(name);
});

test("memory stays bounded", () => {
  const peak = plane.peakMemory();
  assert.ok(peak < mostMebibytes, `${peak.toFixed(0)} MiB`);
});
