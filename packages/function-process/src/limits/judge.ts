// SPDX-License-Identifier: Apache-2.0
import { type FunctionLimits, limitNames, raiseAdvice, showLimit } from "./function-limits.ts";
import type { Usage } from "./usage.ts";

/** Something that a function used too much of. */
interface Finding {
  readonly limit: keyof FunctionLimits;
  /** For conditions and logs. */
  readonly text: string;
}

type Stopping = "memoryBytes" | "processes" | "tmpBytes";

/** Limits that a function must not exceed: it is stopped. */
const stopping: readonly Stopping[] = ["memoryBytes", "processes", "tmpBytes"];

/** The limit for which a function must be stopped; undefined when it keeps within all of them. */
export function judge(usage: Pick<Usage, Stopping>, limits: FunctionLimits): Finding | undefined {
  const limit = stopping.find((one) => usage[one] > limits[one]);
  return limit === undefined ? undefined : { limit, text: stoppedText(limit, limits, usage[limit]) };
}

/** The text of a function that was stopped for a limit. What it used is left out where only the kernel knows. */
export function stoppedText(limit: keyof FunctionLimits, limits: FunctionLimits, used?: number): string {
  const using = used === undefined ? "" : ` by using ${showLimit(limit, used)}`;
  const { words } = limitNames[limit];
  return `the function exceeded its ${words} of ${showLimit(limit, limits[limit])}${using} and was stopped; ${raiseAdvice(limit)}`;
}

/** The text of a function that goes on, held to a limit. */
export function heldText(limit: "cpus" | "openFiles" | "logBytesPerSecond", limits: FunctionLimits): string {
  const { words } = limitNames[limit];
  return `the function reached its ${words} of ${showLimit(limit, limits[limit])}: ${consequences[limit]}; ${raiseAdvice(limit)}`;
}

const consequences = {
  cpus: "it is slowed down",
  openFiles: "it cannot open more",
  logBytesPerSecond: "further output was discarded",
} as const;

/** Whether a function is close enough to a limit to be measured more often. */
export function isClose(usage: Pick<Usage, Stopping>, limits: FunctionLimits): boolean {
  return stopping.some((one) => usage[one] > limits[one] / 2);
}
