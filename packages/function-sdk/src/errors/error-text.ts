// SPDX-License-Identifier: Apache-2.0

const longestChain = 16;

/**
 * One line for people: the message of an error followed by those of its causes, joined by `: `. A cause whose text the
 * message already ends with is not repeated, so errors wrapped as `outer: inner` read well too.
 */
export function errorText(error: unknown): string {
  // Half a surrogate pair cannot be sent, and formatting an error must not fail.
  return textOf(error, longestChain).toWellFormed();
}

/** A thrown value may refuse to be printed; the report of the failure must not fail as well. */
function textOf(error: unknown, remaining: number): string {
  try {
    return error instanceof Error ? textOfError(error, remaining) : textOfOther(error);
  } catch {
    return "an error that cannot be printed";
  }
}

function textOfError(error: Error, remaining: number): string {
  const own = ownText(error, remaining);
  if (error.cause === undefined || error.cause === null || remaining === 0) return own;
  const cause = textOf(error.cause, remaining - 1);
  if (cause === "" || own.endsWith(cause)) return own;
  return own === "" ? cause : `${own}: ${cause}`;
}

function ownText(error: Error, remaining: number): string {
  const message: unknown = error.message;
  if (message !== "" && message !== undefined) return String(message);
  if (error instanceof AggregateError && remaining > 0) {
    return error.errors.map((inner: unknown) => textOf(inner, remaining - 1)).join("; ");
  }
  return error.cause === undefined ? error.name : "";
}

function textOfOther(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "message" in value && typeof value.message === "string") {
    return value.message;
  }
  return typeof value === "object" ? (JSON.stringify(value) ?? String(value)) : String(value);
}
