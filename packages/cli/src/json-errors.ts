// SPDX-License-Identifier: Apache-2.0
import type { Io } from "./io.ts";
import { type ErrorCode, isAnswer, isUserError, textOf } from "./user-error.ts";

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
      word === "-ojson" || word === "--output=json" || (word === "json" && /^(-o|--output)$/.test(words[at - 1] ?? "")),
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
