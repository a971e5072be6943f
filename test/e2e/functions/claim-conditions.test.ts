// SPDX-License-Identifier: Apache-2.0
// The lists on a composite resource that say which of its conditions a claim shows: which objects have them, what writes them, what
// they hold.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane, startPlane } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import { applyCompositions, claimedDefinition, compositionOf, modernDefinition, namespaceOf } from "./definitions.ts";
import { type Answers, puppet, puppetStep } from "./puppet.ts";

const group = "lists.example.org";
const claimType = { apiVersion: `${group}/v1`, kind: "Play" };
const xrType = { apiVersion: `${group}/v1`, kind: "XPlay" };
const authoredClaimType = { apiVersion: `${group}/v1`, kind: "Book" };
const authoredType = { apiVersion: `${group}/v1`, kind: "XBook" };
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
const namespace = "stage";
const text = { type: "string" };

let plane: Plane;
before(async () => {
  plane = await startPlane({ functions: { puppet } });
  await plane.apply(
    namespaceOf(namespace),
    claimedDefinition({ kind: "Play", group, status: { url: text } }),
    claimedDefinition({ kind: "Book", group, status: { url: text, claimConditions: text } }),
    modernDefinition({ kind: "Scene", group }),
  );
  const pipeline = ["one", "two"].map(puppetStep);
  await applyCompositions(
    plane,
    compositionOf("play", xrType, pipeline),
    compositionOf("book", authoredType, pipeline),
  );
});
after(() => plane[Symbol.asyncDispose]());

const both = { target: "TARGET_COMPOSITE_AND_CLAIM" };
const condition = (type: string, more: JsonObject = both, status = "TRUE"): JsonObject => ({
  type,
  status: `STATUS_CONDITION_${status}`,
  reason: "Reported",
  ...more,
});
const withStatus = (status: JsonObject): JsonObject => ({ composite: { resource: { status } } });
const statusOf = (object: KubeObject): JsonObject => (object["status"] ?? {}) as JsonObject;

const claim = (type: typeof claimType, name: string, answers: Answers): KubeObject =>
  ({ ...type, metadata: { namespace, name }, spec: { answers } }) as unknown as KubeObject;

/** A claim and its composite resource once the claim shows a URL: it does when all before it was copied. */
async function shown(type: typeof claimType, name: string, url: string): Promise<readonly [JsonObject, KubeObject]> {
  const found = await plane.until(
    `${name} shows ${url}`,
    type,
    { namespace, name },
    (one) => statusOf(one)["url"] === url,
  );
  const { resourceRef } = found["spec"] as { readonly resourceRef: typeof claimType & { readonly name: string } };
  return [statusOf(await plane.get(resourceRef, resourceRef)), found];
}

test("both lists hold the types for the claim in the order they came in, and only grow", async () => {
  const first = { conditions: [condition("Db"), condition("Quiet", {}), condition("Image")] };
  await plane.apply(claim(claimType, "grows", { one: first, two: { desired: withStatus({ url: "1" }) } }));
  const [before, seen] = await shown(claimType, "grows", "1");
  assert.deepEqual(before["claimConditionTypes"], ["Db", "Image"]);
  assert.deepEqual(before["claimConditions"], ["Db", "Image"]);
  assert.equal(conditionOf(seen, "Quiet"), undefined, "it targets the composite resource only");
  assert.deepEqual(Object.keys(statusOf(seen)).sort(), ["conditions", "url"], "no list is copied to the claim");

  const second = { conditions: [condition("App"), condition("Db", { target: "TARGET_COMPOSITE" }, "FALSE")] };
  await plane.apply(claim(claimType, "grows", { one: second, two: { desired: withStatus({ url: "2" }) } }));
  const [after, then] = await shown(claimType, "grows", "2");
  assert.deepEqual(after["claimConditionTypes"], ["Db", "Image", "App"]);
  assert.deepEqual(after["claimConditions"], ["Db", "Image", "App"]);
  assert.equal(conditionOf(then, "Db")?.status, "False", "a condition that targeted the claim once always does");
  assert.equal(conditionOf(then, "Image")?.status, "True", "a condition that is not set again stays");
  const { resourceRef } = then["spec"] as { readonly resourceRef: { readonly name: string } };
  await rendersAsApplied(plane.users, xrType, { name: resourceRef.name });
});

test("system condition types are neither set nor listed", async () => {
  const ours = ["Ready", "Synced", "Healthy", "Responsive", "UpToDate"].map((type) => condition(type, both, "FALSE"));
  const one = { conditions: [...ours, condition("Theirs")] };
  await plane.apply(claim(claimType, "reserved", { one, two: { desired: withStatus({ url: "1" }) } }));
  const [status, seen] = await shown(claimType, "reserved", "1");
  assert.deepEqual(status["claimConditions"], ["Theirs"]);
  assert.deepEqual(status["claimConditionTypes"], ["Theirs"]);
  assert.notEqual(conditionOf(seen, "Ready")?.reason, "Reported");
  assert.equal(conditionOf(seen, "UpToDate"), undefined);
});

test("a function cannot write the lists of claim conditions", async () => {
  const sneaky = { claimConditionTypes: ["Sneaky"], claimConditions: ["Sneaky"], url: "1" };
  const answers = { one: { conditions: [condition("Db")] }, two: { desired: withStatus(sneaky) } };
  await plane.apply(claim(claimType, "sneaky", answers));
  const [status, seen] = await shown(claimType, "sneaky", "1");
  assert.deepEqual(status["claimConditions"], ["Db"]);
  assert.deepEqual(status["claimConditionTypes"], ["Db"]);
  assert.equal(conditionOf(seen, "Sneaky"), undefined);
  await plane.until("it is ready", claimType, { namespace, name: "sneaky" }, (one) => {
    return conditionOf(one, "Ready")?.status === "True";
  });
});

test("a fatal result lists as well as an answer that is fine", async () => {
  const results = [{ severity: "SEVERITY_FATAL", message: "boom" }];
  await plane.apply(claim(claimType, "fatal", { one: { conditions: [condition("Db")], results } }));
  const seen = await plane.until("the claim shows it", claimType, { namespace, name: "fatal" }, (one) => {
    return conditionOf(one, "Db")?.status === "True";
  });
  const { resourceRef } = seen["spec"] as { readonly resourceRef: typeof claimType & { readonly name: string } };
  const status = statusOf(await plane.get(resourceRef, resourceRef));
  assert.deepEqual([status["claimConditions"], status["claimConditionTypes"]], [["Db"], ["Db"]]);
});

test("a field of the same name in the author's schema stays the author's", async () => {
  const answers = {
    one: { conditions: [condition("Db")] },
    two: { desired: withStatus({ url: "1", claimConditions: "as the author likes" }) },
  };
  await plane.apply(claim(authoredClaimType, "mine", answers));
  const [status, seen] = await shown(authoredClaimType, "mine", "1");
  assert.deepEqual(status["claimConditionTypes"], ["Db"]);
  assert.equal(status["claimConditions"], "as the author likes");
  assert.equal(statusOf(seen)["claimConditions"], "as the author likes", "it is status like any other");
  assert.equal(conditionOf(seen, "Db")?.status, "True");
});

type VersionWithStatus = {
  readonly schema: {
    readonly openAPIV3Schema: { readonly properties: { readonly status: { readonly properties: object } } };
  };
};

const derived: Readonly<Record<string, readonly string[]>> = {
  [`xplays.${group}`]: ["claimConditionTypes", "claimConditions"],
  [`plays.${group}`]: ["claimConditionTypes"],
  [`scenes.${group}`]: [],
};

for (const [name, wanted] of Object.entries(derived)) {
  test(`of the lists, ${name} has ${wanted.join(" and ") || "none"}`, async () => {
    const crd = await eventually(`there is ${name}`, () => plane.find(crdType, { name }));
    const { versions } = crd["spec"] as { readonly versions: readonly VersionWithStatus[] };
    const fields = Object.keys(versions[0]?.schema.openAPIV3Schema.properties.status.properties ?? {});
    assert.deepEqual(fields.filter((field) => field.startsWith("claimCondition")).sort(), wanted);
  });
}
