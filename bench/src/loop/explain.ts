// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import { conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import { builtCommand } from "../../../tools/publish/built-command.ts";
import { readAccess } from "../apiserver/access.ts";
import { startCommand } from "../composition/child.ts";
import { composition, definition, pair } from "../composition/manifests.ts";
import { userOf } from "../composition/setup.ts";
import { type Figure, figure } from "../measure/figure.ts";

/** How much. */
interface ExplainEffort {
  readonly rounds: number;
  /** How many composite resources fail. */
  readonly count: number;
}

const broken = 3;

/** The time of `purlin explain` on `purlin up`, from the start of the command to its end: of one object, and of all. */
export async function explainFigures({ rounds, count }: ExplainEffort): Promise<Figure[]> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "bench-explain-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  starting.use(await startCommand(["up", "--data-dir", directory], (line) => line.includes("registry at")));
  const users = starting.adopt(userOf(readAccess(join(directory, "kubeconfig"))), (client) => client.close());
  await makeBroken(users, count);
  const time = (...args: readonly string[]): number => timeCommand(["explain", ...args, "--data-dir", directory]);
  // The first start of a build compiles it.
  time("pair/p0");
  const one: number[] = [];
  const all: number[] = [];
  for (let round = 0; round < rounds; round++) {
    one.push(time("pair/p0"));
    all.push(time() / 1000);
  }
  return [
    figure("explain: one composite resource", "ms", one, { relation: "at most", value: 300 }),
    figure(`explain: ${count} composite resources with one cause`, "s", all, { relation: "at most", value: 5 }),
  ];
}

/** Composite resources whose function is not installed. */
async function makeBroken(users: KubeClient, count: number): Promise<void> {
  await users.apply(definition, { fieldManager: "bench" });
  await users.apply(composition(undefined), { fieldManager: "bench" });
  const names = Array.from({ length: count }, (_, index) => `p${index}`);
  await until(
    async () => (await users.apply(pair("p0"), { fieldManager: "bench" }).catch(() => undefined)) !== undefined,
  );
  for (const name of names) await users.apply(pair(name), { fieldManager: "bench" });
  await until(async () => (await users.list(pair("p0"))).items.every(hasFailed));
}

function hasFailed(object: KubeObject): boolean {
  return conditionsOf(object).some(({ type, status }) => type === "Synced" && status === "False");
}

async function until(look: () => Promise<boolean>): Promise<void> {
  while (!(await look())) await setTimeout(200);
}

function timeCommand(args: readonly string[]): number {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [builtCommand(), ...args], { encoding: "utf8" });
  const time = performance.now() - started;
  if (status !== broken || !stdout.includes("E11")) throw new Error(`${args.join(" ")}: ${status}: ${stdout}${stderr}`);
  return time;
}
