// SPDX-License-Identifier: Apache-2.0
import type { Io } from "./io.ts";

/** The codes of errors with `-o json`. Codes never change. */
export const errorCodes = {
  USAGE: "The command line is wrong: an unknown option, a missing argument, a value that cannot be used.",
  INVALID_INPUT: "A file or an object that the command line names is wrong.",
  NO_CONTROL_PLANE:
    "No kubeconfig was found: neither --kubeconfig, $KUBECONFIG nor the data directory of `purlin up` has one.",
  UNREACHABLE: "The API server of the kubeconfig does not answer.",
  API: "The API server refused a request. `reason` is the reason of its Status, such as NotFound or Forbidden.",
  FAILED: "The command failed for another reason, which the message gives.",
  INTERRUPTED: "The command was interrupted.",
  INTERNAL: "The error is a bug in purlin. Run the command with --debug for a stack trace.",
} as const;

type ErrorCode = keyof typeof errorCodes;

const brand = Symbol.for("purlin.dev/cli/user-error");

/** What else an error carries. */
interface UserErrorOptions extends ErrorOptions {
  /** 1 unless given; 2 means the command line itself is wrong. */
  readonly exitCode?: number;
  /** INVALID_INPUT for exit code 2 and FAILED otherwise, unless given. */
  readonly code?: ErrorCode;
}

/** An error that the user can fix. Its message is one line: what is wrong, where, and what to do. */
export class UserError extends Error {
  readonly exitCode: number;
  readonly code: ErrorCode;

  constructor(message: string, options?: UserErrorOptions) {
    super(message, options);
    this.name = "UserError";
    this.exitCode = options?.exitCode ?? 1;
    this.code = options?.code ?? (this.exitCode === 2 ? "INVALID_INPUT" : "FAILED");
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether a value is a {@link UserError}. */
export function isUserError(value: unknown): value is UserError {
  return typeof value === "object" && value !== null && brand in value;
}

/** Reads what the command line names. A file that cannot be read or parsed is wrong input: the exit code is 2. */
export async function asInput<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isUserError(error) || error.exitCode !== 1) throw error;
    throw new UserError(error.message, { cause: error, exitCode: 2 });
  }
}

const answer = Symbol.for("purlin.dev/kube-objects/StatusError");

/** Whether an error is a response of the API server, and not a bug here. Checked by its brand, so that errors need no imports. */
export function isAnswer(error: unknown): boolean {
  return typeof error === "object" && error !== null && answer in error;
}

/** The text of anything that was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error in a JSON document. */
interface ErrorEntry {
  readonly code: ErrorCode;
  /** The reason of the API server's Status. */
  readonly reason?: string;
  readonly message: string;
}

/** What a JSON document says about an error. */
export function errorEntry(error: unknown): ErrorEntry {
  const message = textOf(error);
  if (isUserError(error)) return { code: error.code, message };
  return isAnswer(error) ? { code: "API", reason: reasonOf(error), message } : { code: "INTERNAL", message };
}

function reasonOf(error: unknown): string {
  const { status } = error as { readonly status?: { readonly reason?: string } };
  return status?.reason ?? "Unknown";
}

/** Whether the user asked for one JSON document. */
export function isJsonWanted(words: readonly string[]): boolean {
  return words.some(
    (word, at) =>
      /^(-o|--output=|--reporter=)json$/.test(word) ||
      (word === "json" && /^(-o|--output|--reporter)$/.test(words[at - 1] ?? "")),
  );
}

/** A command that asks for JSON gets one document on stdout in every case: the errors, where the command printed nothing. */
export function jsonErrors(outer: Io): { readonly io: Io; readonly writeError: (error: ErrorEntry) => void } {
  let hasWritten = false;
  const write = (text: string): void => {
    hasWritten ||= text !== "";
    outer.stdout.write(text);
  };
  const stdout = Object.create(outer.stdout, { write: { value: write } }) as Io["stdout"];
  return {
    io: { ...outer, stdout },
    writeError(error) {
      if (!hasWritten) outer.stdout.write(`${JSON.stringify({ errors: [error] }, undefined, 2)}\n`);
    },
  };
}
