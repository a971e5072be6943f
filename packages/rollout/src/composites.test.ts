// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { memoryCluster, rolloutOf } from "../test/memory-cluster.ts";
import { belongsToCandidate, type CompositeRow, collectComposites, factsOf } from "./composites.ts";
import { type ShadowSource, shadowNumbers, shadowStatus } from "./observe.ts";
import { readPlan } from "./plan.ts";
import { type RolloutState, readState } from "./state.ts";

const { signal } = new AbortController();
const frozen = [{ name: "f", stable: "f-1", candidate: "f-2" }];
const stateOf = (more: Partial<RolloutState> = {}): RolloutState => ({ ...readState({}), frozen, ...more });
const row = (more: Partial<CompositeRow> = {}, labels: Readonly<Record<string, string>> = {}): CompositeRow => ({
  object: { apiVersion: "example.org/v1", kind: "App", metadata: { name: "a", labels } },
  uid: "u",
  key: { name: "a" },
  controller: "composite/apps.example.org",
  bucket: 500,
  isMovable: true,
  isSynced: true,
  isOnCandidate: false,
  isObserved: false,
  ...more,
});

interface Collecting {
  readonly spec?: JsonObject;
  readonly state?: RolloutState;
  readonly ran?: Readonly<Record<string, string>>;
  readonly change?: (object: KubeObject) => KubeObject;
  readonly buckets?: Map<string, number>;
}

/** The composite resource `app-0` of a cluster, as a row; undefined if the rollout does not concern it. */
async function collect({
  spec = {},
  state = stateOf(),
  ran = {},
  change = (one) => one,
  buckets = new Map(),
}: Collecting): Promise<CompositeRow | undefined> {
  const cluster = memoryCluster(1);
  cluster.put(change(cluster.get("App", "app-0") ?? assert.fail()));
  const rows = await collectComposites({
    client: cluster.client(),
    plan: readPlan(rolloutOf("r", spec) as JsonObject),
    state,
    rolloutUid: "uid-r",
    samples: { lastRevision: (name, uid) => ran[`${name}/${uid}`] },
    buckets,
    signal,
  });
  return rows[0];
}

describe("the composite resources of a rollout", () => {
  test("of a Function are those whose revision has a step with it", async () => {
    const found = await collect({});
    assert.deepEqual(
      [found?.uid, found?.key, found?.controller],
      ["uid-app-0", { name: "app-0" }, "composite/apps.example.org"],
    );
    assert.equal(await collect({ spec: { functionRef: { name: "g" } } }), undefined);
  });

  test("of Compositions with labels only", async () => {
    assert.equal(await collect({ spec: { compositionSelector: { matchLabels: { tier: "gold" } } } }), undefined);
  });

  test("of a Composition are those that follow it", async () => {
    const spec = { compositionRef: { name: "apps" } };
    assert.equal((await collect({ spec }))?.uid, "uid-app-0");
    const manual = (one: KubeObject): KubeObject => ({
      ...one,
      spec: {
        crossplane: {
          ...(one["spec"] as { readonly crossplane: JsonObject }).crossplane,
          compositionUpdatePolicy: "Manual",
        },
      },
    });
    assert.equal(await collect({ spec, change: manual }), undefined);
    assert.equal(await collect({ spec: { compositionRef: { name: "other" } } }), undefined);
  });

  test("are not those in deletion", async () => {
    const change = (one: KubeObject): KubeObject => ({
      ...one,
      metadata: { ...one.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    });
    assert.equal(await collect({ change }), undefined);
  });

  test("are not moved while they are paused", async () => {
    const change = (one: KubeObject): KubeObject => ({
      ...one,
      metadata: { ...one.metadata, annotations: { "crossplane.io/paused": "true" } },
    });
    assert.equal((await collect({ change }))?.isMovable, false);
  });

  test("keep their bucket", async () => {
    const buckets = new Map<string, number>();
    const first = await collect({ buckets });
    assert.deepEqual([...buckets], [["uid-app-0", first?.bucket]]);
    assert.equal((await collect({ buckets: new Map([["uid-app-0", 42]]) }))?.bucket, 42);
  });
});

describe("on which revision a composite resource is", () => {
  const on =
    (revision: string) =>
    (one: KubeObject): KubeObject => ({
      ...one,
      status: {
        ...(one["status"] as JsonObject),
        crossplane: { functionRevisions: [{ step: "s", functionRevision: revision }] },
      },
    });
  const sides = async (question: Collecting): Promise<readonly (boolean | undefined)[]> => {
    const found = await collect(question);
    return [found?.isOnCandidate, found?.isObserved];
  };

  test("its status says so", async () => {
    assert.deepEqual(await sides({}), [false, false]);
    assert.deepEqual(await sides({ change: on("f-2") }), [true, true]);
  });

  test("this process has it before the status", async () => {
    assert.deepEqual(await sides({ ran: { "f/uid-app-0": "f-2" } }), [true, false]);
    assert.deepEqual(await sides({ change: on("f-2"), ran: { "f/uid-app-0": "f-1" } }), [false, true]);
    assert.deepEqual(
      await sides({ change: on("f-2"), ran: { "f/uid-app-0": "f-0" } }),
      [true, true],
      "a revision of neither side",
    );
  });

  test("of several functions all have to move, as far as they are used", async () => {
    const two = stateOf({ frozen: [...frozen, { name: "g", stable: "g-1", candidate: "g-2" }] });
    assert.deepEqual(await sides({ state: two, change: on("f-2") }), [true, true]);
    const half = (one: KubeObject): KubeObject => ({
      ...one,
      status: { crossplane: { functionRevisions: [{ functionRevision: "f-2" }, { functionRevision: "g-1" }] } },
    });
    assert.deepEqual(await sides({ state: two, change: half }), [true, false]);
  });

  test("of a Composition its reference counts, once it was reconciled as it is", async () => {
    const state = stateOf({ frozen: [{ name: "apps", stable: "apps-0", candidate: "apps-1" }] });
    const spec = { compositionRef: { name: "apps" } };
    assert.deepEqual(await sides({ spec, state }), [true, true]);
    const behind = (one: KubeObject): KubeObject => ({
      ...one,
      metadata: { ...one.metadata, generation: 2 },
      status: { conditions: [{ type: "Synced", status: "True", observedGeneration: 1 }] },
    });
    assert.deepEqual(await sides({ spec, state, change: behind }), [true, false]);
  });
});

describe("membership", () => {
  test("is by bucket, below the threshold", () => {
    const member = (threshold: number): boolean => belongsToCandidate(row(), stateOf({ threshold }));
    assert.deepEqual([0, 500, 501, 10_000].map(member), [false, false, true, true]);
  });

  test("or by the labels of a cohort", () => {
    const cohorts = [{ tier: "gold", zone: "a" }];
    assert.equal(belongsToCandidate(row({}, { tier: "gold", zone: "a", more: "x" }), stateOf({ cohorts })), true);
    assert.equal(belongsToCandidate(row({}, { tier: "gold" }), stateOf({ cohorts })), false);
  });
});

describe("numbers", () => {
  const state = stateOf({ threshold: 1000 });
  const member = (more: Partial<CompositeRow> = {}): CompositeRow => row({ bucket: 1, ...more });
  const other = (more: Partial<CompositeRow> = {}): CompositeRow => row({ bucket: 5000, ...more });

  test("of members, of those that moved, and of healthy ones", () => {
    const { numbers, lowestBucket } = factsOf(
      [
        member({ isOnCandidate: true }),
        member({ isSynced: false, bucket: 7 }),
        other({ isOnCandidate: true }),
        other(),
      ],
      state,
    );
    assert.deepEqual(numbers, { total: 4, candidate: 2, moved: 2, healthy: 1, unhealthy: 1 });
    assert.equal(lowestBucket, 1);
    assert.equal(factsOf([], state).lowestBucket, undefined);
  });

  test("of members that are waited for: synced, movable, and not seen on the candidate", () => {
    const pending = (more: Partial<CompositeRow>): number => factsOf([member(more)], state).pendingMoves;
    assert.equal(pending({}), 1);
    assert.equal(pending({ isOnCandidate: true }), 1);
    assert.equal(pending({ isOnCandidate: true, isObserved: true }), 0);
    assert.equal(pending({ isSynced: false }), 0);
    assert.equal(pending({ isMovable: false }), 0);
    assert.equal(factsOf([other()], state).pendingMoves, 0);
  });

  test("of those that are left behind on the candidate", () => {
    const left = (more: Partial<CompositeRow>): number => factsOf([other(more)], state).leftBehind.length;
    assert.equal(left({ isOnCandidate: true }), 1);
    assert.equal(left({ isObserved: true }), 1);
    assert.equal(left({ isObserved: true, isSynced: false }), 0);
    assert.equal(left({ isOnCandidate: true, isMovable: false }), 0);
    assert.equal(factsOf([member({ isOnCandidate: true })], state).leftBehind.length, 0);
  });

  test("of conditions, without paused composite resources", () => {
    const with_ = (status: string): KubeObject => ({
      ...row().object,
      status: { conditions: [{ type: "Ready", status }] },
    });
    const { moved, stayed } = factsOf(
      [
        member({ object: with_("True") }),
        member({ object: with_("False") }),
        member({ object: with_("True"), isMovable: false }),
        other(),
      ],
      state,
    );
    assert.deepEqual([moved.total, moved.has("Ready", "True"), moved.has("Ready", "False")], [2, 1, 1]);
    assert.deepEqual([stayed.total, stayed.has("Ready", "Unknown")], [1, 1]);
  });
});

describe("shadow reports", () => {
  const classes = ["none", "cosmetic", "slower", "change", "replace", "delete", "fatal", "error"] as const;
  const mapValues = (count: (kind: string) => number) =>
    Object.fromEntries(classes.map((kind) => [kind, count(kind)])) as Record<(typeof classes)[number], number>;
  type Findings = ReturnType<ShadowSource["details"]>;
  const finding = (name: string, kind: Findings[number]["class"], more: object = {}): Findings[number] => ({
    composite: { apiVersion: "example.org/v1", kind: "App", name, uid: name },
    class: kind,
    resources: [],
    ...more,
  });
  const source = (details: Findings, known: readonly string[] = []): ShadowSource => ({
    report: () => ({
      total: details.length,
      classes: mapValues((kind) => details.filter((one) => one.class === kind).length),
    }),
    details: () => details,
    has: (_, uid) => known.includes(uid),
    forget: () => {},
    retainRollouts: () => {},
    retainComposites: () => {},
  });

  test("count composite resources that have to be compared and were not", () => {
    const state = stateOf({ shadowThreshold: 1000, threshold: 100 });
    const rows = [
      row({ uid: "due", bucket: 500 }),
      row({ uid: "seen", bucket: 500 }),
      row({ uid: "member", bucket: 50 }),
      row({ uid: "outside", bucket: 1000 }),
      row({ uid: "paused", bucket: 500, isMovable: false }),
      row({ uid: "failing", bucket: 500, isSynced: false }),
    ];
    assert.equal(shadowNumbers("r", source([], ["seen"]), { rows, state }).pendingShadows, 1);
    assert.deepEqual(shadowNumbers("r", undefined, { rows, state }), { shadow: undefined, pendingShadows: 2 });
  });

  test("have numbers by class, and names as examples", () => {
    const inNamespace = finding("x", "delete", { composite: { ...finding("x", "none").composite, namespace: "team" } });
    const details = [
      inNamespace,
      finding("a", "fatal"),
      finding("b", "error"),
      finding("c", "change"),
      finding("d", "none"),
    ];
    const { shadow } = shadowNumbers("r", source(details), { rows: [], state: stateOf() });
    assert.deepEqual(
      [shadow?.compared, shadow?.deleted, shadow?.replaced, shadow?.changed, shadow?.failed],
      [5, 1, 0, 1, 2],
    );
    assert.deepEqual(
      [shadow?.examples("delete"), shadow?.examples("failed"), shadow?.examples("replace")],
      [["team/x"], ["a", "b"], []],
    );
    const many = source(Array.from({ length: 12 }, (_, index) => finding(`n${index}`, "change")));
    assert.equal(shadowNumbers("r", many, { rows: [], state: stateOf() }).shadow?.examples("change").length, 10);
  });

  test("are in the status without what did not differ", () => {
    const resources = [
      { resource: "db", kind: "Bucket", class: "delete" },
      { resource: "same", kind: "Bucket", class: "none" },
    ];
    const details = [finding("a", "delete", { resources, message: "m".repeat(300) }), finding("b", "none")];
    assert.deepEqual(shadowStatus("r", source(details)), {
      compared: 2,
      classes: { delete: 1, none: 1 },
      composites: [
        {
          apiVersion: "example.org/v1",
          kind: "App",
          name: "a",
          class: "delete",
          message: "m".repeat(256),
          resources: [{ resource: "db", kind: "Bucket", class: "delete" }],
        },
      ],
    });
    assert.equal(shadowStatus("r", source([])), undefined);
    assert.equal(shadowStatus("r", undefined), undefined);
  });

  test("are bounded in the status: composite resources, resources and characters", () => {
    const resources = Array.from({ length: 9 }, (_, index) => ({ resource: `r${index}`, kind: "K", class: "change" }));
    const many = shadowStatus(
      "r",
      source(Array.from({ length: 300 }, (_, index) => finding(`n${index}`, "change", { resources }))),
    );
    const shown = many?.["composites"] as JsonObject[];
    assert.equal(many?.["compared"], 300);
    assert.equal(shown.length, 200);
    assert.equal((shown[0]?.["resources"] as JsonObject[] | undefined)?.length, 5);
    const long = Array.from({ length: 200 }, (_, index) => finding(`${"x".repeat(2000)}${index}`, "change"));
    assert.ok(JSON.stringify(shadowStatus("r", source(long))).length < 110_000);
  });
});
