// SPDX-License-Identifier: Apache-2.0
// Deletions that race with the creation of a Usage: an object is never deleted after the write that protects it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { startTestServer, type TestServer } from "@purlin/kube-controller/testing";
import { isDeletionDenied } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { configMapType, refTo, usageType } from "../../test/usage-scene.ts";
import { usageCrd } from "../crds/composition-crds.ts";
import { createUsageGuard } from "./definition-guard.ts";

// 10,000 deletions. Each test is a part of them, so that a slow machine shows progress.
const parts = 10;
const rounds = 1_000;
const atOnce = 100;
const seed = Number(process.env["PROPERTY_SEED"] ?? 1) >>> 0;

/** Numbers from 0 to 1, the same for the same seed. */
function randomNumbers(from: number): () => number {
  let state = from || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await (turn % 3 === 2 ? new Promise(setImmediate) : Promise.resolve());
}

let server: TestServer;
let users: KubeClient;
before(async () => {
  server = await startTestServer({ guardDelete: createUsageGuard() });
  users = createKubeClient(server.connect("users"));
  await installCrds(users, [usageCrd()]);
});
after(async () => {
  await users?.close();
  await server?.stop();
});

const random = randomNumbers(seed);
const counts = { denied: 0, deleted: 0 };

async function round(namespace: string, name: string): Promise<void> {
  const metadata = { namespace, name, labels: { round: name }, finalizers: ["example.org/wait"] };
  await users.create({ ...configMapType, metadata });
  const [first, second, kind] = [Math.floor(random() * 8), Math.floor(random() * 8), random()];
  const protect = async (): Promise<KubeObject> => {
    await turns(first);
    const usage = { ...usageType, metadata: { namespace, name } };
    return users.create({ ...usage, spec: { of: refTo(name), reason: "r" } });
  };
  const remove = async (): Promise<KubeObject | undefined> => {
    await turns(second);
    if (kind < 0.2) {
      await users.deleteCollection(configMapType, { namespace, labelSelector: `round=${name}` });
      return undefined;
    }
    const propagationPolicy = kind < 0.5 ? "Foreground" : "Background";
    return users.delete({ ...configMapType, namespace, name }, { propagationPolicy });
  };
  const [usage, removed] = await Promise.allSettled([protect(), remove()]);
  assert.equal(usage.status, "fulfilled");
  const versionOf = ({ metadata: { resourceVersion } }: KubeObject): number => Number(resourceVersion);
  if (removed.status === "rejected") assert.ok(isDeletionDenied(removed.reason), String(removed.reason));
  else {
    // The garbage collector may change the object later: the answer has the version of the deletion.
    const deleted = removed.value ?? (await users.get(configMapType, { namespace, name }));
    assert.ok(deleted.metadata.deletionTimestamp, name);
    assert.ok(versionOf(deleted) < versionOf(usage.value), `${name} was deleted after its Usage was stored`);
  }
  counts[removed.status === "fulfilled" ? "deleted" : "denied"] += 1;
}

for (let part = 0; part < parts; part += 1) {
  test(`of ${rounds} deletions that race with a Usage, none deletes what is protected (${part + 1} of ${parts}, seed ${seed})`, async () => {
    for (let from = part * rounds; from < (part + 1) * rounds; from += atOnce) {
      const namespace = `n-${from}`;
      await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
      await Promise.all(Array.from({ length: atOnce }, (_, at) => round(namespace, `r-${from + at}`)));
    }
  });
}

test("a tenth of the deletions and more came first, and as many came after their Usage", () => {
  const all = parts * rounds;
  assert.equal(counts.denied + counts.deleted, all);
  assert.ok(counts.denied > all / 10 && counts.deleted > all / 10, JSON.stringify(counts));
});
