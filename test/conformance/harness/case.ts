// SPDX-License-Identifier: Apache-2.0
import type { Session } from "./session.ts";

/** A conversation with a server that shows one rule, run on both servers; what it records must be the same. */
export interface Case {
  /** The line of the conformance list it belongs to; undefined when it goes beyond the list. */
  readonly line: number | undefined;
  readonly title: string;
  readonly run: (session: Session) => Promise<void>;
  /** Runs after all others, because it changes what the whole server does. */
  readonly alone?: boolean;
}

/** Declares a case of a line of the list. */
export function line(number: number, title: string, run: Case["run"], more: Partial<Case> = {}): Case {
  return { line: number, title, run, ...more };
}

/** Declares a case that goes beyond the list. */
export function beyond(title: string, run: Case["run"], more: Partial<Case> = {}): Case {
  return { line: undefined, title, run, ...more };
}

/** What a case is called in reports and in the list of known differences. */
export function nameOf({ line: number, title }: Case): string {
  return number === undefined ? `+ ${title}` : `${number} ${title}`;
}

/** The namespace of a case: the same on both servers, its own among the cases. */
export function namespaceOf(one: Case): string {
  const slug = one.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return `${one.line === undefined ? "x" : `l${one.line}`}-${slug}`.slice(0, 50).replace(/-+$/, "");
}
