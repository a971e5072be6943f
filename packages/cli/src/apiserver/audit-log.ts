// SPDX-License-Identifier: Apache-2.0
import { appendFileSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { type AuditOptions, type AuditPolicy, parseAuditPolicy } from "@purlin/kube-apiserver";
import type { JsonValue } from "@purlin/kube-objects/json";
import { readTextSync } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";

/** The audit log that a user asked for. */
export interface AuditSettings {
  readonly policy: AuditPolicy;
  /** Absolute. */
  readonly path: string;
  readonly maxBytes: number;
  /** Files that are kept beside the one that is written. */
  readonly maxBackups: number;
}

const defaultMegabytes = 100;
const defaultBackups = 10;

/** Reads the flags of the audit log; undefined where it is off. The log is `audit.log` in the data directory unless a path is given. */
export function readAuditSettings(input: CommandInput, directory: string, io: Io): AuditSettings | undefined {
  const file = textOption(input, "auditPolicyFile");
  if (file === undefined) {
    const flag = ["auditLogPath", "auditLogMaxsize", "auditLogMaxbackup"].find((name) => textOption(input, name));
    if (flag === undefined) return undefined;
    throw new UserError("an audit log needs a policy: add --audit-policy-file", { exitCode: 2 });
  }
  const path = textOption(input, "auditLogPath");
  return {
    policy: readPolicy(file, io),
    path: path === undefined ? join(directory, "audit.log") : resolve(io.cwd, path),
    maxBytes:
      wholeNumber(input, { name: "auditLogMaxsize", flag: "--audit-log-maxsize", preset: defaultMegabytes }) * 1e6,
    maxBackups: wholeNumber(input, {
      name: "auditLogMaxbackup",
      flag: "--audit-log-maxbackup",
      preset: defaultBackups,
    }),
  };
}

function readPolicy(file: string, io: Io): AuditPolicy {
  const shown = relative(io.cwd, resolve(io.cwd, file)) || file;
  const documents = parseYaml(readTextSync(resolve(io.cwd, file), shown), shown);
  const [document, another] = documents;
  if (document === undefined || another !== undefined) {
    throw new UserError(`--audit-policy-file ${shown}: expected one document`);
  }
  try {
    return parseAuditPolicy(document.value as JsonValue);
  } catch (error) {
    throw new UserError(`--audit-policy-file ${shown}: ${textOf(error)}`, { cause: error });
  }
}

interface NumberFlag {
  readonly name: string;
  readonly flag: string;
  readonly preset: number;
}

function wholeNumber(input: CommandInput, { name, flag, preset }: NumberFlag): number {
  const text = textOption(input, name);
  const value = text === undefined ? preset : Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new UserError(`${flag} ${text}: expected an integer of at least 1`, { exitCode: 2 });
}

/** Writes events to a file, and moves it aside when it is full. A file that cannot be written is reported once, until it can be again. */
export function openAuditLog(settings: AuditSettings, warn: (text: string) => void): AuditOptions & Disposable {
  const { path, maxBytes, policy } = settings;
  let size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let waiting: string[] = [];
  let isFailing = false;
  const flush = (): void => {
    const text = waiting.join("");
    waiting = [];
    if (text === "") return;
    try {
      if (size > 0 && size + text.length > maxBytes) {
        rotate(settings);
        size = 0;
      }
      appendFileSync(path, text, { mode: 0o600 });
      size += Buffer.byteLength(text);
      isFailing = false;
    } catch (error) {
      if (!isFailing) warn(`warning: cannot write the audit log ${path}: ${textOf(error)}; events are lost`);
      isFailing = true;
    }
  };
  const write = (line: string): void => {
    // One write for all events of a turn.
    if (waiting.push(line) === 1) setImmediate(flush);
  };
  return { policy, write, [Symbol.dispose]: flush };
}

/** Names the file by the time, such as `audit-2026-01-31T12-00-00.000.log`, and deletes the oldest ones. */
function rotate({ path, maxBackups }: AuditSettings): void {
  const extension = extname(path);
  const stem = basename(path, extension);
  const folder = dirname(path);
  const time = new Date().toISOString().slice(0, -1).replaceAll(":", "-");
  renameSync(path, join(folder, `${stem}-${time}${extension}`));
  const isBackup = (name: string): boolean =>
    name.startsWith(`${stem}-`) &&
    name.endsWith(extension) &&
    /^\d{4}-\d\d-\d\dT[\d.-]+$/.test(name.slice(stem.length + 1, name.length - extension.length));
  const backups = readdirSync(folder).filter(isBackup).toSorted();
  for (const name of backups.slice(0, -maxBackups)) rmSync(join(folder, name), { force: true });
}
