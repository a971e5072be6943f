// SPDX-License-Identifier: Apache-2.0
// Random package upgrades, with and without rollouts: real controller and resolvers, restarts, failures, label edits, aborted and deleted rollouts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@purlin/base";
import {
  createRevisionResolver,
  createRolloutResolver,
  decidingRollout,
  type FunctionResolver,
  isLiveRollout,
  isMember,
  type RolloutView,
  readRevision,
  readRollout,
  revisionsToKeep,
  withheldAnnotation,
} from "@purlin/function-runner";
import { annotationOf, type KubeObject, numberAt, stringAt } from "@purlin/kube-objects/object";
import { policyMark, rolloutType } from "@purlin/package-manager";
import { functionRevision, memoryCluster, rolloutOf } from "../test/memory-cluster.ts";
import { createCallSamples } from "./call-samples.ts";
import { rolloutAnnotations } from "./observe.ts";

/** Numbers that a seed decides. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

const app = { apiVersion: "example.org/v1", kind: "App" };
const revisionKind = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const steps = [{ percent: 30 }, { cohort: { matchLabels: { tier: "canary" } } }, { percent: 100 }];

class World {
  readonly random: () => number;
  readonly cluster = memoryCluster(6);
  readonly client = this.cluster.client();
  readonly #resolver: FunctionResolver;
  readonly broken = new Set<string>();
  /** Candidates that a rollout moved back from, and none was started with since. */
  readonly rejected = new Set<string>();
  now = 1_800_000_000_000;
  newest = 2;
  rollouts = 0;
  samples = createCallSamples(() => this.now);
  look: (rollout: string) => Promise<unknown>;

  constructor(seed: number) {
    this.random = randomOf(seed);
    const { client } = this;
    // Only the first revision is installed.
    this.cluster.remove("FunctionRevision", "f-2");
    this.newest = 1;
    const revisions = createRevisionResolver(
      {
        get: (name) => client.get(revisionKind, { name }),
        list: (labels) => client.list(revisionKind, { labels: Object.fromEntries(labels) }),
        withDigest: async () => [],
      },
      { revisionSelectors: true },
    );
    this.#resolver = createRolloutResolver(revisions, { rollouts: { list: () => client.list(rolloutType) } });
    this.look = this.#start();
  }

  #start(): (rollout: string) => Promise<unknown> {
    this.samples = createCallSamples(() => this.now);
    const clock = { now: () => this.now, schedule: systemClock.schedule };
    return this.cluster.controller({ clock, monotonic: () => this.now, samples: this.samples });
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  async views(): Promise<readonly RolloutView[]> {
    return (await this.client.list(rolloutType)).map(readRollout);
  }

  annotate(kind: string, name: string, annotation: string, value: string): void {
    const object = this.cluster.get(kind, name);
    if (object === undefined) return;
    const annotations = { ...object.metadata.annotations, [annotation]: value };
    this.cluster.put({ ...object, metadata: { ...object.metadata, annotations } });
  }

  /** A new version of the package: by a rolloutPolicy, into a rollout that waits for it, or without any rollout. */
  async upgrade(): Promise<void> {
    const how = this.random();
    const number = ++this.newest;
    const name = `f-${number}`;
    const live = (await this.views()).filter(isLiveRollout);
    if (how < 0.4) {
      for (const { name: older } of live)
        this.annotate("FunctionRollout", older, rolloutAnnotations.abort, "superseded");
      const revision = functionRevision(number);
      const metadata = { ...revision.metadata, annotations: { [withheldAnnotation]: policyMark } };
      this.cluster.put({ ...revision, metadata });
      this.rollOut({ candidate: { functionRevisionRef: { name } } });
    } else {
      if (how < 0.8 && live.length === 0) await this.lookAt(this.rollOut({}));
      this.cluster.put(functionRevision(number));
    }
    if (this.chance(0.3)) this.broken.add(name);
  }

  rollOut(sides: object): string {
    const name = `r-${this.rollouts++}`;
    const made = rolloutOf(name, { steps, progressDeadline: "1h", ...sides });
    const creationTimestamp = new Date(this.now + this.rollouts).toISOString();
    this.cluster.put({ ...made, metadata: { ...made.metadata, creationTimestamp } });
    return name;
  }

  /** As the package manager does with a limit of one: the newest stays active, and what rollouts need. */
  async deactivate(): Promise<void> {
    const kept = new Set((await this.views()).flatMap((view) => revisionsToKeep(view, "f")));
    const all = await this.client.list(revisionKind);
    const serving = all.filter((one) => !readRevision(one).isWithheld).toSorted((a, b) => numberOf(b) - numberOf(a))[0];
    for (const one of all) {
      const name = one.metadata.name ?? "";
      if (kept.has(name) || one === serving || name === `f-${this.newest}`) continue;
      if (readRevision(one).isActive)
        this.cluster.put({ ...one, spec: { ...(one["spec"] as object), desiredState: "Inactive" } });
    }
  }

  /** A composite resource is reconciled; the revision that runs must be one that the rules allow. */
  async reconcile(xr: KubeObject): Promise<void> {
    const { uid = "", name = "" } = xr.metadata;
    const labels = xr.metadata.labels ?? {};
    const composite = { ...app, uid, name, labels, compositionLabels: {} };
    const { revisionName } = await this.#resolver.resolve({ step: "s", functionName: "f", composite });
    const revision = this.cluster.get("FunctionRevision", revisionName);
    const views = await this.views();
    const mark = revision && annotationOf(revision, withheldAnnotation);
    const owner = views.find((one) => one.name === mark);
    if (mark !== undefined) {
      const isAllowed = owner?.functions.get("f")?.candidate === revisionName && isMember(owner, { uid, labels });
      assert.ok(isAllowed, `${name} runs ${revisionName}, which ${mark} withholds`);
    }
    assert.ok(!this.rejected.has(revisionName), `${name} runs ${revisionName}, which was rejected`);
    const fails = this.broken.has(revisionName);
    this.samples.record(revisionName, {
      at: this.now,
      result: fails ? "error" : "ok",
      ms: 1,
      functionName: "f",
      composite: uid,
    });
    const status = {
      conditions: [{ type: "Synced", status: fails ? "False" : "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
      crossplane: { functionRevisions: [{ step: "s", functionRevision: revisionName }] },
    };
    this.cluster.put({
      ...xr,
      status: fails ? { ...(xr["status"] as object), conditions: status.conditions } : status,
    });
  }

  /** The revision that each composite resource would run now, by name; those that none can run for are left out. */
  async placements(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const { metadata } of await this.client.list(app)) {
      const { uid = "", name = "" } = metadata;
      const composite = { ...app, uid, name, labels: metadata.labels ?? {}, compositionLabels: {} };
      const target = await this.#resolver.resolve({ step: "s", functionName: "f", composite }).catch(() => undefined);
      if (target !== undefined) found.set(name, target.revisionName);
    }
    return found;
  }

  /** The controller looks at a rollout. One that finds its revisions takes over where the one before it left everything. */
  async lookAt(name: string): Promise<void> {
    const sidesOf = (): string =>
      stringAt(this.cluster.get("FunctionRollout", name) ?? {}, ["status", "stableRevision"]);
    const isNew = sidesOf() === "";
    const before = isNew ? await this.placements() : undefined;
    await this.look(name);
    if (before === undefined || sidesOf() === "") return;
    const view = readRollout(this.cluster.get("FunctionRollout", name) ?? {});
    const after = await this.placements();
    for (const { metadata } of await this.client.list(app)) {
      const { uid = "", name: composite = "" } = metadata;
      if (isMember(view, { uid, labels: metadata.labels ?? {} })) continue;
      const earlier = before.get(composite);
      if (earlier === undefined) continue;
      assert.equal(after.get(composite), earlier, `${name} begins, and moves ${composite}, which is not a member`);
    }
  }

  async turn(): Promise<void> {
    this.now += 20_000;
    if (this.chance(0.1)) this.look = this.#start();
    for (const { name } of await this.client.list(rolloutType).then((all) => all.map(({ metadata }) => metadata))) {
      await this.lookAt(name ?? "");
    }
    for (const view of await this.views()) {
      const { candidate } = view.functions.get("f") ?? {};
      if (candidate === undefined) continue;
      if (view.phase === "RollingBack" || view.phase === "RolledBack") this.rejected.add(candidate);
    }
    for (const xr of await this.client.list(app)) if (this.chance(0.7)) await this.reconcile(xr);
    await this.deactivate();
  }

  async disturb(): Promise<void> {
    if (this.chance(0.08)) await this.upgrade();
    const views = await this.views();
    const one = views[Math.floor(this.random() * views.length)];
    if (one !== undefined && this.chance(0.02))
      this.annotate("FunctionRollout", one.name, rolloutAnnotations.abort, "x");
    if (one !== undefined && !isLiveRollout(one) && this.chance(0.1)) this.cluster.remove("FunctionRollout", one.name);
    const all = await this.client.list(app);
    const xr = all[Math.floor(this.random() * all.length)];
    if (xr === undefined || !this.chance(0.1)) return;
    const labels: Record<string, string> = this.chance(0.5) ? { tier: "canary" } : {};
    this.cluster.put({ ...xr, metadata: { ...xr.metadata, labels } });
  }
}

function numberOf(revision: KubeObject): number {
  return numberAt(revision, ["spec", "revision"]);
}

test("package upgrades: no composite resource runs a revision that the rules do not allow, and all end where the outcome says", async () => {
  const ends = new Map<string, number>();
  for (let seed = 1; seed <= 60; seed++) {
    const world = new World(seed);
    for (let turn = 0; turn < 60; turn++) {
      await world.disturb();
      await world.turn();
    }
    // From now on nothing else happens. A rollout that waits for a revision gets one.
    for (let turn = 0; turn < 300; turn++) {
      await world.turn();
      const live = (await world.views()).filter(isLiveRollout);
      if (live.length === 0) break;
      if (live.some(({ functions }) => functions.get("f")?.candidate === undefined) && turn % 20 === 5) {
        world.cluster.put(functionRevision(++world.newest));
      }
    }
    const views = await world.views();
    const open = views.filter(isLiveRollout).map(({ name }) => {
      const rollout = world.cluster.get("FunctionRollout", name) ?? {};
      return `${name} ${JSON.stringify(rollout["status" as never] ?? {})}`;
    });
    assert.deepEqual(open, [], `seed ${seed}: every rollout ends`);
    const deciding = decidingRollout(views.filter(({ functions }) => functions.has("f")));
    const sides = deciding?.functions.get("f");
    const outcome = deciding?.phase === "Succeeded" ? sides?.candidate : sides?.stable;
    ends.set(deciding?.phase ?? "none", (ends.get(deciding?.phase ?? "none") ?? 0) + 1);
    for (const xr of await world.client.list(app)) {
      await world.reconcile(xr);
      const after = world.cluster.get("App", xr.metadata.name ?? "") ?? {};
      const ran = stringAt(
        (after as { status: { crossplane: { functionRevisions: [object] } } }).status.crossplane.functionRevisions[0],
        ["functionRevision"],
      );
      if (outcome !== undefined && !world.broken.has(outcome))
        assert.equal(ran, outcome, `seed ${seed}: ${xr.metadata.name}`);
    }
  }
  assert.ok((ends.get("Succeeded") ?? 0) > 5 && (ends.get("RolledBack") ?? 0) > 5, JSON.stringify([...ends]));
});
