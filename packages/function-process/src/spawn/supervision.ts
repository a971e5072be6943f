// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { type Containment, type ContainmentOptions, openContainment } from "../limits/containment.ts";
import { defaultFunctionLimits, type FunctionLimits } from "../limits/function-limits.ts";
import { createLimitWatch, type LimitWatch, type WatchPace } from "../limits/limit-watch.ts";
import type { MeasuredUsage } from "../limits/throttle.ts";
import type { GuardedProcess } from "./guarded-process.ts";

/** How the processes of one function are contained, limited and measured. */
export interface Supervision {
  readonly limits: FunctionLimits;
  readonly containment: Containment;
  /** Temporary folders of functions go here. */
  readonly tmpFolder: string;
  /** Limits and measures a process until the result is disposed. */
  watch(process: GuardedProcess, how: { readonly events: LaunchEvents; readonly tmp?: string | undefined }): Disposable;
  /** What its processes used when they were last measured; undefined before. */
  usage(): MeasuredUsage | undefined;
}

/** The same for all functions of a control plane. */
export interface ResourceSupervision {
  /** What enforces the limits, as text. */
  readonly mechanism: string;
  /** The default limits, before the function is known. */
  readonly general: Supervision;
  of(spec: LimitedFunction): Supervision;
  close(): void;
}

/** The limits of one function; the others are those of all functions. */
interface LimitedFunction {
  readonly limits?: Partial<FunctionLimits> | undefined;
}

/** What functions may use, and how that is enforced. */
export interface SupervisionOptions extends Omit<ContainmentOptions, "directory"> {
  readonly limits?: Partial<FunctionLimits> | undefined;
  readonly pace?: WatchPace | undefined;
}

/** Opens the supervision of all functions of a control plane. */
export function openSupervision(directory: string, options: SupervisionOptions = {}): ResourceSupervision {
  const containment = openContainment({ ...options, directory });
  const watch = createLimitWatch(containment.run, options.pace);
  const usual = { ...defaultFunctionLimits, ...options.limits };
  const of = ({ limits }: LimitedFunction): Supervision =>
    superviseWith({ ...usual, ...limits }, { containment, watch, tmpFolder: join(directory, "tmp") });
  return {
    mechanism: describeMechanism(containment),
    general: of({}),
    of,
    close() {
      watch.close();
      containment.close();
    },
  };
}

interface Shared extends Pick<Supervision, "containment" | "tmpFolder"> {
  readonly watch: LimitWatch;
}

function superviseWith(limits: FunctionLimits, { containment, watch, tmpFolder }: Shared): Supervision {
  const measured = new Map<number, MeasuredUsage>();
  return {
    limits,
    containment,
    tmpFolder,
    usage: () => (measured.size === 0 ? undefined : [...measured.values()].reduce(sum)),
    watch({ enclosure }, { events, tmp }) {
      if (enclosure === undefined) return { [Symbol.dispose]() {} };
      enclosure.group?.limit(limits);
      const isCpuLimited = containment.groups?.controllers.has("cpu") === true && enclosure.group !== undefined;
      const stop = watch.add({
        ...{ mark: enclosure.mark, limits, tmp, isCpuLimited },
        exceeded: (text) => events.exceeded(text),
        held: (text) => events.held(text),
        measured: (usage) => void measured.set(enclosure.mark, usage),
      });
      return {
        [Symbol.dispose]() {
          stop();
          measured.delete(enclosure.mark);
        },
      };
    },
  };
}

function sum(a: MeasuredUsage, b: MeasuredUsage): MeasuredUsage {
  return {
    memoryBytes: a.memoryBytes + b.memoryBytes,
    processes: a.processes + b.processes,
    cpus: a.cpus + b.cpus,
  };
}

/** What enforces the limits of functions on this machine, as text. */
function describeMechanism({ groups, namespace }: Pick<Containment, "groups" | "namespace">): string {
  const controllers = groups?.controllers ?? new Set<string>();
  const by = ["memory", "pids", "cpu"].filter((name) => controllers.has(name));
  const parts = [
    by.length > 0 ? `control groups (${by.join(", ")})` : undefined,
    "ulimit",
    namespace?.ownPidMax === true ? "pid_max of a PID namespace" : undefined,
    "supervision",
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

/** Gets the events of one process of a function. */
export interface LaunchEvents {
  message(message: WorkerMessage): void;
  output(stream: "stdout" | "stderr", text: string): void;
  /** It used more than a limit allows and is being stopped, or was. */
  exceeded(text: string): void;
  /** It is throttled at a limit and keeps running. */
  held(text: string): void;
  /** It ended, and how. Called once, last. */
  ended(how: string): void;
}

/** One process of a function. */
export interface Launched {
  /** Lets calls finish, then ends the process. Resolves when it has exited. */
  stop(): Promise<void>;
  kill(): void;
}

/**
 * Starts a process of a function. Failures are reported as events. `before` is the address of an earlier process, reused if possible, because
 * clients may still be waiting there.
 */
export type Launch = (events: LaunchEvents, before?: string) => Launched;

/** Why a version did not start: its code; flags, certificates or the address; or another program that took its port before it listened. */
export type FailureReason = "code" | "setup" | "port taken";

/** A message from the process of one version of a function to its supervisor. */
export type WorkerMessage =
  /** A file that is part of the function was loaded. */
  | { readonly type: "module"; readonly file: string }
  /** The file exports a function, which is about to be served. */
  | { readonly type: "loaded" }
  | { readonly type: "serving"; readonly address: string }
  /** This version will not serve. */
  | { readonly type: "failed"; readonly text: string; readonly reason: FailureReason };

/** Whether it is a message of ours and not one that a function sent by itself. */
export function isWorkerMessage(value: unknown): value is WorkerMessage {
  const type = (value as { readonly type?: unknown } | null)?.type;
  return type === "module" || type === "loaded" || type === "serving" || type === "failed";
}
