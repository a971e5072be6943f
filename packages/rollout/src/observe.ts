// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import { compositionKinds, functionRevisionType } from "@purlin/composition";
import { readRevision } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import { annotationOf, conditionOf, conditionsOf, type KubeObject, type TypeRef } from "@purlin/kube-objects/object";
import type { CallSamples } from "./call-samples.ts";
import { belongsToCandidate, type CompositeRow, factsOf } from "./composites.ts";
import type { Observation, SidesFound } from "./decide.ts";
import type { ExternalGates } from "./external-gates.ts";
import type { GateSamples, ShadowNumbers } from "./gates.ts";
import type { RolloutPlan } from "./plan.ts";
import { type RolloutState, statusFields } from "./state.ts";

/** Annotations through which people steer a rollout. */
export const rolloutAnnotations = {
  /** Names of approved steps, separated by commas. */
  approve: "pkg.crossplane.io/rollout-approve",
  /** The value of `status.pauseToken`. */
  resume: "pkg.crossplane.io/rollout-resume",
  /** Any value: the rollout moves everything back. */
  abort: "pkg.crossplane.io/rollout-abort",
} as const;

interface ObserveInput {
  readonly rollout: KubeObject;
  readonly plan: RolloutPlan;
  /** With the revisions that are about to be frozen. */
  readonly state: RolloutState;
  readonly rows: readonly CompositeRow[];
  readonly sides: SidesFound;
  readonly signal: AbortSignal;
}

interface ObserveDeps {
  readonly client: ControllerClient;
  readonly clock: Clock;
  readonly samples: CallSamples;
  readonly external: ExternalGates;
  readonly shadow?: ShadowSource | undefined;
  readonly jumps: JumpDetector;
  readonly outages: OutageWatch;
}

/** Collects what a rollout is decided on. */
export async function observe(
  { rollout, plan, state, rows, sides, signal }: ObserveInput,
  { client, clock, samples, external, shadow, jumps, outages }: ObserveDeps,
): Promise<Observation> {
  const facts = factsOf(rows, state);
  const uid = rollout.metadata.uid ?? "";
  const now = clock.now();
  const candidates = state.frozen.map(({ candidate }) => candidate).filter((one) => one !== "");
  const stables = state.frozen.map(({ stable }) => stable);
  const type = plan.composition === undefined ? functionRevisionType : compositionKinds.revision;
  const revisions = await revisionsOf(client, { type, names: [...candidates, ...stables], signal });
  const since = state.stepStartedAt ?? now;
  const body = () => ({
    rollout: rollout.metadata.name ?? "",
    ...statusFields(state, {
      isComposition: plan.composition !== undefined,
      generation: rollout.metadata.generation ?? 0,
    }),
  });
  const measured: Omit<GateSamples, "stepStartedAt" | "isShadowStep" | "hasShadowed"> = {
    now,
    members: facts.members.length,
    pendingMoves: facts.pendingMoves,
    ...shadowNumbers(uid, shadow, { rows, state }),
    candidateCalls: (from) => samples.numbers(candidates, from),
    stableCalls: (from) => samples.numbers(stables, from),
    moved: facts.moved,
    stayed: facts.stayed,
    watchedMs: outages.watchedMs(uid),
    runtime: outages.see(uid, {
      candidates: candidates.map((one) => revisions.get(one)),
      stables: stables.map((one) => revisions.get(one)),
    }),
    external: (gate) => external.answer(gate, { rolloutUid: uid, since, body }),
  };
  return {
    now,
    jumpMs: jumps.sinceLast(uid),
    sides,
    lost: [...revisions].filter(([, one]) => isLost(one)).map(([one]) => one),
    composites: facts.numbers,
    lowestBucket: facts.lowestBucket,
    leftBehind: facts.leftBehind.length,
    samples: measured,
    approvals: (annotationOf(rollout, rolloutAnnotations.approve) ?? "").split(",").map((one) => one.trim()),
    resumeToken: annotationOf(rollout, rolloutAnnotations.resume),
    isAborted: annotationOf(rollout, rolloutAnnotations.abort) !== undefined,
  };
}

/** CompositionRevisions are not switched off. */
function isLost(revision: KubeObject | undefined): boolean {
  if (revision === undefined) return true;
  return revision.kind === functionRevisionType.kind && !readRevision(revision).isActive;
}

async function revisionsOf(
  client: ControllerClient,
  { type, names, signal }: { readonly type: TypeRef; readonly names: readonly string[]; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, KubeObject | undefined>> {
  const found = await Promise.all(names.map((one) => client.get(type, { name: one }, { signal })));
  return new Map(names.map((one, index) => [one, found[index]]));
}

/** The revisions of both sides of a rollout, one for each function; undefined for those that do not exist. */
interface SideRevisions {
  readonly candidates: readonly (KubeObject | undefined)[];
  readonly stables: readonly (KubeObject | undefined)[];
}

/**
 * Tracks for how long this process has observed a rollout, for how long the runtime of the candidate has not been healthy, and how often the
 * runtimes of both sides went down.
 */
export interface OutageWatch {
  /** To be asked at each look. */
  watchedMs(rolloutUid: string): number;
  /** The health of the runtimes of all candidates of a rollout: that of the worst. */
  see(rolloutUid: string, revisions: SideRevisions): GateSamples["runtime"];
  forget(rolloutUid: string): void;
}

/**
 * Counts from the first look at an outage, with a clock that never jumps: the time in the condition may be that of a control plane
 * that was killed meanwhile, whose functions went with it.
 */
export function createOutageWatch({ monotonic = () => performance.now() }: Pick<JumpDeps, "monotonic">): OutageWatch {
  const seen = new Map<string, { readonly outage: string; readonly at: number }>();
  const first = new Map<string, number>();
  const counts = new Map<string, OutageCounts>();
  const countsOf = (uid: string): OutageCounts => {
    const found = counts.get(uid) ?? new Map();
    counts.set(uid, found);
    return found;
  };
  return {
    watchedMs(uid) {
      const at = first.get(uid) ?? monotonic();
      first.set(uid, at);
      return monotonic() - at;
    },
    see(uid, { candidates, stables }) {
      const known = countsOf(uid);
      const now = monotonic();
      for (const one of [...candidates, ...stables]) if (one !== undefined) countOutage(known, one, now);
      const outages = (withinMs: number) => ({
        candidate: mostOutages(known, candidates, now - withinMs),
        stable: mostOutages(known, stables, now - withinMs),
      });
      const conditions = candidates.map((one) =>
        conditionOf(one === undefined ? [] : conditionsOf(one), "RuntimeHealthy"),
      );
      const worst = conditions.find(({ status }) => status !== "True");
      if (worst === undefined) {
        seen.delete(uid);
        return { status: candidates.length > 0 ? "True" : "Unknown", forMs: 0, message: "", outages };
      }
      const { status, message = "", lastTransitionTime: outage = "" } = worst;
      const before = seen.get(uid);
      const at = before?.outage === outage ? before.at : now;
      seen.set(uid, { outage, at });
      return { status: status === "False" ? "False" : "Unknown", forMs: now - at, message, outages };
    },
    forget(uid) {
      seen.delete(uid);
      first.delete(uid);
      counts.delete(uid);
    },
  };
}

/** What was seen of the runtimes of a rollout, by the names of their revisions. */
type OutageCounts = Map<string, SeenRuntime>;

interface SeenRuntime {
  readonly isUp: boolean;
  /** The transition time of the condition. */
  readonly since: string;
  /** When the last outages were noticed, the newest last. */
  readonly outages: readonly number[];
}

const keptOutages = 16;

/** Counts an outage of a runtime that was up before. One that ended between two looks shows in the transition time. */
function countOutage(known: OutageCounts, revision: KubeObject, now: number): void {
  const { status, lastTransitionTime: since = "" } = conditionOf(conditionsOf(revision), "RuntimeHealthy");
  const isUp = status === "True";
  const name = revision.metadata.name ?? "";
  const before = known.get(name);
  // A runtime that was never up is starting for the first time.
  if (before === undefined && !isUp) return;
  const isNew = before !== undefined && before.since !== since && (before.isUp || !isUp);
  const outages = isNew ? [...before.outages, now].slice(-keptOutages) : (before?.outages ?? []);
  known.set(name, { isUp, since, outages });
}

/** The outages since a time of the runtime that had most. */
function mostOutages(known: OutageCounts, revisions: readonly (KubeObject | undefined)[], since: number): number {
  const counts = revisions.map(
    (one) => known.get(one?.metadata.name ?? "")?.outages.filter((at) => at >= since).length,
  );
  return Math.max(0, ...counts.map((one) => one ?? 0));
}

/** Notices that the wall clock jumped. */
export interface JumpDetector {
  /** How far the wall clock jumped between the last two looks at a rollout. */
  sinceLast(rolloutUid: string): number;
  forget(rolloutUid: string): void;
}

interface JumpDeps {
  readonly clock: Pick<Clock, "now">;
  /** In milliseconds. */
  readonly monotonic?: (() => number) | undefined;
}

/** Compares the wall clock with one that never jumps. */
export function createJumpDetector({ clock, monotonic = () => performance.now() }: JumpDeps): JumpDetector {
  const last = new Map<string, { readonly wall: number; readonly steady: number }>();
  return {
    sinceLast(uid) {
      const before = last.get(uid);
      const seen = { wall: clock.now(), steady: monotonic() };
      last.set(uid, seen);
      if (before === undefined) return 0;
      const jump = seen.wall - before.wall - (seen.steady - before.steady);
      return Math.abs(jump) > 2000 ? Math.round(jump) : 0;
    },
    forget: (uid) => void last.delete(uid),
  };
}

/** The worst difference that a shadow run found for a composite resource. */
type ShadowClass = "none" | "cosmetic" | "slower" | "change" | "replace" | "delete" | "fatal" | "error";

/** What was found for a composite resource. */
interface ShadowFinding {
  readonly composite: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly uid: string;
  };
  readonly class: ShadowClass;
  readonly message?: string | undefined;
  readonly resources: readonly { readonly resource: string; readonly kind: string; readonly class: string }[];
}

/** Where reports of shadow runs are read from. */
export interface ShadowSource {
  report(rolloutUid: string): { readonly total: number; readonly classes: Readonly<Record<ShadowClass, number>> };
  /** The worst first. */
  details(rolloutUid: string): readonly ShadowFinding[];
  has(rolloutUid: string, compositeUid: string): boolean;
  forget(rolloutUid: string): void;
  /** Forgets all rollouts but these. */
  retainRollouts(rolloutUids: readonly string[]): void;
  /** Forgets all composite resources of a rollout but these. */
  retainComposites(rolloutUid: string, composites: readonly { readonly uid: string }[]): void;
}

const exampleLimit = 10;
const statusComposites = 200;
const statusResources = 5;
/** The characters of all composite resources in a status. */
const statusBytes = 100_000;

/** The report for the status of a rollout: bounded, the worst first. Undefined before the first comparison. */
export function shadowStatus(rolloutUid: string, shadow: ShadowSource | undefined): JsonObject | undefined {
  const report = shadow?.report(rolloutUid);
  if (shadow === undefined || report === undefined || report.total === 0) return undefined;
  const changed = shadow.details(rolloutUid).filter((one) => one.class !== "none");
  let left = statusBytes;
  const composites = changed.slice(0, statusComposites).map(statusEntry);
  return {
    compared: report.total,
    classes: Object.fromEntries(Object.entries(report.classes).filter(([, count]) => count > 0)),
    composites: composites.filter((one) => {
      left -= printJson(one).length;
      return left >= 0;
    }),
  };
}

function statusEntry({ composite, class: kind, message, resources }: ShadowFinding): JsonObject {
  return {
    apiVersion: composite.apiVersion,
    kind: composite.kind,
    ...(composite.namespace !== undefined && composite.namespace !== "" && { namespace: composite.namespace }),
    name: composite.name,
    class: kind,
    ...(message !== undefined && { message: message.slice(0, 256) }),
    resources: resources
      .filter((one) => one.class !== "none")
      .slice(0, statusResources)
      .map((one) => ({ resource: one.resource, kind: one.kind, class: one.class })),
  };
}

/** The numbers of shadow runs for gates. */
export function shadowNumbers(
  rolloutUid: string,
  shadow: ShadowSource | undefined,
  { rows, state }: { readonly rows: readonly CompositeRow[]; readonly state: RolloutState },
): Pick<GateSamples, "shadow" | "pendingShadows"> {
  const due = rows.filter(
    (row) => row.isMovable && row.bucket < state.shadowThreshold && !belongsToCandidate(row, state),
  );
  const pendingShadows = due.filter(({ uid, isSynced }) => isSynced && shadow?.has(rolloutUid, uid) !== true).length;
  const report = shadow?.report(rolloutUid);
  if (shadow === undefined || report === undefined || report.total === 0) return { shadow: undefined, pendingShadows };
  const { classes } = report;
  const kinds: Readonly<Record<Parameters<ShadowNumbers["examples"]>[0], readonly ShadowClass[]>> = {
    delete: ["delete"],
    replace: ["replace"],
    change: ["change"],
    failed: ["fatal", "error"],
  };
  return {
    pendingShadows,
    shadow: {
      compared: report.total,
      deleted: classes.delete,
      replaced: classes.replace,
      changed: classes.change,
      failed: classes.fatal + classes.error,
      examples: (kind) =>
        shadow
          .details(rolloutUid)
          .filter((one) => kinds[kind].includes(one.class))
          .slice(0, exampleLimit)
          .map(({ composite }) => (composite.namespace ? `${composite.namespace}/${composite.name}` : composite.name)),
    },
  };
}
