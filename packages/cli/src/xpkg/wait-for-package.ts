// SPDX-License-Identifier: Apache-2.0
import { setTimeout } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import type { Io } from "../io.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { UserError } from "../user-error.ts";

const pollMs = 250;
const wanted = ["Installed", "Healthy"];

/** What to wait for, and how long. */
export interface PackageWait {
  readonly type: TypeRef;
  readonly name: string;
  readonly waitMs: number;
  readonly io: Io;
}

/** Waits until a package is installed and healthy, and tells meanwhile what is in the way. */
export async function waitForPackage(client: KubeClient, { type, name, waitMs, io }: PackageWait): Promise<void> {
  const limit = performance.now() + waitMs;
  let told = "";
  for (;;) {
    const problem = problemOf(await client.get(type, { name }, { signal: io.signal }));
    if (problem === undefined) return;
    if (performance.now() > limit) {
      throw new UserError(`${type.kind} ${name} is not ready: ${problem}: correct it, or wait longer with --timeout`);
    }
    if (problem !== told) io.stderr.write(`waiting: ${harmlessLine(problem)}\n`);
    told = problem;
    await setTimeout(pollMs, undefined, { signal: io.signal });
  }
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** What is in the way; undefined when nothing is. */
export function problemOf(object: KubeObject): string | undefined {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: readonly Condition[] };
  const missing = wanted.filter((type) => !conditions.some((one) => one.type === type && one.status === "True"));
  if (missing.length === 0) return undefined;
  // The one that tells something is of more use than the one nobody has set yet.
  const told = missing.flatMap((type) => conditions.filter((one) => one.type === type));
  const { type, reason, message } = told.find((one) => one.message) ?? told[0] ?? { type: missing[0] };
  return [`not ${type}`, reason, message].filter(Boolean).join(": ").replaceAll(/\s+/g, " ");
}
