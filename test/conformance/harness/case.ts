// SPDX-License-Identifier: Apache-2.0
import type { Session } from "./session.ts";

/** A conversation with a server that shows one rule. It runs on both servers, and the transcripts must be equal. */
export interface Case {
  /** Its name in reports and in the list of known differences. */
  readonly title: string;
  readonly run: (session: Session) => Promise<void>;
  /** Runs after all others, because it changes what the whole server does. */
  readonly alone?: boolean;
  /** Waits for most of its time: it begins before the others, which then do not wait for it. */
  readonly waits?: boolean;
}

/** Declares a case. */
export function scenario(title: string, run: Case["run"], more: Partial<Case> = {}): Case {
  return { title, run, ...more };
}

/** The namespace of a case: the same on both servers, its own among the cases. */
export function namespaceOf({ title }: Case): string {
  const slug = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return `x-${slug}`.slice(0, 50).replace(/-+$/, "");
}
