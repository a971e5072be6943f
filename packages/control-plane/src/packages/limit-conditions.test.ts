// SPDX-License-Identifier: Apache-2.0
// A function of a package that uses too much: what it exceeded is in the conditions that `kubectl describe` shows, of its revision and of
// the Function.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findSandbox, type SandboxSupport } from "@purlin/function-process";
import { eventually } from "@purlin/kube-controller/testing";
import { conditionOf, conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import { startProcessScene } from "../../test/embedded-api.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const mebibyte = 1024 ** 2;
const limits = {
  // Of several limits that are exceeded at once, memory comes first: other attacks must not reach it.
  memoryBytes: 2048 * mebibyte,
  processes: 60,
  openFiles: 100,
  cpus: 0.5,
  tmpBytes: 8 * mebibyte,
  logBytesPerSecond: 65_536,
};

interface Attack {
  /** Statements of a module that has `fs`, `spawn`, `tmpdir`, `Worker` and `later`. */
  readonly text: string;
  /** The text of the condition of the revision. */
  readonly says: RegExp;
  /** The same in a sandbox, where another limit comes first. */
  readonly inSandbox?: RegExp;
  /** It continues, held to the limit. */
  readonly serves?: boolean;
  readonly limits?: Partial<typeof limits>;
}

const attacks: Readonly<Record<string, Attack>> = {
  memory: {
    text: "const kept = []; later(() => kept.push(Buffer.alloc(20_000_000, 1)));",
    says: /^the function exceeded its memory limit of 256Mi(?: by using \S+)? and was stopped; raise --function-memory-limit/,
    limits: { memoryBytes: 256 * mebibyte },
  },
  processes: {
    text: 'later(() => { for (let at = 0; at < 40; at++) spawn(process.execPath, ["-e", "setTimeout(() => {}, 20000)"]).on("error", () => {}); });',
    says: /^the function exceeded its process limit of 60 by using \d+ and was stopped; raise --function-process-limit/,
  },
  "temporary files": {
    text: 'let at = 0; later(() => fs.writeFileSync(tmpdir() + "/f" + at++, Buffer.alloc(2_000_000, 1)));',
    says: /^the function exceeded its temporary file limit of 8Mi by using \S+ and was stopped; raise --function-tmp-limit/,
    inSandbox: /last output: .*ENOSPC/,
  },
  "open files": {
    text: 'later(() => { try { for (;;) fs.openSync("/dev/null"); } catch {} });',
    says: /the function reached its open file limit of 100: it cannot open more; raise --function-open-file-limit/,
    serves: true,
  },
  output: {
    text: 'later(() => console.log("x".repeat(100_000)));',
    says: /the function reached its log limit of 64Ki a second: further output was discarded; raise --function-log-limit/,
    serves: true,
  },
  processors: {
    // Several threads exceed a low limit on a busy machine, too.
    text: 'for (let at = 0; at < 2; at++) new Worker("for (;;);", { eval: true });',
    says: /the function reached its CPU limit of 100m: it is slowed down; raise --function-cpu-limit/,
    serves: true,
    limits: { cpus: 0.1 },
  },
};

const moduleOf = (text: string): string => `
import * as fs from "node:fs";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { Worker } from "node:worker_threads";
import { response } from "@purlin/function-sdk";
const later = (task) => setTimeout(() => setInterval(task, 100), 1000);
${text}
export default (req) => response.to(req);
`;

const healthOf = (object: KubeObject, type: string): string => {
  const { status, message = "" } = conditionOf(conditionsOf(object), type);
  return `${status} ${message}`;
};

const machine = await findSandbox();
const modes: readonly SandboxSupport[] = [
  ...(machine.isSupported ? [machine] : []),
  { isSupported: false, reason: "the test has none" },
];

for (const sandbox of modes) {
  const mode = sandbox.isSupported ? "in a sandbox" : "without a sandbox";
  for (const own of new Set(Object.values(attacks).map((attack) => attack.limits))) {
    const chosen = Object.entries(attacks).filter(
      ([, attack]) =>
        attack.limits === own &&
        // The other ones are measured in the same way in both.
        !(machine.isSupported && !sandbox.isSupported && attack.inSandbox === undefined),
    );
    if (chosen.length === 0) continue;
    const names = chosen.map(([name]) => name).join(", ");
    test(`what a function exceeds is in the conditions, ${mode}: ${names}`, async (t) => {
      await using scene = await startProcessScene({ supervision: { limits: { ...limits, ...own } }, sandbox });
      for (const [name, attack] of chosen) await t.test(name, () => assertSaid(scene, { name, attack, sandbox }));
    });
  }
}

type Scene = Awaited<ReturnType<typeof startProcessScene>>;

async function assertSaid(
  scene: Scene,
  { name, attack, sandbox }: { readonly name: string; readonly attack: Attack; readonly sandbox: SandboxSupport },
): Promise<void> {
  const { text, says, inSandbox, serves = false } = attack;
  const { users } = scene.api;
  const version = name.replaceAll(" ", "-");
  await scene.publish(version, moduleOf(text));
  await scene.install(version, { revisionHistoryLimit: 1 });
  const wanted = (sandbox.isSupported ? inSandbox : undefined) ?? says;
  const expected = serves ? "True" : "False";
  const isSaid = (health: string): boolean => {
    const [status = "", ...words] = health.split(" ");
    return status === expected && wanted.test(words.join(" "));
  };
  let last = "";
  const revision = await eventually("the revision says what was exceeded", async () => {
    const { items } = await users.list(revisionType, {});
    const found = items.find(({ spec }) => String((spec as { image?: string }).image).endsWith(`:${version}`));
    last = found === undefined ? "" : healthOf(found, "RuntimeHealthy");
    return isSaid(last) && found;
  }).catch((error: unknown) => assert.fail(`${last}; ${String(error)}`));
  const { message } = conditionOf(conditionsOf(revision), "RuntimeHealthy");
  await eventually("the Function says it, too", async () => {
    const health = healthOf(await users.get(functionType, { name: "fn" }), "Healthy");
    return health.startsWith(expected) && health.includes(String(message).split(";")[0] ?? "");
  });
}
