// SPDX-License-Identifier: Apache-2.0

import { setTimeout } from "node:timers/promises";
import type { TraceNode } from "@purlin/explain";
import { createInformerPool, type InformerLease, type KubeReader } from "@purlin/kube-client";
import type { TypeRef } from "@purlin/kube-objects/object";
import type { Io } from "../io.ts";
import { createScreen } from "../terminal/screen.ts";
import { isUserError } from "../user-error.ts";

/** What there is to show at one time. */
export interface Look {
  readonly text: string;
  /** The same without ages: while it does not differ, the text is not printed again. Default: the text. */
  readonly compared?: string | undefined;
  /** A change of these types is a reason to look again. */
  readonly types: readonly TypeRef[];
}

/** What to watch. */
interface TraceWatch {
  /** Undefined without objects. `changed` asks for another look. */
  readonly look: (changed: () => void) => Promise<Look | undefined>;
  /** For a format whose lines mean nothing alone: each change prints a whole text, after this separator. Default: changed lines. */
  readonly separator?: string | undefined;
  /** Whether a terminal shows the newest text in place of the one before. */
  readonly redraws: boolean;
  readonly client: KubeReader;
  readonly io: Io;
}

/** Changes within this time are printed together. */
const pauseMs = 100;

/** Prints objects, and again whenever one of them has changed; ends when they are gone. */
export async function watchTrace({ look, separator, redraws, client, io }: TraceWatch): Promise<undefined> {
  const pool = createInformerPool(client);
  const leases = new Map<string, InformerLease>();
  const show = printerOf(separator, redraws, io);
  let wake = (): void => {};
  let hasShown = false;
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const shown = await look(() => wake()).catch((error: unknown) => {
        if (hasShown && isUserError(error)) return undefined;
        throw error;
      });
      if (shown === undefined) {
        if (!hasShown) io.stderr.write("No resources found\n");
        return;
      }
      for (const type of shown.types) follow(type);
      show(shown);
      hasShown = true;
      await Promise.race([changed, aborted(io.signal)]);
      await setTimeout(pauseMs, undefined, { signal: io.signal });
    }
  } finally {
    await Promise.all([...leases.values()].map((lease) => lease.release()));
  }

  function follow(type: TypeRef): void {
    const key = `${type.apiVersion}/${type.kind}`;
    if (leases.has(key)) return;
    const lease = pool.acquire(type);
    leases.set(key, lease);
    lease.informer.subscribe(() => wake());
  }
}

function printerOf(separator: string | undefined, redraws: boolean, io: Io): (look: Look) => void {
  if (redraws && io.stdout.isTTY && io.env["TERM"] !== "dumb") return screenPrinter(io);
  return separator === undefined ? linePrinter(io) : documentPrinter(separator, io);
}

function screenPrinter(io: Io): (look: Look) => void {
  const screen = createScreen(io.stdout);
  return ({ text }) => screen.draw(text.trimEnd().split("\n"));
}

/** Prints the lines that were not there before. */
function linePrinter(io: Io): (look: Look) => void {
  let before: readonly string[] = [];
  return ({ text }) => {
    const lines = text.trimEnd().split("\n");
    for (const line of lines.filter((one) => !before.includes(one))) io.stdout.write(`${line}\n`);
    before = lines;
  };
}

/** Prints a document whenever it is another one. */
function documentPrinter(separator: string, io: Io): (look: Look) => void {
  let before: string | undefined;
  return ({ text, compared = text }) => {
    if (compared !== before) io.stdout.write(`${before === undefined ? "" : separator}${text}`);
    before = compared;
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/** The types of the objects in trees. */
export function typesIn(nodes: readonly TraceNode[]): readonly TypeRef[] {
  return nodes.flatMap(function typesOf({ object: { apiVersion, kind }, children }: TraceNode): TypeRef[] {
    return [{ apiVersion, kind }, ...children.flatMap(typesOf)];
  });
}
