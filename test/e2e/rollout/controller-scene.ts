// SPDX-License-Identifier: Apache-2.0
// The controllers of rollouts alone, on either API server, with a clock of the suite's own: composite resources and functions are simulated, so
// that a rollout takes a fraction of a second and can be interrupted at each of its writes.
import assert from "node:assert/strict";
import { type Clock, parseGoDuration, silentLog, systemClock } from "@purlin/base";
import { compositionCrds, deriveCompositeCrd } from "@purlin/composition";
import {
  bucketOf,
  createRevisionResolver,
  createRolloutResolver,
  decidingRollout,
  isLiveRollout,
  isMember,
  type RolloutView,
  readRollout,
  ShadowStore,
  withheldAnnotation,
} from "@purlin/function-runner";
import { createInformerPool, createKubeClient, type InformerPool, type KubeClient } from "@purlin/kube-client";
import { type ControllerClient, createControllerClient, installCrds, noEvents } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  type KubeObject,
  keyText,
  numberAt,
  type ObjectKey,
  objectsAt,
  stringAt,
  type TypeRef,
  textsAt,
} from "@purlin/kube-objects/object";
import { functionCrds, policyMark, rolloutTemplateType, rolloutType } from "@purlin/package-manager";
import { type CallSamples, createCallSamples, rolloutAnnotations, rolloutControllers } from "@purlin/rollout";
import { startServer } from "../harness/server.ts";

const app = { apiVersion: "example.org/v1", kind: "App" };
const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const functionRevision = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const composition = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" };
const compositionRevision = { ...composition, kind: "CompositionRevision" };
const count = 4;
const names: readonly string[] = Array.from({ length: count }, (_, index) => `app-${index}`);
/** 08:01 UTC on 15 January 2027. */
const began = 1_800_000_060_000;
const turnMs = 20_000;

/** The death of a process at one of its writes, before or after the server has taken it. */
export interface Death {
  readonly atWrite: number;
  readonly mode: "lost" | "unanswered";
}

/** What a rollout is, and what people do with it. */
export interface RolloutStory {
  /** The spec of the rollout. Without it the Function has a policy, whose template has these steps. */
  readonly spec?: JsonObject;
  readonly template?: JsonObject;
  /** From this step on the candidate fails, until a person resumes the rollout. */
  readonly failsFrom?: number;
  /** Annotations that a person sets when a rollout has this status. */
  readonly person?: (status: JsonObject) => Readonly<Record<string, string>>;
  /** The person publishes another version of the package when this is true of the status. */
  readonly publishesWhen?: (status: JsonObject) => boolean;
}

/** Everything that interrupts a rollout. */
export interface Interruption {
  readonly death?: Death | undefined;
  /** Two processes look at the rollout in turns, as if leader election had failed. */
  readonly replicas?: 1 | 2;
  /** The turn at which another process takes over, with nothing of what the first one knew. */
  readonly handOverAt?: number | undefined;
  /** How far the wall clock jumps, in milliseconds, by turn. */
  readonly jumps?: Readonly<Record<number, number>> | undefined;
}

/** How a rollout ended. */
export interface Ended {
  /** The status of each rollout, the oldest first. */
  readonly statuses: readonly JsonObject[];
  /** The revisions that made each composite resource, in order. */
  readonly trails: readonly (readonly string[])[];
  /** The writes of the first process. */
  readonly writes: number;
  readonly turns: number;
  /** Whether a revision is withheld, by name. */
  readonly withheld: readonly string[];
}

/** An API server with composite resources, and rollouts that can be carried out on it one after the other. */
export interface ControllerScene extends AsyncDisposable {
  carryOut(story: RolloutStory, interruption?: Interruption): Promise<Ended>;
}

/** Starts the API server that the suite was asked to run on. */
export async function startControllerScene(): Promise<ControllerScene> {
  await using starting = new AsyncDisposableStack();
  const server = await startServer();
  starting.defer(() => server.stop());
  const kube = createKubeClient(await server.connect("users"));
  starting.defer(() => kube.close());
  const informers = createInformerPool(kube);
  starting.defer(() => informers.stop());
  await createPlatform(kube);
  // Each process would list and watch them again.
  const definition = { apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition" };
  const read = [app, functionType, functionRevision, composition, compositionRevision, definition, rolloutType];
  for (const type of [...read, rolloutTemplateType]) {
    const lease = informers.acquire(type);
    starting.defer(() => lease.release());
  }
  const closing = starting.move();
  let carried = 0;
  return {
    carryOut: (story, interruption = {}) => new Run({ kube, informers, story, id: ++carried }, interruption).end(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

async function createPlatform(kube: KubeClient): Promise<void> {
  const flags = { functionRevisionSelectors: true, functionRollouts: true };
  await installCrds(kube, [...compositionCrds(), ...functionCrds(flags)]);
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  const definition = await kube.create({
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: "apps.example.org" },
    spec: {
      group: "example.org",
      scope: "Cluster",
      names: { kind: "App", plural: "apps" },
      versions: [{ name: "v1", served: true, referenceable: true, schema }],
    },
  });
  await installCrds(kube, [deriveCompositeCrd(definition, { functionRevisions: true })]);
  await kube.create({ ...functionType, metadata: { name: "f" }, spec: { package: "example.org/a/f:v1" } });
  const pipeline = [{ step: "s", functionRef: { name: "f" } }];
  const made = { compositeTypeRef: app, mode: "Pipeline", pipeline };
  await kube.create({ ...composition, metadata: { name: "apps" }, spec: made });
  for (const revision of [1, 2]) {
    const labels = { "crossplane.io/composition-name": "apps" };
    const metadata = { name: `apps-${revision}`, labels };
    const created = await kube.create({ ...compositionRevision, metadata, spec: { ...made, revision } });
    await setStatus(kube, created, { conditions: [condition("ValidPipeline")] });
  }
  for (const [index, name] of names.entries()) {
    // Two of them are a cohort.
    const labels: Record<string, string> = index < 2 ? { tier: "canary" } : {};
    const crossplane = { compositionRef: { name: "apps" }, compositionRevisionRef: { name: "apps-1" } };
    await eventually("the kind is served", () =>
      kube.create({ ...app, metadata: { name, labels }, spec: { crossplane } }),
    );
  }
}

const condition = (type: string): JsonObject => ({
  type,
  status: "True",
  reason: "Fine",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

async function setStatus(kube: KubeClient, object: KubeObject, status: JsonObject): Promise<KubeObject> {
  return kube.update({ ...object, status }, { subresource: "status" });
}

class Dead extends Error {}

/** One process: both controllers, which share a client that may die. */
interface Process {
  readonly samples: CallSamples;
  readonly shadow: ShadowStore;
  isDead(): boolean;
  look(rollout: string): Promise<void>;
  lookAtPolicy(): Promise<void>;
  close(): Promise<void>;
}

interface RunParts {
  readonly kube: KubeClient;
  readonly informers: InformerPool;
  readonly story: RolloutStory;
  readonly id: number;
}

/** What a reconcile of a composite resource depends on. */
interface RunWorld {
  readonly rollouts: readonly KubeObject[];
  readonly revisions: readonly KubeObject[];
  readonly process: Process;
}

/** One rollout, or several that a policy starts, from the first look to the end. */
class Run {
  readonly #parts: RunParts;
  readonly #interruption: Interruption;
  readonly #woken = new Map<string, ObjectKey>();
  readonly #trails: ReadonlyMap<string, string[]>;
  readonly #done = new Set<string>();
  readonly #seen = new Map<string, JsonObject>();
  #now = began;
  #steady = 0;
  #writes = 0;
  #newest = 2;
  #isMended = false;

  constructor(parts: RunParts, interruption: Interruption) {
    this.#parts = parts;
    this.#interruption = interruption;
    const first = parts.story.spec?.["compositionRef"] === undefined ? "f-1" : "apps-1";
    this.#trails = new Map(names.map((name) => [name, [first]]));
  }

  async end(): Promise<Ended> {
    const { replicas = 1, death, handOverAt, jumps = {} } = this.#interruption;
    await this.#begin();
    let processes = [this.#process(death), ...(replicas === 2 ? [this.#process(undefined)] : [])];
    for (let turn = 0; turn < 400; turn++) {
      await this.#catchUp();
      this.#steady += turnMs;
      this.#now += turnMs + (jumps[turn] ?? 0);
      if (turn === handOverAt) {
        for (const left of processes.splice(0)) await left.close();
        processes.push(this.#process(undefined));
      }
      const current = processes[turn % processes.length] as Process;
      await this.#lookAtAll(current);
      if (current.isDead()) {
        await current.close();
        // What a process was about to do is lost with it.
        this.#woken.clear();
        processes = processes.map((one) => (one === current ? this.#process(undefined) : one));
      }
      const rollouts = await this.#rollouts();
      for (const rollout of rollouts) this.#observe(rollout, current);
      if (rollouts.length > 0 && !rollouts.map(readRollout).some(isLiveRollout) && !this.#publishes(rollouts)) {
        return await this.#finish(rollouts, { processes, turn });
      }
      for (const rollout of rollouts) await this.#act(rollout);
      if (this.#woken.size > 0) await this.#reconcileWoken(rollouts, current);
    }
    throw new Error(`rollout ${this.#parts.id} has not ended: ${JSON.stringify([...this.#seen])}`);
  }

  async #finish(
    rollouts: readonly KubeObject[],
    { processes, turn }: { readonly processes: readonly Process[]; readonly turn: number },
  ): Promise<Ended> {
    const { kube } = this.#parts;
    const writes = this.#writes;
    for (const one of processes) {
      // What is left to do after the end, a process does when its cache has the end.
      await this.#catchUp();
      await this.#lookAtAll(one);
      await one.close();
    }
    const left = await kube.list(functionRevision);
    const withheld = left.items.filter((one) => one.metadata.annotations?.[withheldAnnotation] !== undefined);
    for (const { metadata } of rollouts) await kube.delete({ ...rolloutType, name: metadata.name ?? "" });
    return {
      statuses: rollouts.map((one) => one["status"] as JsonObject),
      trails: [...this.#trails.values()],
      writes,
      turns: turn,
      withheld: withheld.map(({ metadata }) => metadata.name ?? ""),
    };
  }

  async #rollouts(): Promise<readonly KubeObject[]> {
    const { items } = await this.#parts.kube.list(rolloutType);
    return items.toSorted((a, b) => numberOf(a) - numberOf(b));
  }

  /** Everything is as before the first rollout. */
  async #begin(): Promise<void> {
    const { kube, story, id } = this.#parts;
    // A story that failed leaves its rollout behind.
    for (const { metadata } of await this.#rollouts()) await kube.delete({ ...rolloutType, name: metadata.name ?? "" });
    const { items } = await kube.list(functionRevision);
    if (items.length === 3) await kube.delete({ ...functionRevision, name: "f-3" });
    for (const number of items.length === 0 ? [1, 2] : []) await this.#publish(number, false);
    await this.#publishAgain(story.spec === undefined);
    for (const xr of (await kube.list(app)).items) {
      const ref = stringAt(xr, ["spec", "crossplane", "compositionRevisionRef", "name"]);
      const crossplane = { compositionRef: { name: "apps" }, compositionRevisionRef: { name: "apps-1" } };
      const stored = ref === "apps-1" ? xr : await kube.update({ ...xr, spec: { crossplane } });
      const [ran] = objectsAt(stored, ["status", "crossplane", "functionRevisions"]);
      if (ran === undefined || stringAt(ran, ["functionRevision"]) !== "f-1") await this.#write(stored, "f-1");
    }
    if (story.spec !== undefined) {
      await kube.create({ ...rolloutType, metadata: { name: `r-${id}` }, spec: story.spec });
      this.#seen.set(`r-${id}`, {});
      return;
    }
    const spec = story.template ?? {};
    await kube.create({ ...rolloutTemplateType, metadata: { name: `t-${id}` }, spec });
    const rolloutPolicy = { templateRef: { name: `t-${id}` } };
    await kube.patch({ ...functionType, name: "f" }, { spec: { rolloutPolicy } }, { type: "merge" });
  }

  /** A revision as the package manager makes it. With a policy it waits for its rollout. */
  async #publish(number: number, hasPolicy: boolean): Promise<void> {
    const { kube } = this.#parts;
    const annotations: Record<string, string> = hasPolicy ? { [withheldAnnotation]: policyMark } : {};
    const metadata = { name: `f-${number}`, labels: { "pkg.crossplane.io/package": "f" }, annotations };
    const spec = { desiredState: "Active", image: `example.org/a/f:v${number}`, revision: number };
    const made = await kube.create({ ...functionRevision, metadata, spec });
    const conditions = [condition("RuntimeHealthy")];
    await setStatus(kube, made, { endpoint: `f-${number}:9443`, capabilities: ["composition"], conditions });
    const owner = await kube.get(functionType, { name: "f" });
    await setStatus(kube, owner, { ...(owner["status"] as object), currentRevision: `f-${number}` });
  }

  /** The revision to roll out is as if it had just been made. */
  async #publishAgain(hasPolicy: boolean): Promise<void> {
    const { kube } = this.#parts;
    const annotations = { [withheldAnnotation]: hasPolicy ? policyMark : null };
    await kube.patch({ ...functionRevision, name: "f-2" }, { metadata: { annotations } }, { type: "merge" });
    const owner = await kube.get(functionType, { name: "f" });
    await setStatus(kube, owner, { ...(owner["status"] as object), currentRevision: "f-2" });
  }

  /**
   * Waits until the caches that all processes share hold what the server holds. The clock stands still meanwhile: a process with an old
   * cache would lose a turn, and a window could open before a rollout waits for it.
   */
  async #catchUp(): Promise<void> {
    const { kube, informers } = this.#parts;
    const cached = createControllerClient({ client: kube, informers });
    const catchUp = async (type: TypeRef): Promise<void> => {
      const { items } = await kube.list(type);
      const stored = versionsOf(items);
      const isCurrent = async () => versionsOf(await cached.list(type)) === stored;
      await eventually(`the cache of ${type.kind} is current`, isCurrent);
    };
    await Promise.all([rolloutType, app, functionRevision, functionType].map(catchUp));
    await cached.close();
  }

  #process(death: Death | undefined): Process {
    const { kube, informers } = this.#parts;
    const client = createControllerClient({ client: kube, informers });
    const samples = createCallSamples(() => this.#now);
    const shadow = new ShadowStore();
    let isDead = false;
    const write = async <T>(send: () => Promise<T>): Promise<T> => {
      if (isDead) throw new Dead();
      if (death !== undefined || this.#interruption.death === undefined) this.#writes++;
      if (death === undefined || this.#writes !== death.atWrite) return send();
      isDead = true;
      if (death.mode === "unanswered") await send();
      throw new Dead();
    };
    const mortal: ControllerClient = {
      ...client,
      update: (...args) => write(() => client.update(...args)),
      patch: (...args) => write(() => client.patch(...args)),
      create: (...args) => write(() => client.create(...args)),
    };
    const clock: Clock = { now: () => this.#now, schedule: systemClock.schedule };
    const [rollouts, policies] = rolloutControllers({
      client: mortal,
      engine: { enqueue: (_, key) => void this.#woken.set(keyText(key), key) },
      events: noEvents,
      clock,
      log: silentLog,
      samples,
      shadow,
      monotonic: () => this.#steady,
    });
    const guarded = async (look: () => Promise<unknown> | undefined): Promise<void> => {
      try {
        await look();
      } catch (error) {
        const isExpected = error instanceof Dead || isDead || /conflict|modified/i.test(String(error));
        if (!isExpected) throw error;
      }
    };
    const { signal } = new AbortController();
    return {
      samples,
      shadow,
      isDead: () => isDead,
      look: (name) => guarded(() => rollouts?.spec.reconcile({ name }, signal)),
      lookAtPolicy: () => guarded(() => policies?.spec.reconcile({ name: "f" }, signal)),
      close: () => client.close(),
    };
  }

  async #lookAtAll(process: Process): Promise<void> {
    if (this.#parts.story.spec === undefined) await process.lookAtPolicy();
    for (const name of this.#seen.keys()) await process.look(name);
  }

  /** Compares a status with the one before it: a step is left only when it has earned that. */
  #observe(rollout: KubeObject, judge: Process): void {
    const name = rollout.metadata.name ?? "";
    const after = (rollout["status"] ?? {}) as JsonObject;
    const before = this.#seen.get(name) ?? {};
    this.#seen.set(name, after);
    const [from, to] = [numberAt(before, ["currentStep"]), numberAt(after, ["currentStep"])];
    const isBack = ["RollingBack", "RolledBack"].includes(stringAt(after, ["phase"]));
    const [old, current] = [before, after].map((one) => numberAt(one, ["membership", "threshold"]));
    if (!isBack) assert.ok((current ?? 0) >= (old ?? 0), "membership only grows");
    assert.ok(to === from || to === from + 1, `step ${from} is followed by step ${to}`);
    const hasSucceeded = stringAt(after, ["phase"]) === "Succeeded" && stringAt(before, ["phase"]) !== "Succeeded";
    if (to > from || hasSucceeded) this.#assertEarned(rollout, { before, judge, hasSucceeded });
  }

  #assertEarned(
    rollout: KubeObject,
    { before, judge, hasSucceeded }: { before: JsonObject; judge: Process; hasSucceeded: boolean },
  ): void {
    const from = numberAt(before, ["currentStep"]);
    const step = objectsAt(rollout, ["spec", "steps"])[from] ?? {};
    const since = Date.parse(stringAt(before, ["stepStartedAt"]));
    const jumped = Object.keys(this.#interruption.jumps ?? {}).length > 0;
    const minimum = parseGoDuration(stringAt(step, ["minDuration"])) ?? 0;
    assert.ok(jumped || this.#now - since >= minimum, `step ${from} was left before its minDuration`);
    if (stringAt(step, ["approval"]) === "Manual" || step["pause"] === true) {
      const own = stringAt(step, ["name"]) || `step-${from + 1}`;
      const approved = textsAt(rollout, ["status", "approvedSteps"]);
      assert.ok(approved.includes(own), `step ${own} was left without its approval`);
    }
    if (step["shadow"] === true) {
      const { total } = judge.shadow.report(rollout.metadata.uid ?? "");
      assert.equal(total, count, "the shadow step was left before all were compared");
    }
    const candidate = stringAt(before, ["candidateRevision"]);
    const isMoving = numberAt(before, ["composites", "candidate"]) > 0 && candidate.startsWith("f-");
    // Gates of the process that decided had something to judge.
    if (isMoving)
      assert.ok(judge.samples.numbers([candidate], since).calls > 0, `step ${from} was left without a call`);
    const bake = parseGoDuration(stringAt(rollout, ["spec", "bakeTime"])) ?? 0;
    const baked = this.#now - Date.parse(stringAt(before, ["gatesPassedAt"]));
    if (hasSucceeded && bake > 0) assert.ok(jumped || baked >= bake, "the rollout succeeded before its bakeTime");
  }

  #publishes(rollouts: readonly KubeObject[]): boolean {
    const { publishesWhen } = this.#parts.story;
    return publishesWhen !== undefined && this.#newest === 2 && rollouts.length > 0;
  }

  async #act(rollout: KubeObject): Promise<void> {
    const { kube, story } = this.#parts;
    const { name = "" } = rollout.metadata;
    const status = (rollout["status"] ?? {}) as JsonObject;
    const wanted = Object.entries(story.person?.(status) ?? {}).filter(([key, value]) => {
      const isNew = !this.#done.has(`${name} ${key} ${value}`);
      this.#done.add(`${name} ${key} ${value}`);
      return isNew;
    });
    if (wanted.some(([key]) => key === rolloutAnnotations.resume)) this.#isMended = true;
    if (wanted.length > 0) {
      const annotations = Object.fromEntries(wanted);
      await kube.patch({ ...rolloutType, name }, { metadata: { annotations } }, { type: "merge" });
    }
    if (this.#newest === 2 && story.publishesWhen?.(status) === true) await this.#publish(++this.#newest, true);
  }

  /** Composite resources are reconciled: resolvers of the product decide on their revisions. */
  async #reconcileWoken(rollouts: readonly KubeObject[], process: Process): Promise<void> {
    const { kube } = this.#parts;
    const { items: revisions } = await kube.list(functionRevision);
    const { items: composites } = await kube.list(app);
    const ofComposition = decidingRollout(rollouts.map(readRollout).filter((one) => one.composition !== undefined));
    for (const { name } of this.#woken.values()) {
      const xr = composites.find(({ metadata }) => metadata.name === name);
      if (xr === undefined) continue;
      if (ofComposition === undefined) await this.#run(xr, { rollouts, revisions, process });
      else await this.#select(xr, ofComposition);
    }
    this.#woken.clear();
  }

  async #run(xr: KubeObject, { rollouts, revisions, process }: RunWorld): Promise<void> {
    const { uid = "", name = "" } = xr.metadata;
    const labels = xr.metadata.labels ?? {};
    const byRevision = createRevisionResolver(
      {
        get: async (wanted) => revisions.find(({ metadata }) => metadata.name === wanted),
        list: async () => revisions,
        withDigest: async () => [],
      },
      { revisionSelectors: true },
    );
    const resolver = createRolloutResolver(byRevision, { rollouts: { list: async () => rollouts } });
    const composite = { ...app, uid, name, labels, compositionLabels: {} };
    const { revisionName } = await resolver.resolve({ step: "s", functionName: "f", composite });
    const live = rollouts.map(readRollout).find(isLiveRollout);
    if (live !== undefined && !isMember(live, { uid, labels }) && bucketOf(live.uid, uid) < live.shadowThreshold) {
      process.shadow.add(live.uid, sameAnswer(xr, this.#now));
    }
    const step = numberAt(rollouts.at(-1) ?? {}, ["status", "currentStep"]);
    const isBroken = revisionName === "f-2" && step >= (this.#parts.story.failsFrom ?? 99) && !this.#isMended;
    const result = isBroken ? ("fatal" as const) : ("ok" as const);
    process.samples.record(revisionName, { at: this.#now, result, ms: 0, functionName: "f", composite: uid });
    const trail = this.#trails.get(name) ?? [];
    if (trail.at(-1) === revisionName) return;
    trail.push(revisionName);
    await this.#write(xr, revisionName);
  }

  /** As the controller of composite resources does under the policy Automatic. */
  async #select(xr: KubeObject, rollout: RolloutView): Promise<void> {
    const { name = "", uid = "" } = xr.metadata;
    const labels = xr.metadata.labels ?? {};
    const { stable = "", candidate } = rollout.composition ?? {};
    const wanted = candidate !== undefined && isMember(rollout, { uid, labels }) ? candidate : stable;
    const trail = this.#trails.get(name) ?? [];
    if (trail.at(-1) === wanted) return;
    trail.push(wanted);
    const crossplane = { compositionRef: { name: "apps" }, compositionRevisionRef: { name: wanted } };
    await this.#parts.kube.update({ ...xr, spec: { crossplane } });
  }

  async #write(xr: KubeObject, revision: string): Promise<void> {
    const crossplane = { functionRevisions: [{ step: "s", functionRevision: revision }] };
    await setStatus(this.#parts.kube, xr, { conditions: [condition("Synced")], crossplane });
  }
}

function versionsOf(objects: readonly KubeObject[]): string {
  const versions = objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  return versions.toSorted().join(", ");
}

function numberOf(rollout: KubeObject): number {
  return Number(rollout.metadata.name?.split("-").at(-1));
}

/** The report of a shadow run that found no difference. */
function sameAnswer({ apiVersion, kind, metadata }: KubeObject, now: number): Parameters<ShadowStore["add"]>[1] {
  const { name = "", uid = "" } = metadata;
  const at = new Date(now).toISOString();
  const composite = { apiVersion, kind, name, uid };
  return { composite, step: "s", class: "none", at, durationMs: 1, stableMs: 1, resources: [], differing: 0 };
}

/** What a person does who approves all that waits, and resumes what was paused. */
export function agreeable(status: JsonObject): Readonly<Record<string, string>> {
  const [step, token] = [stringAt(status, ["awaitingApproval"]), stringAt(status, ["pauseToken"])];
  return {
    ...(step !== "" && { [rolloutAnnotations.approve]: step }),
    ...(token !== "" && { [rolloutAnnotations.resume]: token }),
  };
}
