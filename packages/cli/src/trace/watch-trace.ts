// SPDX-License-Identifier: Apache-2.0
import { setTimeout } from "node:timers/promises";
import type { TraceNode } from "@purlin/explain";
import { createInformerPool, type InformerLease, type KubeClient } from "@purlin/kube-client";
import type { TypeRef } from "@purlin/kube-objects/object";
import type { Io } from "../io.ts";
import { createScreen } from "../terminal/screen.ts";
import { isUserError } from "../user-error.ts";

/** What to watch. */
interface TraceWatch {
  readonly trace: () => Promise<readonly TraceNode[]>;
  readonly print: (nodes: readonly TraceNode[], isOne: boolean) => string;
  readonly client: KubeClient;
  readonly io: Io;
}

/** Changes within this time are printed together. */
const pauseMs = 100;

/** Prints trees, and again whenever an object in them has changed; ends when the roots are gone. Off a terminal, changed lines only. */
export async function watchTrace({ trace, print, client, io }: TraceWatch): Promise<undefined> {
  const pool = createInformerPool(client);
  const leases = new Map<string, InformerLease>();
  const screen = io.stdout.isTTY && io.env["TERM"] !== "dumb" ? createScreen(io.stdout) : undefined;
  let wake = (): void => {};
  let before: readonly string[] = [];
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const nodes = await trace().catch((error: unknown) => {
        if (before.length > 0 && isUserError(error)) return [];
        throw error;
      });
      if (nodes.length === 0) return;
      for (const type of typesIn(nodes)) follow(type);
      const lines = print(nodes, nodes.length === 1)
        .trimEnd()
        .split("\n");
      if (screen !== undefined) screen.draw(lines);
      else for (const line of lines.filter((one) => !before.includes(one))) io.stdout.write(`${line}\n`);
      before = lines;
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

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function typesIn(nodes: readonly TraceNode[]): readonly TypeRef[] {
  return nodes.flatMap(function typesOf({ object: { apiVersion, kind }, children }: TraceNode): TypeRef[] {
    return [{ apiVersion, kind }, ...children.flatMap(typesOf)];
  });
}
