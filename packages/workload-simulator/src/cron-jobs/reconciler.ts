// SPDX-License-Identifier: Apache-2.0
import { type CronSchedule, parseCron } from "@purlin/base";
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { ignoreNotFound, isAlreadyExists } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionsOf,
  conditionTime,
  controllerReference,
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  objectAt,
  objectsAt,
  stringAt,
  textAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { isEnded } from "../jobs/job-status.ts";
import { kinds } from "../kinds.ts";
import { createdAt } from "../pods/pod.ts";
import { requeueAfter, simulatedController } from "../simulated-controller.ts";
import { fieldManager, type SimulatorDeps, simulatedMark, storeStatus } from "../simulator-deps.ts";

/** Creates the Jobs of CronJobs. */
export function cronJobController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "cronjob-controller",
    type: kinds.cronJob,
    dependents: [kinds.job],
    reconcile,
  });
}

/** One reconcile of a CronJob. */
interface CronRun {
  readonly deps: SimulatorDeps;
  readonly context: ReconcileContext;
  readonly cron: KubeObject;
  readonly jobs: readonly KubeObject[];
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const cron = context.stored.object;
  const { namespace, uid = "" } = cron.metadata;
  if (isDeleted(cron)) return {};
  const jobs = await deps.client.list(kinds.job, { namespace, controller: uid });
  const run: CronRun = { deps, context, cron, jobs };
  const status = statusAfter(run);
  await dropHistory(run);
  if (memberAt(cron, ["spec", "suspend"]) === true) {
    await storeStatus(deps, cron, status);
    return {};
  }
  const schedule = parseCron(stringAt(cron, ["spec", "schedule"]), textAt(cron, ["spec", "timeZone"]));
  await storeStatus(deps, cron, await start(run, schedule, status));
  const now = deps.clock.now();
  const next = schedule.next(now);
  return requeueAfter(next === undefined ? undefined : next - now + 1);
}

/** The status after Jobs that ended or are gone are taken out of the active ones. */
function statusAfter({ context, cron, jobs }: CronRun): JsonObject {
  const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]));
  const known = objectsAt(cron, ["status", "active"]);
  const active = known.filter((reference) => {
    const [uid, name] = [stringAt(reference, ["uid"]), stringAt(reference, ["name"])];
    const job = byUid.get(uid);
    if (job === undefined) context.emit({ reason: "MissingJob", message: `Active job went missing: ${name}` });
    if (job === undefined || !isEnded(job)) return job !== undefined;
    const message = `Saw completed job: ${name}, condition: ${endOf(job)}`;
    context.emit({ reason: "SawCompletedJob", message });
    return false;
  });
  const successes = jobs.map((job) => stringAt(job, ["status", "completionTime"]));
  const lastSuccessfulTime = [stringAt(cron, ["status", "lastSuccessfulTime"]), ...successes].toSorted().at(-1) ?? "";
  const lastScheduleTime = textAt(cron, ["status", "lastScheduleTime"]);
  return {
    ...(active.length > 0 && { active }),
    ...(lastScheduleTime !== undefined && { lastScheduleTime }),
    ...(lastSuccessfulTime !== "" && { lastSuccessfulTime }),
  };
}

function endOf(job: KubeObject): string {
  return conditionsOf(job).some(({ type, status }) => type === "Complete" && status === "True") ? "Complete" : "Failed";
}

/** Deletes the oldest Jobs that ended, beyond the history that is kept. */
async function dropHistory(run: CronRun): Promise<void> {
  for (const [end, field] of [
    ["Complete", "successfulJobsHistoryLimit"],
    ["Failed", "failedJobsHistoryLimit"],
  ] as const) {
    const limit = memberAt(run.cron, ["spec", field]);
    const ended = run.jobs.filter((job) => isEnded(job) && endOf(job) === end && !isDeleted(job));
    if (typeof limit !== "number" || ended.length <= limit) continue;
    const sorted = ended.toSorted((a, b) => createdAt(a) - createdAt(b));
    for (const job of sorted.slice(0, ended.length - limit)) await deleteJob(run, job);
  }
}

async function deleteJob({ deps, context }: CronRun, job: KubeObject): Promise<void> {
  const { uid = "", name = "" } = job.metadata;
  const options = { preconditions: { uid }, propagationPolicy: "Background" } as const;
  await ignoreNotFound(deps.client.delete({ ...kinds.job, ...keyOf(job) }, options));
  context.emit({ reason: "SuccessfulDelete", message: `Deleted job ${name}` });
}

/** Starts the Job that is due, and says the status after that. */
async function start(run: CronRun, schedule: CronSchedule, status: JsonObject): Promise<JsonObject> {
  const { deps, context, cron, jobs } = run;
  const due = dueTime(run, schedule);
  if (due === undefined) return status;
  const active = objectsAt(status, ["active"]);
  const policy = textAt(cron, ["spec", "concurrencyPolicy"]) ?? "Allow";
  if (policy === "Forbid" && active.length > 0) {
    const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
    context.emit({ reason: "JobAlreadyActive", message });
    return status;
  }
  const replaced = policy === "Replace" ? active.map((reference) => stringAt(reference, ["uid"])) : [];
  for (const job of jobs) if (replaced.includes(job.metadata.uid ?? "")) await deleteJob(run, job);
  const created = await createJob(deps, newJob(cron, due));
  if (created === undefined) return status;
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = created.metadata;
  context.emit({ reason: "SuccessfulCreate", message: `Created job ${name}` });
  const reference = { ...kinds.job, name, namespace, uid, resourceVersion };
  const kept = active.filter((one) => !replaced.includes(stringAt(one, ["uid"])));
  return { ...status, active: [...kept, reference], lastScheduleTime: conditionTime(due) };
}

/** The last time at which a Job had to start and was not started. */
function dueTime({ deps, context, cron }: CronRun, schedule: CronSchedule): number | undefined {
  const now = deps.clock.now();
  const last = textAt(cron, ["status", "lastScheduleTime"]);
  const after = last === undefined ? createdAt(cron) : Date.parse(last);
  const deadline = memberAt(cron, ["spec", "startingDeadlineSeconds"]);
  const earliest = typeof deadline === "number" ? Math.max(after, now - deadline * 1000) : after;
  const due = schedule.last({ after: earliest, until: now });
  if (due === undefined && earliest > after) {
    const missed = schedule.last({ after, until: now });
    const message = `Missed scheduled time to start a job: ${new Date(missed ?? 0).toUTCString().replace("GMT", "+0000")}`;
    if (missed !== undefined) context.emit({ type: "Warning", reason: "MissSchedule", message });
  }
  return due;
}

function newJob(cron: KubeObject, due: number): KubeObject {
  const { name = "", namespace = "" } = cron.metadata;
  const template = objectAt(cron, ["spec", "jobTemplate"]);
  return {
    ...kinds.job,
    metadata: {
      name: `${name}-${Math.floor(due / 60_000)}`,
      namespace,
      labels: textMapAt(template, ["metadata", "labels"]) ?? {},
      annotations: {
        ...textMapAt(template, ["metadata", "annotations"]),
        "batch.kubernetes.io/cronjob-scheduled-timestamp": conditionTime(due),
        ...simulatedMark,
      },
      ownerReferences: [controllerReference(cron)],
    },
    spec: objectAt(template, ["spec"]),
  };
}

/** Stores a Job; undefined when one of its name exists. */
async function createJob({ client }: SimulatorDeps, job: KubeObject): Promise<KubeObject | undefined> {
  try {
    return await client.create(job, { fieldManager });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return undefined;
  }
}
