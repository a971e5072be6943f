// SPDX-License-Identifier: Apache-2.0
import { inspect } from "node:util";
import { errorText } from "../errors/error-text.ts";
import type { LogFields } from "./logger.ts";

/** How bad a message is. */
export type LogLevel = "debug" | "info" | "error";

/** One message. */
export interface LogEntry {
  readonly level: LogLevel;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly caller: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** A line of JSON: level, ts in seconds, caller, msg, then the fields. */
export function jsonLine({ level, timeMs, caller, message, fields }: LogEntry): string {
  const head = { level, ts: timeMs / 1000, caller, msg: message };
  // First and last: the head comes in front, and no field can pretend to be part of it.
  return `${stringify({ ...head, ...fields, ...head })}\n`;
}

/** A line for people: time, level, caller, message, then the fields as JSON. */
export function consoleLine({ level, timeMs, caller, message, fields }: LogEntry): string {
  const head = [new Date(timeMs).toISOString(), level.toUpperCase().padEnd(5), caller, message].join("  ");
  return Object.keys(fields).length === 0 ? `${head}\n` : `${head}  ${stringify(fields)}\n`;
}

/** A field can be anything an author has at hand; none of it may make logging fail. */
function stringify(value: object): string {
  try {
    return JSON.stringify(value, printable);
  } catch {
    const entries = Object.entries(value).map(([key, field]) => [key, plain(field)]);
    return JSON.stringify(Object.fromEntries(entries));
  }
}

function printable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return errorText(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return typeof value === "bigint" || typeof value === "symbol" ? String(value) : value;
}

function plain(value: unknown): unknown {
  return typeof value === "object" && value !== null
    ? inspect(value, { depth: 3, breakLength: Infinity })
    : String(value);
}
