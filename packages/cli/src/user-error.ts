// SPDX-License-Identifier: Apache-2.0

const brand = Symbol.for("purlin.dev/cli/user-error");

/** What else an error carries. */
interface UserErrorOptions extends ErrorOptions {
  /** 1 unless given; 2 means the command line itself is wrong. */
  readonly exitCode?: number;
}

/** Something the user can put right. Its message is one line: what is wrong, where, and what to do. */
export class UserError extends Error {
  readonly exitCode: number;

  constructor(message: string, options?: UserErrorOptions) {
    super(message, options);
    this.name = "UserError";
    this.exitCode = options?.exitCode ?? 1;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Tells a {@link UserError} from any other value. */
export function isUserError(value: unknown): value is UserError {
  return typeof value === "object" && value !== null && brand in value;
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
