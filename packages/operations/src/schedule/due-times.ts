// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import { DelayHeap } from "@purlin/kube-controller";

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
