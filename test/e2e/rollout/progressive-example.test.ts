// SPDX-License-Identifier: Apache-2.0
// The files of examples/progressive-rollout, with the commands of its guide, on the API server of the suite.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { stringAt } from "@purlin/kube-objects/object";
import { type Outcome, runInProcess } from "../../../packages/cli/test/test-io.ts";
import { type PackagePlane, startPackagePlane } from "../harness/packages/package-plane.ts";
import { conditionOf, eventually } from "../harness/plane.ts";

const example = fileURLToPath(new URL("../../../examples/progressive-rollout/", import.meta.url));
const bucketType = { apiVersion: "progressive.example.org/v1", kind: "Bucket" };
const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
const image = "acme/function-bucket";

let plane: PackagePlane;
let folder: string;
let kubeconfig: string;

async function purlin(...args: readonly string[]): Promise<Outcome> {
  const outcome = await runInProcess([...args, "--kubeconfig", kubeconfig], { cwd: folder, env: {} });
  assert.equal(outcome.exitCode, 0, `purlin ${args.join(" ")}: ${outcome.stderr}${outcome.stdout}`);
  return outcome;
}

/** Applies the files of a folder of the example, with packages of the registry of the suite. */
async function apply(part: string, ...only: readonly string[]): Promise<void> {
  for (const name of readdirSync(join(example, part)).filter((one) => only.length === 0 || only.includes(one))) {
    const text = readFileSync(join(example, part, name), "utf8");
    writeFileSync(join(folder, name), text.replaceAll("127.0.0.1:5603", plane.registry.address));
    await purlin("apply", "-f", name);
  }
}

async function untilPhase(name: string, phase: string): Promise<void> {
  await plane.until(
    `${name} is ${phase}`,
    rolloutType,
    { name },
    (one) => stringAt(one, ["status", "phase"]) === phase,
  );
}

async function approved(name: string): Promise<void> {
  await eventually(`${name} waits for an approval`, async () => {
    return (await purlin("rollout", "status", name)).stdout.includes("Waits for an approval");
  });
  assert.match(
    (await purlin("rollout", "approve", name)).stdout,
    /^Step "[^"]+" of FunctionRollout "[^"]+" is approved\n$/,
  );
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "e2e-example-"));
  plane = await startPackagePlane({ functionRevisionSelectors: true, functionRollouts: true });
  kubeconfig = await plane.kubeconfig();
  for (const version of ["v1.0.0", "v1.1.0", "v2.0.0"]) {
    const source = join(example, version, "function.ts");
    await plane.registry.publish({ name: `${image}:${version}`, version, source });
  }
  await apply("platform");
  await apply("steps", "1-platform.yaml");
  await apply("steps", "2-buckets.yaml");
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test("ten buckets are ready on the first version", async () => {
  await eventually("ten buckets are ready", async () => {
    const { items } = await plane.users.list(bucketType, { namespace: "shop" });
    return items.length === 10 && items.every((one) => conditionOf(one, "Ready")?.status === "True");
  });
});

test("a version that deletes something goes back in its shadow step, and names whom it concerns", async () => {
  const ref = `${plane.registry.address}/${image}:v2.0.0`;
  await purlin("rollout", "start", "function-bucket", "--name", "bucket-v2", "--image", ref);
  await untilPhase("bucket-v2", "RolledBack");
  const { stdout } = await purlin("rollout", "preview", "bucket-v2");
  assert.match(stdout, /^10 composite resources compared; nothing was applied\.\n/);
  const [, lost = ""] = /\ndelete: 2\n([\s\S]*?)\n\n/.exec(stdout) ?? [];
  assert.deepEqual(lost.match(/Bucket \S+|delete .*/g), [
    "Bucket shop/data-3",
    'delete ConfigMap "backup"',
    "Bucket shop/data-7",
    'delete ConfigMap "backup"',
  ]);
  for (const name of ["data-3", "data-7"]) await purlin("get", "configmap", `${name}-backup`, "-n", "shop");
});

test("a good version reaches all buckets, after an approval of each step", async () => {
  const ref = `${plane.registry.address}/${image}:v1.1.0`;
  const steps = ["--percent", "20,100", "--approve"];
  await purlin("rollout", "start", "function-bucket", "--name", "bucket-v1-1", "--image", ref, ...steps);
  await approved("bucket-v1-1");
  await eventually("the second step has begun", async () => {
    return (await purlin("rollout", "status", "bucket-v1-1")).stdout.includes("▶ step-2: 20 %, approval");
  });
  await approved("bucket-v1-1");
  await untilPhase("bucket-v1-1", "Succeeded");
  const { stdout } = await purlin("rollout", "status", "bucket-v1-1");
  assert.match(stdout, /10 of 10 composite resources moved, 10 belong on the candidate/);
});
