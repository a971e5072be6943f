// SPDX-License-Identifier: Apache-2.0
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionsOf,
  conditionTime,
  hasFinalizer,
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  textAt,
  withoutFinalizer,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { claimChildren } from "../owned/claim-children.ts";
import { createPod, inParts, isActive, isTerminating, phaseOf, podFromTemplate, templateOf } from "../pods/pod.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { fieldManager, type SimulatorDeps, storeStatus } from "../simulator-deps.ts";
import {
  countersOf,
  countPods,
  endConditions,
  indexAnnotation,
  indexOf,
  isEnded,
  isIndexed,
  type JobCounts,
  type JobEnd,
  jobCondition,
  totals,
  trackingFinalizer,
} from "./job-status.ts";

/** Runs Jobs to their end. */
export function jobController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "job-controller",
    type: kinds.job,
    dependents: [kinds.pod],
    reconcile,
  });
}

/** One reconcile of a Job. */
interface JobRun {
  readonly deps: SimulatorDeps;
  readonly context: ReconcileContext;
  readonly job: KubeObject;
  readonly pods: readonly KubeObject[];
  readonly counts: JobCounts;
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const pods = await claimChildren(deps, context.stored.object, kinds.pod);
  if (isEnded(context.stored.object)) {
    await release(deps, pods);
    return expire(deps, context.stored.object);
  }
  const { job, news } = await start(deps, context);
  const run: JobRun = { deps, context, job, pods, counts: countPods(job, pods) };
  const end = isDeleted(job) ? undefined : endOf(run);
  const delay = end === undefined && !isDeleted(job) ? await manage(run) : undefined;
  if (end !== undefined) await deletePods(run, pods.filter(isActive));
  if (news !== undefined) context.emit(news);
  const isWaiting = await report(run, end);
  if (isWaiting) return { requeueAfterMs: 1 };
  return requeueAfter(delay);
}

function isSuspended(job: KubeObject): boolean {
  return memberAt(job, ["spec", "suspend"]) === true;
}

interface Started {
  readonly job: KubeObject;
  /** That it was suspended or resumed, for an event after its Pods were. */
  readonly news?: { readonly reason: string; readonly message: string } | undefined;
}

/** Notes when a Job starts, is suspended or resumed. */
async function start(deps: SimulatorDeps, context: ReconcileContext): Promise<Started> {
  const job = context.stored.object;
  const now = deps.clock.now();
  const before = conditionsOf(job).find(({ type }) => type === "Suspended");
  const suspended = isSuspended(job);
  if (suspended === (before?.status === "True") && (suspended || textAt(job, ["status", "startTime"]) !== undefined))
    return { job };
  const { startTime: _startTime, ...status } = objectAt(job, ["status"]);
  const others = conditionsOf(job).filter(({ type }) => type !== "Suspended");
  const claim = suspended
    ? { type: "Suspended", status: "True", reason: "JobSuspended", message: "Job suspended" }
    : { type: "Suspended", status: "False", reason: "JobResumed", message: "Job resumed" };
  const isNews = suspended || before !== undefined;
  const conditions: readonly JsonObject[] = isNews ? [...others, jobCondition(claim, now)] : others;
  const stored = await storeStatus(deps, job, {
    ...status,
    ...(!suspended && { startTime: conditionTime(now) }),
    ...(conditions.length > 0 && { conditions }),
  });
  context.stored.object = stored;
  const reason = suspended ? "Suspended" : "Resumed";
  return { job: stored, news: isNews ? { reason, message: claim.message } : undefined };
}

/** How the Job has to end now; undefined while it continues. */
function endOf({ deps, job, pods, counts }: JobRun): JobEnd | undefined {
  const { succeeded, failed } = totals(counts);
  const completions = memberAt(job, ["spec", "completions"]);
  const limit = numberAt(job, ["spec", "backoffLimit"]);
  const deadline = memberAt(job, ["spec", "activeDeadlineSeconds"]);
  const done = isIndexed(job) ? counts.completedIndexes.length : succeeded;
  const restarts = textAt(job, ["spec", "template", "spec", "restartPolicy"]) === "OnFailure" ? restartsOf(pods) : 0;
  if (failed + restarts > limit) {
    return { type: "Failed", reason: "BackoffLimitExceeded", message: "Job has reached the specified backoff limit" };
  }
  const startedAt = Date.parse(stringAt(job, ["status", "startTime"]));
  if (typeof deadline === "number" && deps.clock.now() >= startedAt + deadline * 1000) {
    return { type: "Failed", reason: "DeadlineExceeded", message: "Job was active longer than specified deadline" };
  }
  const isComplete = typeof completions === "number" ? done >= completions : succeeded > 0 && !pods.some(isActive);
  if (!isComplete || isSuspended(job)) return undefined;
  return { type: "Complete", reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };
}

function restartsOf(pods: readonly KubeObject[]): number {
  const statuses = pods.filter(isActive).flatMap((pod) => objectsAt(pod, ["status", "containerStatuses"]));
  return statuses.reduce((sum, status) => sum + numberAt(status, ["restartCount"]), 0);
}

/** Creates or deletes Pods; says how long to wait for the next attempt or the deadline. */
async function manage(run: JobRun): Promise<number | undefined> {
  const { deps, job, pods, counts } = run;
  const active = pods.filter(isActive);
  const until = untilDeadline(run);
  if (isSuspended(job)) {
    await discardPods(run, active);
    return until;
  }
  const parallelism = numberAt(job, ["spec", "parallelism"]);
  const completions = memberAt(job, ["spec", "completions"]);
  const done = isIndexed(job) ? counts.completedIndexes.length : totals(counts).succeeded;
  const left = typeof completions === "number" ? completions - done : done > 0 ? active.length : parallelism;
  const missing = Math.min(burst, Math.min(parallelism, left) - active.length - pods.filter(isTerminating).length);
  if (missing < 0) await discardPods(run, active.slice(missing));
  if (missing <= 0) return until;
  const wait = backoffMs(pods, deps.clock.now());
  if (wait > 0) return Math.min(wait, until ?? wait);
  await createPods(run, { active, missing });
  return missing < burst ? until : 1;
}

function untilDeadline({ deps, job }: JobRun): number | undefined {
  const deadline = memberAt(job, ["spec", "activeDeadlineSeconds"]);
  if (typeof deadline !== "number" || isSuspended(job)) return undefined;
  return Math.max(1, Date.parse(stringAt(job, ["status", "startTime"])) + deadline * 1000 - deps.clock.now());
}

// At most this many Pods are created in one reconcile.
const burst = 500;
const [firstBackoffMs, longestBackoffMs] = [10_000, 600_000];

/** How long the next Pod has to wait after Pods failed one after the other. */
function backoffMs(pods: readonly KubeObject[], now: number): number {
  const ended = pods.filter((pod) => ["Failed", "Succeeded"].includes(phaseOf(pod)));
  const sorted = ended.toSorted((a, b) => finishedAt(b) - finishedAt(a));
  const failures = sorted.findIndex((pod) => phaseOf(pod) === "Succeeded");
  const count = failures < 0 ? sorted.length : failures;
  const [last] = sorted;
  if (count === 0 || last === undefined) return 0;
  return finishedAt(last) + Math.min(longestBackoffMs, firstBackoffMs * 2 ** (count - 1)) - now;
}

function finishedAt(pod: KubeObject): number {
  const times = objectsAt(pod, ["status", "containerStatuses"]).map((status) =>
    Date.parse(stringAt(status, ["state", "terminated", "finishedAt"])),
  );
  return Math.max(0, ...times.filter((time) => !Number.isNaN(time)));
}

/** The first indexes that have no Pod: a Job may have millions. */
function freeIndexes(
  taken: ReadonlySet<number>,
  { count, end }: { readonly count: number; readonly end: number },
): readonly number[] {
  const free: number[] = [];
  for (let index = 0; index < end && free.length < count; index++) if (!taken.has(index)) free.push(index);
  return free;
}

async function createPods(
  run: JobRun,
  { active, missing }: { readonly active: readonly KubeObject[]; readonly missing: number },
): Promise<void> {
  const { deps, context, job, counts } = run;
  const name = job.metadata.name ?? "";
  const taken = new Set([...active.map(indexOf), ...counts.completedIndexes]);
  const free = isIndexed(job)
    ? freeIndexes(taken, { count: missing, end: numberAt(job, ["spec", "completions"]) })
    : Array.from({ length: missing }, () => -1);
  await inParts(free, async (index) => {
    const template = templateOf(job);
    const isPlain = index < 0;
    const pod = podFromTemplate(job, template, {
      name: { generateName: isPlain ? `${name}-` : `${name}-${index}-` },
      finalizers: [trackingFinalizer],
      ...(!isPlain && {
        labels: { [indexAnnotation]: String(index) },
        annotations: { [indexAnnotation]: String(index) },
        spec: { ...objectAt(template, ["spec"]), hostname: `${name}-${index}` },
      }),
    });
    const created = await createPod(deps, pod);
    context.emit({ reason: "SuccessfulCreate", message: `Created pod: ${created.metadata.name ?? ""}` });
  });
}

/** Deletes Pods that the Job does not need. They do not count as failed. */
async function discardPods(run: JobRun, pods: readonly KubeObject[]): Promise<void> {
  await release(run.deps, await deletePods(run, pods));
}

/** Deletes Pods; returns those that wait to be counted. */
async function deletePods({ deps, context }: JobRun, pods: readonly KubeObject[]): Promise<readonly KubeObject[]> {
  const held = await inParts(pods, async (pod) => {
    const { uid = "", name = "" } = pod.metadata;
    const left = await ignoreNotFound(deps.client.delete({ ...kinds.pod, ...keyOf(pod) }, { preconditions: { uid } }));
    context.emit({ reason: "SuccessfulDelete", message: `Deleted pod: ${name}` });
    return left;
  });
  return held.filter((pod) => pod !== undefined);
}

/** Writes the status, then releases the Pods that it counts. Returns whether there is more to count. */
async function report({ deps, context, job, counts }: JobRun, end: JobEnd | undefined): Promise<boolean> {
  const { namespace, uid = "" } = job.metadata;
  const pods = await deps.client.list(kinds.pod, { namespace, controller: uid });
  const now = deps.clock.now();
  const { succeeded, failed } = counts.uncounted;
  const isCounting = succeeded.length + failed.length > 0;
  const isOver = end !== undefined && !isCounting && !pods.some((pod) => isActive(pod) || isTerminating(pod));
  const before: readonly JsonObject[] = conditionsOf(job);
  const conditions = isOver ? [...before, ...endConditions(end, now)] : before;
  await storeStatus(deps, job, {
    ...(conditions.length > 0 && { conditions }),
    ...countersOf(job, pods, counts),
    ...(isOver && end.type === "Complete" && { completionTime: conditionTime(now) }),
  });
  if (isOver) {
    const isComplete = end.type === "Complete";
    context.emit(
      isComplete
        ? { reason: "Completed", message: "Job completed" }
        : { type: "Warning", reason: end.reason, message: end.message },
    );
  }
  const counted = new Set([...succeeded, ...failed]);
  await release(
    deps,
    pods.filter((pod) => counted.has(pod.metadata.uid ?? "")),
  );
  return isCounting;
}

/** Takes the finalizer off Pods, whichever version of them is stored. */
async function release({ client }: SimulatorDeps, pods: readonly KubeObject[]): Promise<void> {
  const held = pods.filter((pod) => hasFinalizer(pod, trackingFinalizer));
  await inParts(held, (pod) => {
    const { uid = "", finalizers } = withoutFinalizer(pod, trackingFinalizer).metadata;
    const patch = { metadata: { uid, finalizers: finalizers?.length ? [...finalizers] : null } };
    return ignoreNotFound(client.patch({ ...kinds.pod, ...keyOf(pod) }, patch, { type: "merge", fieldManager }));
  });
}

/** Deletes a Job that ended, when its time is over. */
async function expire({ client, clock }: SimulatorDeps, job: KubeObject): Promise<ReconcileResult> {
  const ttl = memberAt(job, ["spec", "ttlSecondsAfterFinished"]);
  if (typeof ttl !== "number" || isDeleted(job)) return {};
  const end = conditionsOf(job).find(({ type, status }) => ["Complete", "Failed"].includes(type) && status === "True");
  const left = Date.parse(end?.lastTransitionTime ?? "") + ttl * 1000 - clock.now();
  if (left > 0) return { requeueAfterMs: left };
  const { uid = "" } = job.metadata;
  await ignoreNotFound(
    client.delete({ ...kinds.job, ...keyOf(job) }, { preconditions: { uid }, propagationPolicy: "Foreground" }),
  );
  return {};
}
