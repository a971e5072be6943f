// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import {
  caughtUp,
  functionPackage,
  type PackageCluster,
  reconcilePackage,
  startPackageCluster,
} from "../../test/package-cluster.ts";
import { applyPackage, managePackage, revisions, serve, states } from "../../test/package-scene.ts";
import { packageTypes } from "../package-kinds.ts";
import { handsOver, isAutomatic, planStates } from "./plan-states.ts";

/** `3+` serves, `2a` is Active without serving, `1` is Inactive, `1?` has no state. */
function revision(text: string): KubeObject {
  const number = Number.parseInt(text, 10);
  const isServing = text.endsWith("+");
  const desiredState = isServing || text.endsWith("a") ? "Active" : text.endsWith("?") ? "" : "Inactive";
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name: `r${number}`, labels: { "pkg.crossplane.io/package": "f" } },
    spec: { revision: number, desiredState },
    status: isServing ? { endpoint: "dns:///x:9443", capabilities: ["composition"] } : {},
  } as KubeObject;
}

interface Row {
  readonly why: string;
  /** Revisions there are. */
  readonly now: string;
  /** The number of the current one, new or not. */
  readonly current: number;
  readonly policy?: string | undefined;
  readonly limit?: number;
  readonly isRollout?: boolean;
  readonly isFunction?: boolean;
  /** `state of the current; other active ones; other inactive ones` */
  readonly plan: string;
}

const manual = "Manual";
const rows: readonly Row[] = [
  { why: "a first install", now: "", current: 1, plan: "Active; ; " },
  { why: "a function hands over", now: "1+", current: 2, plan: "Active; r1; " },
  { why: "and once the newcomer serves, the old one goes", now: "2+ 1+", current: 2, plan: "Active; ; r1" },
  { why: "as shipped, others stop at once", now: "1+", current: 2, isFunction: false, plan: "Active; ; r1" },
  { why: "an older one a user activated stops again", now: "2+ 1a", current: 2, plan: "Active; ; r1" },
  {
    why: "the same for a package that is not a function",
    now: "2a 1a",
    current: 2,
    isFunction: false,
    plan: "Active; ; r1",
  },
  { why: "nor does a current one stay Inactive", now: "1", current: 1, plan: "Active; ; " },
  {
    why: "with the flag off a limit of 2 counts as 1",
    now: "2+ 1+",
    current: 2,
    limit: 2,
    plan: "Active; ; r1",
  },
  { why: "with it on, both serve", now: "2+ 1", current: 2, limit: 2, isRollout: true, plan: "Active; r1; " },
  { why: "the third of two", now: "3+ 2+ 1+", current: 3, limit: 2, isRollout: true, plan: "Active; r2; r1" },
  { why: "Manual as shipped: no state", now: "", current: 1, policy: manual, plan: "; ; " },
  { why: "what a user set stays", now: "1a", current: 1, policy: manual, plan: "Active; ; " },
  { why: "the old one stops at once", now: "1+", current: 2, policy: manual, plan: "; ; r1" },
  { why: "any other policy is not Automatic", now: "1+", current: 2, policy: "Foo", plan: "; ; r1" },
  { why: "no policy is Automatic", now: "", current: 1, policy: undefined, plan: "Active; ; " },
  {
    why: "Manual with the flag on: users decide",
    now: "2a 1+",
    current: 3,
    policy: manual,
    isRollout: true,
    plan: "Inactive; r2,r1; ",
  },
  {
    why: "and the current one, too",
    now: "3+ 2a 1",
    current: 3,
    policy: manual,
    isRollout: true,
    plan: "Active; r2; ",
  },
  {
    why: "an invalid limit counts as 1",
    now: "2+ 1+",
    current: 2,
    limit: 0,
    isRollout: true,
    plan: "Active; ; r1",
  },
  { why: "going back to an older one", now: "2+ 1", current: 1, isRollout: true, plan: "Active; r2; " },
];

for (const { why, now, current, policy = "Automatic", limit = 1, isRollout = false, isFunction = true, plan } of rows) {
  test(`${now || "nothing"} → ${plan}: ${why}`, () => {
    const revisions = now === "" ? [] : now.split(" ").map(revision);
    const name = `r${current}`;
    const existing = revisions.find(({ metadata }) => metadata.name === name);
    const highest = Math.max(0, ...revisions.map((one) => (one["spec"] as { revision: number }).revision));
    const number = existing !== undefined && current === highest ? current : highest + 1;
    const owner = {
      apiVersion: "pkg.crossplane.io/v1",
      kind: "Function",
      metadata: { name: "f" },
      spec: { revisionActivationPolicy: policy, activeRevisionLimit: limit },
    } as KubeObject;
    const input = { package: owner, revisions, current: { name, existing }, number, isRollout, isFunction };
    const { current: state, active, inactive } = planStates(input);
    assert.equal(`${state}; ${active.join()}; ${inactive.join()}`, plan);
  });
}

test("which packages hand over: functions the manager decides about, and all functions under the rollout", () => {
  const owner = (policy?: string): KubeObject =>
    ({
      apiVersion: "v1",
      kind: "Function",
      metadata: {},
      spec: policy ? { revisionActivationPolicy: policy } : {},
    }) as KubeObject;
  const rows: [isFunction: boolean, isRollout: boolean, policy: string | undefined, expected: boolean][] = [
    [true, false, "Automatic", true],
    [true, false, undefined, true],
    [true, false, "Manual", false],
    [true, true, "Manual", true],
    [false, false, "Automatic", false],
    [false, false, "Manual", false],
  ];
  for (const [isFunction, isRollout, policy, expected] of rows) {
    assert.equal(
      handsOver({ isFunction, isRollout, package: owner(policy) }),
      expected,
      `${isFunction} ${isRollout} ${policy}`,
    );
  }
  assert.deepEqual(
    ["Automatic", "automatic", "Manual", undefined].map((one) => isAutomatic(owner(one))),
    [true, false, false, true],
  );
});

// What happens to an old revision between the look and its removal, on a real API server.

const type = packageTypes.Function;
const stopping = new AbortController().signal;

/** Three revisions that users activate, of which the history has room for two: the next pass takes the lowest. */
async function startCrowded(): Promise<PackageCluster> {
  const cluster = await startPackageCluster({ functionRevisionSelectors: true });
  for (const [at, tag] of ["v1", "v2", "v3"].entries()) {
    await cluster.push(`acme/f:${tag}`, functionPackage(tag));
    const spec = { package: `${cluster.registry}/acme/f:${tag}`, revisionActivationPolicy: "Manual" };
    await applyPackage(cluster, {
      kind: "Function",
      name: "f",
      spec: { ...spec, revisionHistoryLimit: at === 2 ? 1 : 9 },
    });
    if (at < 2) await managePackage(cluster, "Function", "f");
  }
  await managePackage(cluster, "Function", "f");
  await serve(cluster, { kind: "Function", name: "f", number: 3 });
  assert.deepEqual(await states(cluster, "Function", "f"), ["3 Inactive", "2 Inactive", "1 Inactive"]);
  await caughtUp(cluster, [type.package, type.revision]);
  cluster.takeEvents();
  return cluster;
}

/** A pass in which something happens to the lowest revision after it was looked at. */
async function passWhile(cluster: PackageCluster, happens: (lowest: KubeObject) => Promise<unknown>): Promise<void> {
  const revisionsInUse = async (): Promise<Set<string>> => {
    const lowest = (await revisions(cluster, "Function", "f")).at(-1);
    assert.ok(lowest);
    await happens(lowest);
    return new Set();
  };
  await reconcilePackage({ ...cluster.deps, revisionsInUse }, type, { key: { name: "f" }, stopping });
}

test("a revision that a user activates in the last moment is not collected", async () => {
  await using cluster = await startCrowded();
  const activate = (lowest: KubeObject): Promise<unknown> =>
    cluster.kube.update(withMember(lowest, ["spec", "desiredState"], "Active"));
  await assert.rejects(passWhile(cluster, activate), /cannot garbage collect old package revision: .*precondition/);
  assert.deepEqual(await states(cluster, "Function", "f"), ["3 Inactive", "2 Inactive", "1 Active"]);
  assert.deepEqual(cluster.takeEvents(), [], "the next reconcile sees the change; there is nothing to report");
  await managePackage(cluster, "Function", "f");
  assert.deepEqual(await states(cluster, "Function", "f"), ["3 Inactive", "1 Active"], "another one goes");
});

test("a revision that a user removed meanwhile is ignored", async () => {
  await using cluster = await startCrowded();
  await passWhile(cluster, ({ metadata }) => cluster.kube.delete({ ...type.revision, name: metadata.name ?? "" }));
  assert.deepEqual(await states(cluster, "Function", "f"), ["3 Inactive", "2 Inactive"]);
  assert.deepEqual(
    cluster.takeEvents().filter((event) => event.startsWith("Warning")),
    [],
  );
});
