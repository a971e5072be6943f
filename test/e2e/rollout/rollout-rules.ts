// SPDX-License-Identifier: Apache-2.0
// Watches rollouts and buckets as a user does, and notes each change that the rules of rollouts forbid, whatever happens to the control plane.
import assert from "node:assert/strict";
import { parseGoDuration } from "@purlin/base";
import { bucketOf } from "@purlin/function-runner";
import { type KubeClient, startInformer } from "@purlin/kube-client";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import {
  type KubeObject,
  memberAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  textsAt,
} from "@purlin/kube-objects/object";
import { bucketType } from "./bucket-scene.ts";
import { compositeText } from "./kinds.ts";

export const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };

/** What was seen of rollouts and buckets. */
export interface RolloutRules extends AsyncDisposable {
  /** Counts the ways of buckets from here. Returns what all of them are made by. */
  forgetWays(): string;
  /** The ways that buckets went, without repetitions. */
  ways(): readonly string[];
  /** The decisions of a rollout, also those that its status does not keep. */
  decisions(name: string): readonly string[];
  /** Throws when a rule was broken. */
  assertKept(): void;
}

/** A bucket that is made by something else than before. */
interface Move {
  readonly bucket: KubeObject;
  readonly from: string;
  readonly to: string;
}

interface Seen {
  readonly broken: string[];
  /** All versions of each rollout, by UID. */
  readonly rollouts: Map<string, KubeObject[]>;
  readonly moves: Move[];
  readonly ways: Map<string, string[]>;
  /** The last version of each bucket. */
  readonly made: Map<string, string>;
}

/** Begins to watch. */
export async function watchRules(users: KubeClient): Promise<RolloutRules> {
  const seen: Seen = { broken: [], rollouts: new Map(), moves: [], ways: new Map(), made: new Map() };
  const rollouts = startInformer(users, rolloutType);
  const buckets = startInformer(users, bucketType);
  await Promise.all([rollouts.synced(), buckets.synced()]);
  rollouts.subscribe(({ type, object }) => {
    if (type !== "deleted") seeRollout(object, seen);
  });
  buckets.subscribe(({ object }) => seeBucket(object, seen));
  return {
    forgetWays() {
      seen.ways.clear();
      seen.moves.length = 0;
      for (const [name, made] of seen.made) seen.ways.set(name, [made]);
      const all = new Set(seen.made.values());
      assert.equal(all.size, 1, `buckets are made by ${[...all].join("; ")}`);
      return [...all][0] ?? "";
    },
    ways: () => [...new Set([...seen.ways.values()].map((way) => way.join(", ")))].toSorted(),
    decisions: (name) => decisionsOf(versionsOf(name, seen)),
    assertKept() {
      assert.deepEqual([...seen.broken, ...seen.moves.flatMap((move) => unearned(move, seen))], []);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([rollouts.stop(), buckets.stop()]);
    },
  };
}

function versionsOf(name: string, { rollouts }: Seen): readonly KubeObject[] {
  return [...rollouts.values()].flat().filter(({ metadata }) => metadata.name === name);
}

function decisionsOf(versions: readonly KubeObject[]): readonly string[] {
  const entries = new Map<string, string>();
  for (const entry of versions.flatMap((one) => objectsAt(one, ["status", "history"]))) {
    const decision = stringAt(entry, ["decision"]);
    entries.set(`${stringAt(entry, ["time"])} ${numberAt(entry, ["step"])} ${decision}`, decision);
  }
  return [...entries.values()];
}

function seeBucket(bucket: KubeObject, { ways, moves, made }: Seen): void {
  const { spec, status } = compositeText(bucket);
  const revision = status?.crossplane?.functionRevisions?.[0]?.functionRevision ?? "";
  const to = `${revision} ${spec.crossplane?.compositionRevisionRef?.name ?? ""}`;
  const name = bucket.metadata.name ?? "";
  const from = made.get(name) ?? to;
  made.set(name, to);
  const way = ways.get(name) ?? [];
  ways.set(name, way.at(-1) === to ? way : [...way, to]);
  if (from !== to) moves.push({ bucket, from, to });
}

const versionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion);
const isBack = (rollout: KubeObject): boolean => /^Roll(ing|ed)Back$/.test(stringAt(rollout, ["status", "phase"]));

/** A bucket moves after the status of a rollout says so. Resource versions count all writes of a server. */
function unearned({ bucket, from, to }: Move, { rollouts }: Seen): readonly string[] {
  const earlier = [...rollouts.values()].flat().filter((one) => versionOf(one) < versionOf(bucket));
  const named = (rollout: KubeObject, side: string, text: string): boolean => {
    const revision = stringAt(rollout, ["status", side]);
    return revision !== "" && text.split(" ").includes(revision);
  };
  const isEarned = earlier.some((one) =>
    named(one, "candidateRevision", to)
      ? belongs(one, bucket)
      : isBack(one) && named(one, "candidateRevision", from) && named(one, "stableRevision", to),
  );
  return isEarned ? [] : [`bucket ${bucket.metadata.name} went from ${from} to ${to} without a decision`];
}

/** Whether the status of a rollout places a bucket on the candidate: by its share, or by the labels of a cohort. */
function belongs(rollout: KubeObject, { metadata: { uid = "", labels } }: KubeObject): boolean {
  const membership = objectAt(rollout, ["status", "membership"]);
  const isChosen = bucketOf(rollout.metadata.uid ?? "", uid) < numberAt(membership, ["threshold"]);
  return (
    isChosen ||
    objectsAt(membership, ["cohorts"]).some((cohort) =>
      Object.entries(objectAt(cohort, ["matchLabels"])).every(([key, value]) => labels?.[key] === value),
    )
  );
}

function seeRollout(rollout: KubeObject, { broken, rollouts }: Seen): void {
  const { uid = "", name } = rollout.metadata;
  const versions = rollouts.get(uid) ?? [];
  const before = versions.at(-1);
  rollouts.set(uid, [...versions, rollout]);
  if (before === undefined) return;
  const found = brokenRules(before, rollout);
  broken.push(...found.map((text) => `rollout ${name}: ${text}`));
}

/** The rules that the way from one version of a rollout to the next one breaks. */
function brokenRules(before: KubeObject, after: KubeObject): readonly string[] {
  const [from, to] = [before, after].map((one) => numberAt(one, ["status", "currentStep"])) as [number, number];
  const [old, current] = [before, after].map((one) => numberAt(one, ["status", "membership", "threshold"]));
  const [phase, next] = [before, after].map((one) => stringAt(one, ["status", "phase"]));
  const approved = textsAt(after, ["status", "approvedSteps"]);
  const lost = textsAt(before, ["status", "approvedSteps"]).filter((one) => !approved.includes(one));
  const cohorts = objectsAt(before, ["status", "membership", "cohorts"]).length;
  const left = objectsAt(after, ["status", "membership", "cohorts"]).length;
  const hasSucceeded = next === "Succeeded" && phase !== "Succeeded";
  return [
    ...(to === from || to === from + 1 ? [] : [`step ${from + 1} is followed by step ${to + 1}`]),
    ...(isBack(after) || (current ?? 0) >= (old ?? 0) ? [] : [`membership shrinks from ${old} to ${current}`]),
    ...(isBack(after) || left >= cohorts ? [] : ["a cohort is left"]),
    ...(isBack(before) && !isBack(after) ? [`a rollback is followed by ${next}`] : []),
    ...(phase === "Succeeded" && next !== phase ? [`a success is followed by ${next}`] : []),
    ...(lost.length === 0 ? [] : [`the approval of ${lost.join()} is lost`]),
    ...sidesChanged(before, after),
    ...(to > from || hasSucceeded ? unearnedStep(before, after, { from, hasSucceeded }) : []),
  ];
}

function sidesChanged(before: KubeObject, after: KubeObject): readonly string[] {
  if (stringAt(before, ["status", "startedAt"]) === "") return [];
  return ["stableRevision", "candidateRevision"]
    .filter((side) => stringAt(before, ["status", side]) !== stringAt(after, ["status", side]))
    .map((side) => `its ${side} changes`);
}

const timeAt = (object: JsonObject, field: string): number => Date.parse(stringAt(object, ["status", field]));
const durationAt = (object: JsonObject, field: string): number => parseGoDuration(stringAt(object, [field])) ?? 0;

/** What a step lacked that is done: its time, its approval, its gates, the window of the next step, or the bake time. */
function unearnedStep(
  before: KubeObject,
  after: KubeObject,
  { from, hasSucceeded }: { readonly from: number; readonly hasSucceeded: boolean },
): readonly string[] {
  const steps = objectsAt(after, ["spec", "steps"]);
  const step = steps[from] ?? {};
  const { moved, total } = objectAt(after, ["status", "composites"]);
  const name = stringAt(step, ["name"]) || `step-${from + 1}`;
  const ended = hasSucceeded ? timeAt(after, "completedAt") : timeAt(after, "stepStartedAt");
  const needsApproval = step["approval"] === "Manual" || step["pause"] === true;
  const window = memberAt(steps[from + 1] ?? {}, ["window"]) ?? memberAt(after, ["spec", "window"]);
  const message = stringAt(objectsAt(after, ["status", "history"]).at(-1) ?? {}, ["message"]);
  const gates = objectsAt(after, ["spec", "healthGates"]).map((gate) => stringAt(gate, ["type"]));
  const unjudged = gates.filter((gate) => !passedText(gate, step, total).test(message));
  const lacks = [
    ...(ended - timeAt(before, "stepStartedAt") >= durationAt(step, "minDuration") ? [] : ["its minDuration"]),
    ...(!needsApproval || textsAt(after, ["status", "approvedSteps"]).includes(name) ? [] : ["its approval"]),
    ...unjudged.map((gate) => `its gate ${gate}`),
    ...(hasSucceeded || !isJsonObject(window) || isOpen(window, ended) ? [] : ["the window of the next step"]),
  ];
  const baked = hasSucceeded ? ended - timeAt(after, "gatesPassedAt") : Number.POSITIVE_INFINITY;
  return [
    ...lacks.map((what) => `step ${name} is left without ${what}: ${message}`),
    ...(baked >= durationAt(objectAt(after, ["spec"]), "bakeTime") ? [] : ["it succeeds before its bakeTime"]),
    ...(hasSucceeded && moved !== total ? [`it succeeds with ${String(moved)} of ${String(total)} moved`] : []),
  ];
}

/** What a decision says of a gate that passed: that it had something to judge. */
function passedText(gate: string, step: JsonObject, total: unknown): RegExp {
  const compared = step["shadow"] === true ? `${String(total)} compared: 0 delete` : "";
  const texts: Readonly<Record<string, string>> = {
    RuntimeHealthy: "the candidate is healthy",
    CompositeCondition: step["shadow"] === true ? "nothing has moved" : "Synced=True: moved 100.0 %",
    DesiredDiff: compared,
  };
  return new RegExp(`${gate}: ${texts[gate] ?? ""}(?![^;]*; \\d+ not compared)`);
}

/** Whether a time is in a window of at most an hour, whose schedule names hour, day and month or leaves them open. */
function isOpen(window: JsonObject, time: number): boolean {
  const [minute = "", hour, day, month] = stringAt(window, ["schedule"]).split(" ");
  const date = new Date(time);
  const isSo = (field: string | undefined, value: number): boolean => field === "*" || Number(field) === value;
  const late = date.getUTCMinutes() - Number(minute);
  const isDay = isSo(day, date.getUTCDate()) && isSo(month, date.getUTCMonth() + 1);
  return isDay && isSo(hour, date.getUTCHours()) && late >= 0 && late * 60_000 < durationAt(window, "duration");
}
