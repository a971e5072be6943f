// SPDX-License-Identifier: Apache-2.0
// The module of a function: the handler that it exports, or why it cannot be loaded.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { FunctionHandler } from "@purlin/function-sdk";

const names = ["default", "fn", "handler"] as const;

/** The function that a module exports, or a message that says what is wrong with its exports. */
export function findHandler(module: object): FunctionHandler | string {
  const exports = module as Readonly<Record<string, unknown>>;
  const name = names.find((candidate) => exports[candidate] !== undefined);
  if (name === undefined) {
    const found = Object.keys(exports);
    const what = found.length === 0 ? "nothing" : found.join(", ");
    return `the file exports ${what}: export the function as default, as in "export default fn"`;
  }
  const value = exports[name];
  if (isHandler(value)) return value;
  return `the export "${name}" is not a function: expected (req, ctx) => response, or an object with runFunction`;
}

function isHandler(value: unknown): value is FunctionHandler {
  if (typeof value === "function") return true;
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Record<string, unknown>)["runFunction"] === "function"
  );
}

/** Why a module could not be loaded, in one line that starts with the file and line to look at. `main` is the file that was to be loaded. */
export function describeLoadError(error: unknown, cwd: string, main?: string): string {
  if (!(error instanceof Error)) return `the file threw ${String(error)}`;
  const found = compilerPlace(error.stack) ?? importerPlace(error) ?? unloadable(error) ?? firstFrame(error);
  const at = found ?? (main !== undefined && error instanceof SyntaxError ? checkedPlace(main) : undefined);
  const text = `${error.message}${remedy(error)}`.replaceAll(/\s*\n\s*/g, " ");
  return at === undefined ? text : `${relativeTo(cwd, at.file)}${at.line ? `:${at.line}` : ""}: ${text}`;
}

interface Place {
  readonly file: string;
  /** `line` or `line:column`. */
  readonly line?: string;
}

/** Node puts `file:line`, the line itself and a mark under the mistake above the message of a syntax error. */
function compilerPlace(text: string | undefined): Place | undefined {
  const lines = (text ?? "").split("\n");
  const first = /^(\/.*|file:\/\/.*|[A-Za-z]:\\.*):(\d+)$/.exec(lines[0] ?? "");
  if (first === null) return undefined;
  const mark = lines.find((line) => /^\s*\^+$/.test(line));
  const column = mark === undefined ? "" : `:${mark.indexOf("^") + 1}`;
  return { file: first[1] ?? "", line: `${first[2]}${column}` };
}

/** Of a syntax error in JavaScript that is imported Node keeps no place: it is asked for the mistake in the file itself. */
function checkedPlace(file: string): Place {
  const { stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8", timeout: 5000 });
  return compilerPlace(stderr) ?? { file };
}

/** A missing module is reported at its importer. */
function importerPlace(error: Error): Place | undefined {
  const importer = / imported from (.+)$/.exec(error.message)?.[1];
  return codeOf(error) === "ERR_MODULE_NOT_FOUND" && importer !== undefined ? { file: importer } : undefined;
}

/** A file that is not a program: the error is in the file, not in its importer. */
function unloadable(error: Error): Place | undefined {
  const file = / for (\S.*)$/.exec(error.message)?.[1];
  return codeOf(error) === "ERR_UNKNOWN_FILE_EXTENSION" && file !== undefined ? { file } : undefined;
}

function firstFrame(error: Error): Place | undefined {
  for (const line of (error.stack ?? "").split("\n")) {
    const frame = /(file:\/\/\S+?):(\d+:\d+)\)?$/.exec(line);
    if (frame !== null && !line.includes("/node_modules/")) return { file: frame[1] ?? "", line: frame[2] ?? "" };
  }
  return undefined;
}

function remedy(error: Error): string {
  switch (codeOf(error)) {
    case "ERR_MODULE_NOT_FOUND":
      return error.message.startsWith("Cannot find package") ? ": run npm install" : ": check the path and its ending";
    case "ERR_UNKNOWN_FILE_EXTENSION":
      return ": not a TypeScript or JavaScript file: specify the file that exports the function";
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX":
      return ": Node removes types and compiles nothing; set erasableSyntaxOnly in tsconfig.json to see all such places";
    default:
      return "";
  }
}

function codeOf(error: Error): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** A file as it is shown: relative to where the user is, unless it is elsewhere. */
export function relativeTo(cwd: string, file: string): string {
  const path = file.startsWith("file:") ? fileURLToPath(file) : file;
  const short = relative(cwd, path);
  return short.startsWith("..") ? path : short;
}

/**
 * The path of the program that serves one version of a function from a source file: `worker FILE FLAGS…`. It is found by name, because a
 * command can be built into one file elsewhere.
 */
export const workerProgram = (): string => createRequire(import.meta.url).resolve("@purlin/function-process/worker");
