// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, failing, inspectionOf, made, memoryClient, secondsAgo } from "../../test/memory-inspection.ts";
import { Reader } from "../read/reader.ts";
import { found, kindKey, messageContext, readDefinedKinds, referenceableType, rule } from "./inspection.ts";

const xrd = (kind: string, version: string, spec: JsonObject = {}): KubeObject =>
  made(`apiextensions.crossplane.io/${version}/CompositeResourceDefinition`, `${kind.toLowerCase()}s.example.org`, {
    spec: { group: "example.org", names: { kind }, versions: [{ name: "v1", referenceable: true }], ...spec },
  });

const readKinds = (...objects: readonly KubeObject[]): ReturnType<typeof readDefinedKinds> =>
  readDefinedKinds(new Reader({ client: memoryClient(objects) }));

describe("kinds that XRDs define", () => {
  test("the key has the group and not the version", () => {
    assert.equal(kindKey({ apiVersion: "example.org/v1alpha1", kind: "App" }), "example.org/App");
    assert.equal(kindKey({ apiVersion: "v1", kind: "Pod" }), "/Pod");
  });

  test("an XRD defines a composite resource, and a claim if it has claim names", async () => {
    const kinds = await readKinds(xrd("App", "v2"), xrd("XShop", "v2", { claimNames: { kind: "Shop" } }));
    assert.deepEqual(
      [...kinds].map(([key, { role, definition }]) => `${key} ${role} ${definition.metadata.name}`),
      [
        "example.org/App composite apps.example.org",
        "example.org/XShop composite xshops.example.org",
        "example.org/Shop claim xshops.example.org",
      ],
    );
  });

  test("XRDs of v1 are read only if there are none of v2", async () => {
    assert.deepEqual([...(await readKinds(xrd("Old", "v1"))).keys()], ["example.org/Old"]);
    assert.deepEqual([...(await readKinds(xrd("Old", "v1"), xrd("New", "v2"))).keys()], ["example.org/New"]);
    assert.equal((await readKinds()).size, 0);
  });

  test("an XRD without names defines nothing", async () => {
    assert.equal((await readKinds(xrd("App", "v2", { names: {} }))).size, 0);
  });

  test("the referenceable version is the one of references, not the first", () => {
    const versions = [{ name: "v1alpha1" }, { name: "v2", referenceable: true }];
    const definition = xrd("XShop", "v2", { versions, claimNames: { kind: "Shop" } });
    assert.deepEqual(referenceableType({ role: "composite", definition }), {
      apiVersion: "example.org/v2",
      kind: "XShop",
    });
    assert.deepEqual(referenceableType({ role: "claim", definition }), { apiVersion: "example.org/v2", kind: "Shop" });
    const none = xrd("App", "v2", { versions: [{ name: "v1", referenceable: false }] });
    assert.equal(referenceableType({ role: "composite", definition: none }), undefined);
  });
});

describe("rules", () => {
  test("a rule gets the match of its pattern, and the context", async () => {
    const one = rule(/cannot get (\S+)/, ([, name = ""], context) =>
      found("E03", context, { sentence: `${name} of ${context.object.metadata.name}`, next: ["create it"] }),
    );
    const finding = await one(await failing("error: cannot get db"));
    assert.deepEqual(finding, {
      code: "E03",
      object: { apiVersion: "example.org/v1", kind: "App", name: "web", namespace: "default" },
      since: secondsAgo(60),
      sentence: "db of web",
      next: ["create it"],
      evidence: [
        {
          object: "App default/web",
          path: "status.conditions[Synced]",
          time: secondsAgo(60),
          text: "Synced=False: ReconcileError: error: cannot get db",
        },
      ],
    });
    assert.equal(await one(await failing("fine")), undefined);
  });

  test("a finding adds its evidence after that of the condition, and has no empty time", async () => {
    const context = await failing("x");
    const more = { object: "Lock lock", text: "y" };
    const finding = found(
      "E20",
      { ...context, condition: { ...context.condition, lastTransitionTime: "" } },
      { sentence: "s", next: [], evidence: [more] },
    );
    assert.equal(finding.since, undefined);
    assert.deepEqual(finding.evidence, [...context.evidence, more]);
  });

  for (const [length, kept] of [
    [4095, 4095],
    [4096, 4096],
    [4097, 4097],
    [9000, 4097],
  ] as const) {
    test(`a message of ${length} characters is recognized by ${kept} of them`, async () => {
      const { text, evidence } = await failing("x".repeat(length));
      assert.equal(text.length, kept);
      assert.equal(text.endsWith("…"), length > 4096);
      assert.equal(evidence[0]?.text.length, "Synced=False: ReconcileError: ".length + length);
    });
  }

  test("a condition without a message has an empty text", async () => {
    const condition = { type: "Synced", status: "False", reason: "R", lastTransitionTime: "" } as const;
    assert.equal(messageContext(app("a"), condition, await inspectionOf()).text, "");
  });
});
