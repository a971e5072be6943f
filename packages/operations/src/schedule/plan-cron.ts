// SPDX-License-Identifier: Apache-2.0
import { type Clock, type CronSchedule, compareUtf8 } from "@purlin/base";
import { compareResourceVersions, DelayHeap } from "@purlin/kube-controller";
import {
  annotationOf,
  conditionOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  stringAt,
  textAt,
} from "@purlin/kube-objects/object";
import { annotations } from "../names.ts";
import { isDone } from "../operation/operation-status.ts";

/** What a CronOperation has to do now. */
interface CronPlan {
  /** The time for which an Operation is due; undefined when none is. */
  readonly due?: number | undefined;
  /** When to look again; undefined when the schedule has no more times. */
  readonly next: number | undefined;
}

/** A CronOperation, its Operations and the time. */
interface CronFacts {
  readonly cron: KubeObject;
  readonly operations: readonly KubeObject[];
  readonly schedule: CronSchedule;
  readonly now: number;
}

/** A time further ahead than this comes from a clock that was wrong. */
const clockToleranceMs = 3_600_000;

/**
 * Which Operation is due. Of several missed times one Operation runs, for the earliest one within the deadline. All times up to the one
 * that `handledUntil` returns are done with, whatever the clock says next.
 */
export function planCron(facts: CronFacts): CronPlan {
  const { cron, operations, schedule, now } = facts;
  const next = schedule.next(now);
  const deadline = memberAt(cron, ["spec", "startingDeadlineSeconds"]);
  const handled = handledUntil(facts);
  // A slot that is exactly the deadline old still runs.
  const earliest = typeof deadline === "number" ? Math.max(handled, now - deadline * 1000 - 1) : handled;
  const due = schedule.next(earliest);
  if (due === undefined || due > now) return { next: due ?? next };
  const isForbidden = stringAt(cron, ["spec", "concurrencyPolicy"]) === "Forbid" && runningOf(operations).length > 0;
  return isForbidden ? { next } : { due, next };
}

/** The Operations that have not ended, by name. One that has not started counts: it will run. */
export function runningOf(operations: readonly KubeObject[]): readonly KubeObject[] {
  const running = operations.filter((operation) => !isDone(operation));
  return running.sort((a, b) => compareUtf8(a.metadata.name ?? "", b.metadata.name ?? ""));
}

/**
 * The time up to which the schedule has been handled: by an Operation, by the last one that is gone, or because the CronOperation was
 * created or resumed then.
 */
export function handledUntil(facts: Omit<CronFacts, "schedule">): number {
  const { cron, now } = facts;
  const begin = [timeOf(cron.metadata.creationTimestamp), activeSince(cron)];
  return latest([...begin, scheduledUntil(facts) ?? 0], now) ?? now;
}

/** The time up to which Operations have handled the schedule; undefined before the first one. */
export function scheduledUntil({ cron, operations, now }: Omit<CronFacts, "schedule">): number | undefined {
  const stored = timeOf(textAt(cron, ["status", "lastScheduleTime"]));
  const known = latest([stored, ...operations.flatMap(handledBy)], now);
  if (known !== undefined) return known;
  // A wrong clock wrote it, and nothing says which time was the last one: the schedule continues from here.
  return isWrong(stored, now) ? now : undefined;
}

/** The latest of some times. Those of a wrong clock do not count. */
function latest(times: readonly number[], now: number): number | undefined {
  const known = times.filter((time) => time > 0 && !isWrong(time, now));
  return known.length === 0 ? undefined : known.reduce((a, b) => Math.max(a, b));
}

/** Whether a time is so far ahead that a wrong clock must have written it. */
export function isWrong(time: number, now: number): boolean {
  return time > now + clockToleranceMs;
}

/** Times before a CronOperation was resumed do not count. */
function activeSince(cron: KubeObject): number {
  const { status, lastTransitionTime } = conditionOf(conditionsOf(cron), "Scheduling");
  return status === "True" ? timeOf(lastTransitionTime) : 0;
}

/**
 * The time for which an Operation runs, and the one up to which it handles the schedule. If a wrong clock wrote the second, the first
 * still counts. The Operations of Crossplane have no annotation.
 */
function handledBy(operation: KubeObject): readonly number[] {
  const [, seconds = "0"] = /-([0-9]+)$/.exec(operation.metadata.name ?? "") ?? [];
  const noted = annotationOf(operation, annotations.handledUntil) ?? operation.metadata.creationTimestamp;
  return [Number(seconds) * 1000, timeOf(noted)];
}

function timeOf(text: string | null | undefined): number {
  const time = text === undefined || text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? 0 : time;
}

/** The newest of the times at which Operations succeeded; undefined when none has. */
export function lastSuccessOf(operations: readonly KubeObject[]): string | undefined {
  const times = operations.flatMap((operation) => {
    const { status, lastTransitionTime } = conditionOf(conditionsOf(operation), "Succeeded");
    return status === "True" ? [lastTransitionTime] : [];
  });
  return times.sort().at(-1);
}

/** The Operations beyond the history that is kept, oldest first. One that has not ended is always kept. */
export function surplusOf(owner: KubeObject, operations: readonly KubeObject[]): readonly KubeObject[] {
  return (["True", "False"] as const).flatMap((status) => {
    const field = status === "True" ? "successfulHistoryLimit" : "failedHistoryLimit";
    const limit = memberAt(owner, ["spec", field]);
    const kept = Math.max(0, typeof limit === "number" ? limit : status === "True" ? 3 : 1);
    const ended = operations.filter((one) => conditionOf(conditionsOf(one), "Succeeded").status === status);
    const sorted = ended.sort((a, b) => createdOrder(a, b));
    return sorted.slice(0, Math.max(0, sorted.length - kept));
  });
}

/** Of the Operations of one second, the one that ended last is the newest. */
function createdOrder({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number {
  return (
    compareUtf8(a.creationTimestamp ?? "", b.creationTimestamp ?? "") ||
    compareResourceVersions(a.resourceVersion, b.resourceVersion) ||
    compareUtf8(a.name ?? "", b.name ?? "")
  );
}

/** Wakes keys at times of the day. */
export interface DueTimes {
  /** Sets the time of a key; undefined removes it. */
  set(key: string, time: number | undefined): void;
  close(): void;
}

/** The clock of the machine is looked at this often: it may have been set, or the machine may have slept. */
const lookEveryMs = 60_000;

/**
 * Wakes keys with one timer for all of them. A timer counts time that passes, not the time of the day: so the earliest time is awaited for a
 * minute at most, and when the clock was set back every key is woken to find its time again.
 */
export function createDueTimes(clock: Clock, wake: (key: string) => void): DueTimes {
  const times = new Map<string, number>();
  /** By time. A key that got another time since keeps its old entry here until its turn. */
  const ordered = new DelayHeap<string>();
  let timer: { readonly at: number; readonly cancel: () => void } | undefined;
  let seen = clock.now();

  function arm(at: number): void {
    if (timer !== undefined && timer.at <= at) return;
    timer?.cancel();
    const delay = Math.min(Math.max(0, at - clock.now()), lookEveryMs);
    timer = { at, cancel: clock.schedule(delay, look) };
  }

  function look(): void {
    timer = undefined;
    const now = clock.now();
    const due = now < seen ? takeAll() : takeDue(now);
    seen = now;
    const next = ordered.peek();
    if (next !== undefined) arm(next.at);
    for (const key of due) wake(key);
  }

  function takeAll(): readonly string[] {
    const all = [...times.keys()];
    times.clear();
    ordered.reset();
    return all;
  }

  function takeDue(now: number): readonly string[] {
    const due: string[] = [];
    for (let next = ordered.peek(); next !== undefined && next.at <= now; next = ordered.peek()) {
      ordered.pop();
      if (times.get(next.value) !== next.at) continue;
      times.delete(next.value);
      due.push(next.value);
    }
    return due;
  }

  return {
    set(key, time) {
      if (time === undefined) {
        times.delete(key);
        return;
      }
      if (times.get(key) !== time) ordered.push({ at: time, value: key });
      times.set(key, time);
      if (ordered.size > 2 * times.size + 100) ordered.reset([...times].map(([value, at]) => ({ at, value })));
      arm(time);
    },
    close() {
      timer?.cancel();
      timer = undefined;
      takeAll();
    },
  };
}
