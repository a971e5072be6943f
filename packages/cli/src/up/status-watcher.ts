// SPDX-License-Identifier: Apache-2.0
import { type Explanation, groupByCause, groupText } from "@purlin/explain";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { createScreen } from "../terminal/screen.ts";
import { createStyle } from "../terminal/style.ts";
import { changedLines, type StateLine } from "../tree/render-forest.ts";
import {
  hasFailed,
  isSettled,
  problemTexts,
  type StatusSnapshot,
  snapshotLines,
  snapshotTexts,
} from "./status-snapshot.ts";

/** Shows the status: redrawn on a terminal, otherwise one line per change. */
export interface LiveView extends Disposable {
  /** Prints a line that stays on the screen. */
  say(text: string): void;
  show(snapshot: StatusSnapshot): void;
  /** Shows a line below the status until it is replaced; none for an empty text. Not shown outside of a terminal. */
  prompt(text: string): void;
  /** Shows why objects are unhealthy, below the status; undefined off a terminal, where `purlin explain` says it. */
  readonly causes: ((lines: readonly string[]) => void) | undefined;
}

/** A view for the output: a terminal or a stream. */
export function createLiveView(io: Io): LiveView {
  return io.stdout.isTTY && io.env["TERM"] !== "dumb" ? onTerminal(io) : inLines(io);
}

function onTerminal(io: Io): LiveView {
  const screen = createScreen(io.stdout);
  const style = createStyle(io.stdout, io.env);
  let last: StatusSnapshot | undefined;
  let prompt: readonly string[] = [];
  let causes: readonly string[] = [];
  const lines = (): string[] => {
    const why = causes.length === 0 ? [] : ["", ...causes];
    const room = screen.room() - 1 - prompt.length - why.length;
    return [...(last === undefined ? [] : ["", ...snapshotLines(last, style, room)]), ...why, ...prompt];
  };
  const stop = io.stdout.onResize?.(() => screen.resized(lines()));
  return {
    say: (text) => screen.print(`${text}\n`),
    show(snapshot) {
      last = snapshot;
      screen.draw(lines());
    },
    prompt(text) {
      prompt = text === "" ? [] : ["", text];
      screen.draw(lines());
    },
    causes(found) {
      if (found.join("\n") === causes.join("\n")) return;
      causes = found;
      screen.draw(lines());
    },
    [Symbol.dispose]: () => stop?.(),
  };
}

function inLines(io: Io): LiveView {
  let before: ReadonlyMap<string, StateLine> = new Map();
  let problems: ReadonlyMap<string, StateLine> = new Map();
  return {
    say: (text) => io.stdout.write(`${text}\n`),
    show(snapshot) {
      const now = snapshotTexts(snapshot);
      const problemsNow = problemTexts(snapshot);
      const lines = [...changedLines(before, now), ...changedLines(problems, problemsNow, "resolved")];
      for (const line of lines) io.stdout.write(`${line}\n`);
      before = now;
      problems = problemsNow;
    },
    prompt() {},
    causes: undefined,
    [Symbol.dispose]() {},
  };
}

/** Changes within this time are collected into one snapshot. */
const pauseMs = 80;
/** A snapshot of ten thousand composite resources takes a while: the pause grows with it, so that the controllers are not delayed. */
const pausePerCollect = 50;

const nothing: StatusSnapshot = { forest: [], functions: [], compositions: [], definitions: [], unseen: 0 };

/** Collects a status snapshot after changes, and notifies its subscribers. */
export interface StatusWatcher {
  /** Reports that something may have changed. */
  readonly changed: () => void;
  /** The current status. */
  collect: () => StatusSnapshot;
  /** Calls the handler with the current status, then after each change. */
  subscribe(handler: (snapshot: StatusSnapshot) => void): Disposable;
  /** Resolves when nothing is left to wait for. */
  settled(signal: AbortSignal): Promise<void>;
  /** No more callbacks. */
  close(): void;
}

/** A watcher with an empty status until its `collect` is set. */
export function createStatusWatcher(): StatusWatcher {
  const handlers = new Set<(snapshot: StatusSnapshot) => void>();
  let timer: NodeJS.Timeout | undefined;
  let pause = pauseMs;
  const notify = (): void => {
    timer = undefined;
    const start = performance.now();
    const snapshot = statusWatcher.collect();
    for (const handler of handlers) handler(snapshot);
    pause = Math.max(pauseMs, (performance.now() - start) * pausePerCollect);
  };
  const statusWatcher: StatusWatcher = {
    collect: () => nothing,
    changed() {
      timer ??= setTimeout(notify, pause);
    },
    subscribe(handler) {
      handlers.add(handler);
      handler(statusWatcher.collect());
      return { [Symbol.dispose]: () => void handlers.delete(handler) };
    },
    async settled(signal) {
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      using _ = statusWatcher.subscribe((snapshot) => {
        if (isSettled(snapshot)) resolve();
      });
      await promise.finally(() => signal.removeEventListener("abort", abort));
    },
    close() {
      clearTimeout(timer);
      handlers.clear();
    },
  };
  return statusWatcher;
}

/** Objects that have just changed are not explained: most become ready by themselves. */
const explainAfterMs = 1000;
const shownCauses = 5;

/** What explanations of all unhealthy objects need. */
type ExplainUnhealthy = () => Promise<readonly Explanation[]>;

/** Keeps the causes on the screen up to date while something is unhealthy: what `purlin explain` says, the largest group first. */
export function showCauses(statusWatcher: StatusWatcher, view: LiveView, explain: ExplainUnhealthy): Disposable {
  const { causes } = view;
  if (causes === undefined) return { [Symbol.dispose]() {} };
  let timer: NodeJS.Timeout | undefined;
  const refresh = async (): Promise<void> => {
    const start = performance.now();
    const lines = causeLines(await explain().catch(() => []));
    if (timer === undefined) return;
    causes(hasFailed(statusWatcher.collect()) ? lines : []);
    const pause = Math.max(explainAfterMs, (performance.now() - start) * pausePerCollect);
    timer = lines.length === 0 ? undefined : setTimeout(() => void refresh(), pause);
  };
  const showing = statusWatcher.subscribe((snapshot) => {
    if (!hasFailed(snapshot)) return causes([]);
    timer ??= setTimeout(() => void refresh(), explainAfterMs);
  });
  return {
    [Symbol.dispose]() {
      showing[Symbol.dispose]();
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** The causes of unhealthy objects, each with the next step. */
function causeLines(explanations: readonly Explanation[]): string[] {
  const groups = groupByCause(explanations).filter(({ code }) => code !== undefined);
  return groups
    .slice(0, shownCauses)
    .flatMap((group) => groupText(group).trimEnd().split("\n"))
    .map(harmlessLine);
}
