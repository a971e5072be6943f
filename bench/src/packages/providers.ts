// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createFunctionProcesses, findEgress, mountPoints } from "@purlin/function-process";
import { descendants } from "../composition/usage.ts";
import { type Figure, figure } from "../measure/figure.ts";
import { fineProcessorTime } from "../measure/process-usage.ts";
import { requireSandbox } from "./plane.ts";

const providers = 5;
/** After their start: garbage collection, and timers of programs that have just started. */
const restMs = 2_000;

/**
 * What the supervision of one idle Provider uses: what this process uses beyond what it uses without a Provider, and what runs around the
 * program in its sandbox and network. The program itself, which waits and does nothing, is included.
 */
export async function providerFigures({ rounds, idleMs }: Idling): Promise<Figure[]> {
  const sandbox = await requireSandbox();
  const egress = await findEgress(sandbox);
  const directory = mkdtempSync(join(tmpdir(), "purlin-bench-providers-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const root = join(directory, "root");
  for (const mount of mountPoints) mkdirSync(join(root, mount), { recursive: true });
  writeFileSync(join(root, "main.mjs"), "setInterval(() => {}, 2 ** 30);\n");
  const processes = stack.use(createFunctionProcesses({ directory: join(directory, "state"), env: {} }));
  const before = new Set(descendants(process.pid));
  const alone = await idleTime([process.pid], { rounds, idleMs });
  const running = Array.from({ length: providers }, (_, at) =>
    processes.run({
      name: `provider-${at}`,
      cwd: "/",
      program: {
        kind: "image",
        root,
        process: { entrypoint: ["node", "/main.mjs"], cmd: [], env: [], workingDir: "/", user: "" },
        env: {},
        needsNode: true,
        sandbox: sandbox.isSupported ? sandbox : undefined,
        socket: join(directory, `${at}.sock`),
        provider: {
          folders: {},
          scratch: [],
          api: { host: "127.0.0.1", port: 1 },
          egress: egress.isSupported ? { kind: egress.kind, path: egress.path } : undefined,
        },
      },
    }),
  );
  for (const one of running) await one.served();
  await delay(restMs);
  const pids = descendants(process.pid).filter((pid) => !before.has(pid));
  const own = await idleTime([process.pid], { rounds, idleMs });
  const others = await idleTime(pids, { rounds, idleMs });
  const least = Math.min(...alone);
  const supervising = own.map((time) => (time - least) / providers);
  const around = others.map((time) => time / providers);
  const network = egress.isSupported ? `private network by ${egress.kind}` : "network of the machine";
  const target = { relation: "at most", value: 1 } as const;
  const what = `providers: idle processor time, a Provider, ${network}`;
  return [
    figure("providers: idle processor time of the same process without Providers", "ms/s", alone),
    figure(`${what}: its supervision`, "ms/s", supervising),
    figure(`${what}: its program, sandbox and network`, "ms/s", around),
    figure(
      `${what}: all of it`,
      "ms/s",
      supervising.map((time, at) => time + (around[at] ?? 0)),
      target,
    ),
  ];
}

interface Idling {
  readonly rounds: number;
  readonly idleMs: number;
}

/** Milliseconds of processor time of processes in a second, in rounds. */
async function idleTime(pids: readonly number[], { rounds, idleMs }: Idling): Promise<number[]> {
  const used = (): number => pids.reduce((sum, pid) => sum + fineProcessorTime(pid), 0);
  const values: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = used();
    await delay(idleMs);
    values.push(((used() - start) * 1000) / (idleMs / 1000));
  }
  return values;
}
