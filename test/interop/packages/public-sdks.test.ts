// SPDX-License-Identifier: Apache-2.0
// Functions of the public SDKs on Debian, and one in Go on nothing, from a folder of files to composed resources.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeObject } from "@purlin/kube-client";
import { type EmbeddedPlane, purlin, startPlane } from "./embedded-plane.ts";
import { goPackage, openWorkshop, pythonPackage, typescriptPackage, type Workshop } from "./function-packages.ts";
import { compositionOf, definition, greeting } from "./greeting-pipeline.ts";

let workshop: Workshop;
/** Files by the name of the function. */
let files: Readonly<Record<string, string>>;

before(async () => {
  workshop = openWorkshop();
  files = {
    "function-python": await pythonPackage(workshop),
    "function-typescript": await typescriptPackage(workshop),
    "function-go": await goPackage(workshop),
  };
});
after(() => workshop[Symbol.dispose]());

const sandboxes = {
  "in the sandbox": { sandbox: true, twins: ["function-go-twin", "function-python-twin"] },
  // Without one they must be told where to listen, and they are.
  "without a sandbox": { sandbox: false, twins: ["function-go-twin", "function-python-twin"] },
} as const;

for (const [where, { sandbox, twins }] of Object.entries(sandboxes)) {
  test(`public SDKs and a static program compose side by side, ${where}`, async () => {
    await using plane = await startPlane({ sandbox });
    const names = await install(plane, twins);
    await plane.users.apply(definition, { fieldManager: "user" });
    await plane.users.apply(compositionOf(names), { fieldManager: "user" });
    await composed(plane);
    const maps = await mapsOf(plane);
    assert.deepEqual(maps["python"]?.["greeting"], "hello from Python");
    assert.deepEqual(maps["typescript"]?.["greeting"], "hello from TypeScript");
    assert.deepEqual(maps["go"]?.["greeting"], "hello from Go");
    // Twins come later in the pipeline: what is there is theirs.
    assert.equal(maps["go"]?.["function"], "function-go-twin");
    assert.equal(maps["python"]?.["function"], "function-python-twin");
    for (const one of Object.values(maps)) if (sandbox) assert.equal(one["uid"], "2000");
    const address = maps["go"]?.["address"];
    if (sandbox) assert.deepEqual([address, maps["go"]?.["metrics"]], ["[::]:9443", "[::]:8080"]);
    else
      assert.match(
        address ?? "",
        /^127\.0\.0\.1:\d+$/,
        "without a network of its own it is reachable on loopback only",
      );
  });
}

/** Installs every package under its own name, and some a second time, and waits until all are healthy. */
async function install(plane: EmbeddedPlane, twins: readonly string[]): Promise<readonly string[]> {
  const installed: string[] = [];
  for (const [name, file] of Object.entries(files)) {
    const image = await plane.push(file, `acme/${name}:v1`);
    for (const one of [name, ...twins.filter((twin) => twin === `${name}-twin`)]) {
      // Two Functions of one source quarrel over the Lock: the twin comes from a repository of its own.
      const reference = one === name ? image : await plane.push(file, `acme/${one}:v1`);
      await purlin("xpkg", "install", "function", reference, one, "--data-dir", plane.directory);
      installed.push(one);
    }
  }
  for (const name of installed) {
    const ref = { apiVersion: "pkg.crossplane.io/v1", kind: "Function", name };
    await plane.until(`${name} is healthy`, ref, (found) => statusOf(found, "Healthy") === "True");
  }
  return installed;
}

async function composed({ users, until }: EmbeddedPlane): Promise<void> {
  const one = greeting("one");
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      await users.create(one);
      break;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(200);
    }
  }
  const ref = { apiVersion: one.apiVersion, kind: one.kind, name: "one", namespace: "default" };
  await until("the greeting is ready", ref, (found) => statusOf(found, "Ready") === "True");
}

async function mapsOf({ users }: EmbeddedPlane): Promise<Readonly<Record<string, Record<string, string>>>> {
  const labelSelector = "crossplane.io/composite=one";
  const { items } = await users.list({ apiVersion: "v1", kind: "ConfigMap" }, { namespace: "default", labelSelector });
  return Object.fromEntries(
    items.map((item) => {
      const data = item["data"] as Record<string, string>;
      return [data["language"], data];
    }),
  );
}

function statusOf(object: KubeObject, type: string): string | undefined {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.find((one) => one.type === type)?.status;
}
