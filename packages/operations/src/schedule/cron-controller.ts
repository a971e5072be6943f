// SPDX-License-Identifier: Apache-2.0
import { type CronSchedule, CronSyntaxError, parseCron } from "@purlin/base";
import {
  attempt,
  defineController,
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
} from "@purlin/kube-controller";
import { ignoreNotFound, isAlreadyExists } from "@purlin/kube-objects/errors";
import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  conditionTime,
  isDeleted,
  type KubeObject,
  memberAt,
  pausedCondition,
  setConditions,
  stampCondition,
  stringAt,
  textAt,
  withConditions,
  withMember,
} from "@purlin/kube-objects/object";
import type { SchedulerDeps } from "../deps.ts";
import { annotations, kinds, labels, longestLabel, reconcileError, updateManager } from "../names.ts";
import {
  deleteOperation,
  newOperation,
  ownedKeys,
  ownedOperations,
  runningRefs,
  syncedWith,
  wokenOwner,
} from "../owned-operations.ts";
import {
  createDueTimes,
  type DueTimes,
  isWrong,
  lastSuccessOf,
  planCron,
  runningOf,
  scheduledUntil,
  surplusOf,
} from "./plan-cron.ts";

/** The name of the controller, and the source of its events. */
const controllerName = "ops/cronoperation.ops.crossplane.io";
const timeoutMs = 60_000;

/** The controller of CronOperations: it creates Operations on schedules. */
export function createCronController(deps: SchedulerDeps): WatchingController {
  const { client, events, clock, log, engine } = deps;
  const due = createDueTimes(clock, (name) => {
    // The timer of a controller that was stopped, as when leadership is lost, must not run on.
    if (engine.isRunning(controllerName)) engine.enqueue(controllerName, { name });
    else due.close();
  });
  const schedules = new Map<string, string>();
  return defineController({
    ...{ client, events, clock, log, timeoutMs },
    name: controllerName,
    type: kinds.cron,
    readError: "cannot get CronOperation",
    reconcile: (context) => reconcileCron({ context, deps, due, schedules }),
    async onGone({ key }) {
      due.set(key.name, undefined);
      schedules.delete(key.name);
      return {};
    },
    watches: [
      { type: "CronOperation", object: kinds.cron, keys: wokenOwner },
      { type: "Operation", object: kinds.operation, keys: ({ object }) => ownedKeys(object, labels.cron) },
    ],
  });
}

/** One reconcile of one CronOperation. */
interface CronReconcile {
  readonly context: ReconcileContext;
  readonly deps: SchedulerDeps;
  readonly due: DueTimes;
  /** The schedule that each CronOperation had at its last reconcile. */
  readonly schedules: Map<string, string>;
}

async function reconcileCron(reconcile: CronReconcile): Promise<ReconcileResult> {
  const { context, deps, due, schedules } = reconcile;
  const cron = context.stored.object;
  const { name } = context.key;
  due.set(name, undefined);
  if (isDeleted(cron)) return {};
  if (cron.metadata.annotations?.["crossplane.io/paused"] === "true") {
    await store(reconcile, cron, [{ type: "Scheduling", status: "False", reason: "SchedulePaused" }, pausedCondition]);
    return {};
  }
  const text = stringAt(cron, ["spec", "schedule"]);
  const schedule = scheduleOf(cron, text, deps.clock.now());
  if (typeof schedule === "string") {
    if (conditionOf(conditionsOf(cron), "Scheduling").message !== schedule) {
      context.emit({ type: "Warning", reason: "InvalidSchedule", message: schedule });
    }
    await store(reconcile, cron, [
      { type: "Scheduling", status: "False", reason: "ScheduleInvalid", message: schedule },
      reconcileError(schedule),
    ]);
    return {};
  }
  const isEdited = schedules.has(name) && schedules.get(name) !== text;
  schedules.set(name, text);
  const next = await runSchedule(reconcile, activated(cron, { now: deps.clock.now(), isEdited }), schedule);
  due.set(name, next);
  return {};
}

/** The schedule, or why there is none. */
function scheduleOf(cron: KubeObject, text: string, now: number): CronSchedule | string {
  const { name = "" } = cron.metadata;
  if (name.length > longestLabel) {
    return `metadata.name must have no more than ${longestLabel} characters: it is the value of label ${labels.cron}`;
  }
  const deadline = memberAt(cron, ["spec", "startingDeadlineSeconds"]);
  if (typeof deadline === "number" && deadline < 1) {
    return "spec.startingDeadlineSeconds must be 1 or more: no Operation could start in time";
  }
  try {
    const schedule = parseCron(text);
    return schedule.next(now) === undefined ? `schedule "${text}" never comes` : schedule;
  } catch (error) {
    if (!(error instanceof CronSyntaxError)) throw error;
    return `cannot parse cron schedule "${text}": cannot parse cron schedule: ${error.message}`;
  }
}

/**
 * The CronOperation with the condition that its schedule is active. Its time says since when: since the creation at first, since now
 * after a pause, an invalid schedule or another one. Earlier times of the schedule do not count.
 */
function activated(
  cron: KubeObject,
  { now, isEdited }: { readonly now: number; readonly isEdited: boolean },
): KubeObject {
  const before = conditionOf(conditionsOf(cron), "Scheduling");
  const isFirst = before.lastTransitionTime === "";
  const kept = before.status === "True" && !isEdited ? before.lastTransitionTime : conditionTime(now);
  const since = isFirst ? (cron.metadata.creationTimestamp ?? conditionTime(now)) : kept;
  const time = isWrong(Date.parse(since), now) ? conditionTime(now) : since;
  const text: ConditionText = { type: "Scheduling", status: "True", reason: "ScheduleActive" };
  const after = stampCondition(text, time, cron.metadata.generation);
  const others = conditionsOf(cron).filter(({ type }) => type !== "Scheduling" || !isEdited);
  return withConditions(cron, setConditions(others, [after]));
}

/** Collects history, creates the Operation that is due, stores the status; resolves to the time of the next one. */
async function runSchedule(
  reconcile: CronReconcile,
  cron: KubeObject,
  schedule: CronSchedule,
): Promise<number | undefined> {
  const { context, deps } = reconcile;
  const { signal } = context;
  const all = await attempt({ reason: "ListOperations", text: "cannot list Operations" }, () =>
    ownedOperations(deps.client, { label: labels.cron, owner: cron, signal }),
  );
  const surplus = surplusOf(cron, all);
  const collected = new Set(surplus);
  const operations = all.filter((operation) => !collected.has(operation));
  const now = deps.clock.now();
  // Before history is collected: what it knows must be in the status by then.
  const facts = { cron, operations: all, schedule, now };
  const plan = planCron(facts);
  const created =
    plan.due === undefined ? undefined : await createDue(reconcile, { cron, operations, due: plan.due, now });
  const scheduled = created === undefined ? scheduledUntil(facts) : now;
  const running = runningAfter(operations, created);
  await store(reconcile, withStatus(cron, { all, running, scheduled }), [
    syncedWith(cron, { names: running, label: labels.cron }),
  ]);
  for (const old of surplus) await deleteOperation(deps.client, old, { why: "history", signal });
  return plan.next;
}

interface StatusFacts {
  readonly all: readonly KubeObject[];
  readonly running: readonly string[];
  readonly scheduled: number | undefined;
}

function withStatus(cron: KubeObject, { all, running, scheduled }: StatusFacts): KubeObject {
  const success = [lastSuccessOf(all), textAt(cron, ["status", "lastSuccessfulTime"])].filter(
    (one) => one !== undefined,
  );
  const status: readonly (readonly [string, unknown])[] = [
    // The newest are listed, by name; the time is in the name.
    ["runningOperationRefs", runningRefs(running)?.toReversed()],
    ["lastScheduleTime", scheduled === undefined ? undefined : conditionTime(scheduled)],
    ["lastSuccessfulTime", success.sort().at(-1)],
  ];
  return status.reduce((object, [field, value]) => withMember(object, ["status", field], value as never), cron);
}

/** The names of the Operations that run, the newest first. */
function runningAfter(operations: readonly KubeObject[], created: CreatedOperation | undefined): readonly string[] {
  const replaced = created?.replaced ?? [];
  const names = runningOf(operations).flatMap(({ metadata: { name = "" } }) => (replaced.includes(name) ? [] : [name]));
  return [...new Set([...names, ...(created === undefined ? [] : [created.name])])].sort().reverse();
}

interface CreatedOperation {
  readonly name: string;
  /** The Operations that were deleted for it. */
  readonly replaced: readonly string[];
}

interface DueOperation {
  readonly cron: KubeObject;
  readonly operations: readonly KubeObject[];
  readonly due: number;
  readonly now: number;
}

/** Creates the Operation that is due, unless another replica has scheduled its time. */
async function createDue(
  reconcile: CronReconcile,
  { cron, operations, due, now }: DueOperation,
): Promise<CreatedOperation | undefined> {
  const { client } = reconcile.deps;
  const { signal } = reconcile.context;
  if (await isScheduled(reconcile, { cron, due, now })) return undefined;
  const name = `${cron.metadata.name}-${Math.floor(due / 1000)}`;
  const replaced = stringAt(cron, ["spec", "concurrencyPolicy"]) === "Replace" ? runningOf(operations) : [];
  const others = replaced.filter(({ metadata }) => metadata.name !== name);
  for (const running of others) await deleteOperation(client, running, { why: "replace", signal });
  const noted = {
    [annotations.scheduledTime]: conditionTime(due),
    [annotations.handledUntil]: conditionTime(Math.max(due, now)),
  };
  const operation = newOperation(cron, { name, label: labels.cron, annotations: noted });
  await attempt({ reason: "CreateOperation", text: `cannot create scheduled Operation "${name}"` }, async () => {
    try {
      await client.create(operation, { fieldManager: updateManager, signal });
    } catch (error) {
      // Another replica, or this one before a crash, created it.
      if (!isAlreadyExists(error)) throw error;
    }
  });
  return { name, replaced: others.map(({ metadata }) => metadata.name ?? "") };
}

/**
 * Whether the server knows that a time is scheduled. A cache may be older than an Operation that was created, ended and collected: without
 * this read, a replica that has lost leadership and does not know it yet would run the time again.
 */
async function isScheduled(
  { deps: { client }, context: { key, signal } }: CronReconcile,
  { cron, due, now }: Omit<DueOperation, "operations">,
): Promise<boolean> {
  const live = await ignoreNotFound(client.live.get(kinds.cron, key, { signal }));
  if (live === undefined || live.metadata.uid !== cron.metadata.uid || isDeleted(live)) return true;
  return (scheduledUntil({ cron: live, operations: [], now }) ?? 0) >= due;
}

async function store(
  { context, deps }: CronReconcile,
  cron: KubeObject,
  texts: readonly ConditionText[],
): Promise<void> {
  const time = conditionTime(deps.clock.now());
  const stamped = texts.map((text) => stampCondition(text, time, cron.metadata.generation));
  const after = setConditions(conditionsOf(cron), stamped);
  await context.writeStatus(withConditions(cron, after));
}
