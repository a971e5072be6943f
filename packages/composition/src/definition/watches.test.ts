// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { crdType, noEvents } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type Condition, conditionOf, conditionsOf, type KubeObject, type TypeRef } from "@purlin/kube-objects/object";
import { appXrd, startTestDefinitions } from "../../test/definition-control.ts";
import { appDefinition, cacheDefinition } from "../../test/definitions.ts";
import { startTestControl } from "../../test/test-control.ts";
import { silentAbout } from "../../test/test-doubles.ts";
import { kinds } from "../composite-resource/constants.ts";
import { compositeRole } from "./context.ts";
import { definitionFacts } from "./definition-facts.ts";
import { createDefinedController, createOfferedController } from "./setup.ts";

const condition: Condition = {
  type: "Established",
  status: "True",
  reason: "WatchingCompositeResource",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  observedGeneration: 1,
};

suite("whether the controller of composite resources is restarted", () => {
  interface Row {
    readonly reason: string;
    readonly conditions: Partial<Condition>[];
    /** The generation its controller was made for, and another version than it has now. */
    readonly made?: number;
    readonly version?: string;
    readonly want: boolean;
  }
  const cases: Record<string, Row> = {
    Missing: { reason: "no condition, nothing known", conditions: [], want: false },
    OtherReason: { reason: "not running", conditions: [{ reason: "TerminatingCompositeResource" }], want: false },
    NoGeneration: { reason: "an old one without generation", conditions: [{ observedGeneration: 0 }], want: false },
    Equal: { reason: "nothing changed", conditions: [{ observedGeneration: 2 }], want: false },
    Different: { reason: "the spec changed", conditions: [{ observedGeneration: 1 }], want: true },
    NotReported: {
      reason: "the condition was not written, as the version changed meanwhile",
      conditions: [],
      version: "platform.example.org/v0",
      want: true,
    },
    JustStarted: { reason: "started for this generation, not reported yet", conditions: [{}], made: 2, want: false },
  };
  for (const [name, { reason, conditions, made = 1, version, want }] of Object.entries(cases)) {
    test(`${name}: ${reason}`, () => {
      const status = { conditions: conditions.map((change) => ({ ...condition, ...change })) };
      const xrd = { ...appDefinition({ metadata: { generation: 2 } }), status };
      const now = definitionFacts(xrd);
      const compositeType = { ...now.compositeType, ...(version !== undefined && { apiVersion: version }) };
      assert.equal(compositeRole.isOutdated(xrd, { ...now, compositeType, generation: made }, now), want);
    });
  }
});

suite("what wakes which side", () => {
  const owner = (kind: TypeRef): JsonObject => ({ ...kind, name: appXrd, uid: "u", controller: true });
  const crd = (category: string, owned: TypeRef = kinds.definition): KubeObject => ({
    ...crdType,
    metadata: { name: "x", ownerReferences: [owner(owned)] as never },
    spec: { names: { categories: [category] } },
  });
  const { claimNames: _none, ...claimless } = appDefinition()["spec"] as JsonObject;
  const once = { metadata: { name: appXrd, finalizers: ["offered.apiextensions.crossplane.io"] } };
  const woken = [{ name: appXrd }];
  const cases: Record<string, { reason: string; object: KubeObject; defined: object[]; offered: object[] }> = {
    Definition: {
      reason: "a definition with claims wakes both",
      object: appDefinition(),
      defined: woken,
      offered: woken,
    },
    Claimless: {
      reason: "one without wakes one",
      object: cacheDefinition("Cluster"),
      defined: [{ name: "caches.platform.example.org" }],
      offered: [],
    },
    Retracted: {
      reason: "one that offered claims once wakes both",
      object: { ...appDefinition(once), spec: claimless },
      defined: woken,
      offered: woken,
    },
    CompositeCrd: { reason: "a CRD of composite resources", object: crd("composite"), defined: woken, offered: [] },
    ClaimCrd: { reason: "a CRD of claims", object: crd("claim"), defined: [], offered: woken },
    OtherCrd: { reason: "another category", object: crd("managed"), defined: [], offered: [] },
    OtherOwner: {
      reason: "another owner",
      object: crd("composite", { apiVersion: "v1", kind: "ConfigMap" }),
      defined: [],
      offered: [],
    },
    NewOwner: {
      reason: "a definition in its new version",
      object: crd("composite", { ...kinds.definition, apiVersion: "apiextensions.crossplane.io/v2" }),
      defined: woken,
      offered: [],
    },
  };
  const instance = () => ({ reconcile: async () => ({}), watches: [] });
  const deps = { clock: systemClock, events: noEvents, log: silentLog, functionRevisions: false } as never;
  const controllers = {
    defined: createDefinedController({ ...(deps as object), compositeController: instance } as never),
    offered: createOfferedController({ ...(deps as object), claimController: instance } as never),
  };
  for (const [name, { reason, object, ...want }] of Object.entries(cases)) {
    test(`${name}: ${reason}`, () => {
      for (const side of ["defined", "offered"] as const) {
        const watch = controllers[side].watches.find((spec) => spec.object.kind === object.kind);
        assert.deepEqual([...(watch?.keys({ type: "added", object }) ?? [])], want[side], side);
      }
    });
  }
});

suite("28", () => {
  test("a definition that is not there is no error", async () => {
    await using control = await startTestControl();
    const instance = () => ({ reconcile: async () => ({}), watches: [] });
    const deps = { ...control, clock: systemClock, log: silentLog, functionRevisions: false };
    const { spec } = createDefinedController({ ...deps, compositeController: instance });
    assert.deepEqual(await spec.reconcile({ name: "absent" }, new AbortController().signal), {});
  });

  test("while the CRD is not established there is no condition and no controller, and the reason is reported", async () => {
    await using running = await startTestDefinitions();
    const { users, engine } = running.control;
    await users.create({
      ...crdType,
      metadata: { name: "others.platform.example.org" },
      spec: {
        group: "platform.example.org",
        names: { kind: "XApp", plural: "others" },
        scope: "Cluster",
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    });
    await users.create(appDefinition());
    const { message } = await running.becomes("Synced", { status: "False", reason: "ReconcileError" });
    const waiting = "waiting for composite resource CustomResourceDefinition to be established";
    assert.match(message ?? "", new RegExp(`^${waiting}: "XAppList" is already in use`));
    assert.ok(running.events().includes(`Normal EstablishComposite: ${waiting}`));
    assert.equal(await running.condition("Established"), undefined);
    assert.ok(!engine.isRunning(`composite/${appXrd}`));
  });
});

test("a definition that times out reports the step", async () => {
  await using control = await startTestControl();
  const clock = manualClock(Date.now());
  const client = silentAbout(crdType.kind, control.client, () => clock.advance(compositeRole.timeoutMs));
  const instance = () => ({ reconcile: async () => ({}), watches: [] });
  const deps = { ...control, client, clock, log: silentLog, functionRevisions: false };
  const { spec } = createDefinedController({ ...deps, compositeController: instance });
  await control.users.create(appDefinition());
  const late = "reconcile timed out after 120s";
  await assert.rejects(spec.reconcile({ name: appXrd }, new AbortController().signal), new RegExp(late));
  const expected = `cannot apply rendered composite resource CustomResourceDefinition: ${late}`;
  assert.deepEqual(control.events.take(), [`Warning EstablishComposite: ${expected}`]);
  const stored = await control.users.get(kinds.definition, { name: appXrd });
  const { status, message } = conditionOf(conditionsOf(stored), "Synced");
  assert.deepEqual({ status, message }, { status: "False", message: expected });
});
