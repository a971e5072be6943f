// SPDX-License-Identifier: Apache-2.0
// The worked example of the rollout, step by step: stable and pinned, an alpha function beside it, an alpha composition, the lab
// moves, one bucket of production moves, promotion, rollback, and what happens when the stable function is gone.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { packageNamespace } from "../harness/packages/package-machine.ts";
import { conditionOf, eventually } from "../harness/plane.ts";
import { stays } from "../harness/stays.ts";
import {
  alphaChoice,
  type BucketKey,
  type BucketScene,
  bucketType,
  functionName,
  stableChoice,
  startBucketScene,
} from "./bucket-scene.ts";
import { compositionRevisionType, functionStatus, functionType, lockType, revisionText } from "./kinds.ts";

const data1 = { namespace: "team-a", name: "data-1" };
const data2 = { namespace: "team-a", name: "data-2" };
const lab1 = { namespace: "team-b", name: "lab-1" };
const buckets = [data1, data2, lab1] as const;
const limits = { revisionHistoryLimit: 4, activeRevisionLimit: 2 };

/** A row of the table. Function revisions are called FA, FB…, composition revisions C1, C2…, in the order they were made. */
interface Row {
  /** The release-channel of the Function. */
  readonly function: string;
  /** Number, state and release-channel of each function revision. */
  readonly functionRevisions: Readonly<Record<string, string>>;
  /** The number of each composition revision. */
  readonly compositionRevisions: Readonly<Record<string, number>>;
  /** What each bucket was made by, according to itself and to what is in it. */
  readonly buckets: Readonly<Record<"data-1" | "data-2" | "lab-1", string>>;
}

let scene: BucketScene;
/** FA, FB…, by their own names. */
const functionNames = new Map<string, string>();
/** C1, C2…, by their own names. */
const compositionNames = new Map<string, string>();
const versions: Record<string, string> = { FA: "v1.0.0", FB: "v1.1.0" };
/** The resource versions of all buckets and what they composed when the last step ended. */
let untouched = "";

before(async () => {
  scene = await startBucketScene({ functionRevisionSelectors: true });
});
after(() => scene[Symbol.asyncDispose]());

async function readRow(): Promise<Row> {
  const owner = await scene.get(functionType, { name: functionName });
  const functionRevisions = (await scene.revisions()).map((one) => {
    const { revision, desiredState } = revisionText(one).spec;
    const text = `${revision}/${desiredState}/${one.metadata.labels?.["release-channel"]}`;
    return [functionNames.get(one.metadata.name ?? "") ?? one.metadata.name, text];
  });
  const { items } = await scene.users.list(compositionRevisionType);
  const compositionRevisions = items.map((one) => {
    const { revision } = one["spec"] as unknown as { revision: number };
    return [compositionNames.get(one.metadata.name ?? "") ?? one.metadata.name, revision];
  });
  return {
    function: owner.metadata.labels?.["release-channel"] ?? "",
    functionRevisions: Object.fromEntries(functionRevisions),
    compositionRevisions: Object.fromEntries(compositionRevisions),
    buckets: await readCells(),
  };
}

async function readCells(): Promise<Row["buckets"]> {
  const made = await Promise.all(buckets.map(async (key) => [key.name, await cellOf(key)]));
  return Object.fromEntries(made) as Row["buckets"];
}

/** Such as C1→FA. What the function wrote must be of the same revision that the bucket names. */
async function cellOf(key: BucketKey): Promise<string> {
  const made = await scene.madeBy(key);
  const ran = functionNames.get(made.function) ?? made.function;
  const { version } = (await scene.composed(key))["data"] as unknown as { version: string };
  assert.equal(version, versions[ran], `what ${key.name} composed is by the revision it names`);
  return `${compositionNames.get(made.composition) ?? made.composition}→${ran}`;
}

/** When the news has reached every bucket all look again, after which the table must be so. */
async function assertRow(row: Row): Promise<void> {
  let cells: object = {};
  await eventually(
    "the news has reached every bucket",
    async () => {
      await scene.look(...buckets);
      cells = await readCells();
      return isDeepStrictEqual(cells, row.buckets);
    },
    () => JSON.stringify(cells),
  );
  await scene.look(...buckets);
  assert.deepEqual(await readRow(), row);
  for (const key of buckets) {
    assert.equal(conditionOf(await scene.bucket(key), "Synced")?.status, "True", key.name);
    assert.deepEqual(await scene.warnings(key), [], key.name);
  }
  untouched = await versionsOfAll();
  await scene.renders(...buckets);
}

async function versionsOfAll(): Promise<string> {
  const all = await Promise.all(
    buckets.map(async (key) => {
      const objects = [await scene.bucket(key), await scene.composed(key)];
      return objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
    }),
  );
  return all.flat().join(" ");
}

/** What is in the Lock, as `name version`. */
async function lockEntries(): Promise<readonly string[]> {
  const lock = await scene.get(lockType, { name: "lock" });
  const packages = (lock["packages"] ?? []) as unknown as { name: string; version: string; source: string }[];
  for (const { source } of packages) assert.equal(source, scene.packageOf("v1.0.0").replace(/:v1\.0\.0$/, ""));
  return packages.map(({ name, version }) => `${functionNames.get(name) ?? name} ${version}`);
}

async function statusOfFunction(): Promise<{ current: string; active: readonly string[] }> {
  const status = functionStatus(await scene.get(functionType, { name: functionName }));
  const shown = (name: string): string => functionNames.get(name) ?? name;
  return { current: shown(status.currentRevision ?? ""), active: (status.activeRevisions ?? []).map(shown) };
}

/** Each revision has its own endpoint, under its own name where the endpoint is a name. */
async function assertEndpoints(): Promise<void> {
  const active = (await scene.revisions()).filter((one) => revisionText(one).spec.desiredState === "Active");
  const endpoints = active.map((one) => {
    const endpoint = revisionText(one).status?.endpoint ?? "";
    const name = { function: functionName, name: one.metadata.name ?? "" };
    assert.ok(scene.machine.isEndpointOf(endpoint, name, true), `${endpoint} of ${name.name}`);
    return endpoint;
  });
  assert.equal(new Set(endpoints).size, active.length);
  assert.deepEqual(
    scene.machine.running(),
    active.map(({ metadata }) => metadata.name).toSorted(),
    "exactly the active ones run",
  );
  const names = active.map(({ metadata }) => metadata.name ?? "");
  for (const name of names) await assertRuntimeObjects(name, new Set(names));
}

/** Each active revision has a secret of its own and, on a cluster, everything else of its own as well. */
async function assertRuntimeObjects(name: string, all: ReadonlySet<string>): Promise<void> {
  const key = { namespace: packageNamespace, name: `${name}-tls-server` };
  const secret = await scene.get({ apiVersion: "v1", kind: "Secret" }, key);
  const pem = Buffer.from((secret["data"] as { "tls.crt"?: string })["tls.crt"] ?? "", "base64");
  const certificate = new X509Certificate(pem);
  if (scene.server === "embedded") return;
  for (const host of [`${name}.${packageNamespace}`, `${functionName}.${packageNamespace}`]) {
    assert.equal(certificate.checkHost(host), host, certificate.subjectAltName ?? "");
  }
  for (const other of [...all].filter((one) => one !== name)) {
    assert.equal(
      certificate.checkHost(`${other}.${packageNamespace}`),
      undefined,
      "its certificate is not valid for another",
    );
  }
  const types: TypeRef[] = [
    { apiVersion: "apps/v1", kind: "Deployment" },
    { apiVersion: "v1", kind: "Service" },
    { apiVersion: "v1", kind: "ServiceAccount" },
  ];
  for (const type of types) {
    assert.ok(await scene.find(type, { namespace: packageNamespace, name }), `${type.kind} ${name}`);
  }
}

suite("the worked example of a rollout", () => {
  test("step 0: stable, pinned", async () => {
    await scene.publish("v1.0.0");
    await scene.install({ version: "v1.0.0", channel: "stable", spec: limits });
    functionNames.set((await scene.serving("v1.0.0")).metadata.name ?? "", "FA");
    compositionNames.set(await scene.compose("stable", stableChoice), "C1");
    for (const key of buckets) await scene.addBucket(key, "stable");
    await assertRow({
      function: "stable",
      functionRevisions: { FA: "1/Active/stable" },
      compositionRevisions: { C1: 1 },
      buckets: { "data-1": "C1→FA", "data-2": "C1→FA", "lab-1": "C1→FA" },
    });
    assert.deepEqual(await lockEntries(), ["FA v1.0.0"]);
    assert.deepEqual(await statusOfFunction(), { current: "FA", active: ["FA"] });
    await assertEndpoints();
    const [revision] = await scene.revisions();
    const { labels, finalizers } = revision?.metadata ?? {};
    assert.deepEqual(labels, { "pkg.crossplane.io/package": functionName, "release-channel": "stable" });
    assert.deepEqual(finalizers, ["revision.pkg.crossplane.io"]);
    const spec = revision?.["spec"] as unknown as Record<string, unknown>;
    assert.equal(spec["image"], scene.packageOf("v1.0.0"));
    assert.equal(spec["tlsServerSecretName"], `${revision?.metadata.name}-tls-server`);
  });

  test("step 1: an alpha function beside it affects no bucket", async () => {
    const before = (await scene.revisions())[0];
    await scene.publish("v1.1.0");
    await scene.install({ version: "v1.1.0", channel: "alpha", spec: limits });
    functionNames.set((await scene.serving("v1.1.0")).metadata.name ?? "", "FB");
    await eventually("the Function reports both", async () => (await statusOfFunction()).active.length === 2);
    assert.equal(await versionsOfAll(), untouched, "no bucket was touched");
    await assertRow({
      function: "alpha",
      functionRevisions: { FA: "1/Active/stable", FB: "2/Active/alpha" },
      compositionRevisions: { C1: 1 },
      buckets: { "data-1": "C1→FA", "data-2": "C1→FA", "lab-1": "C1→FA" },
    });
    assert.deepEqual(await statusOfFunction(), { current: "FB", active: ["FB", "FA"] });
    await eventually("FB has taken the place of FA in the Lock", async () => (await lockEntries())[0] === "FB v1.1.0");
    assert.deepEqual(await lockEntries(), ["FB v1.1.0"]);
    await assertEndpoints();
    const [stable] = await scene.revisions();
    assert.deepEqual([stable?.metadata.labels, stable?.["spec"]], [before?.metadata.labels, before?.["spec"]]);
  });

  test("step 2: an alpha composition that no bucket selects", async () => {
    const name = await scene.compose("alpha", alphaChoice);
    compositionNames.set(name, "C2");
    await scene.until("C2 is valid", compositionRevisionType, { name }, isValid);
    assert.equal(await versionsOfAll(), untouched, "no bucket was touched");
    await assertRow({
      function: "alpha",
      functionRevisions: { FA: "1/Active/stable", FB: "2/Active/alpha" },
      compositionRevisions: { C1: 1, C2: 2 },
      buckets: { "data-1": "C1→FA", "data-2": "C1→FA", "lab-1": "C1→FA" },
    });
    for (const name of compositionNames.keys()) {
      assert.ok(isValid(await scene.get(compositionRevisionType, { name })), name);
    }
  });

  test("step 3: the lab moves", async () => {
    await scene.move("alpha", lab1);
    await assertRow({
      function: "alpha",
      functionRevisions: { FA: "1/Active/stable", FB: "2/Active/alpha" },
      compositionRevisions: { C1: 1, C2: 2 },
      buckets: { "data-1": "C1→FA", "data-2": "C1→FA", "lab-1": "C2→FB" },
    });
    const events = await eventually("the move is reported", async () => {
      const texts = await scene.events(await scene.bucket(lab1));
      return texts.filter((text) => text.includes("SelectComposition") && text.includes(nameOf("C2")));
    });
    assert.deepEqual(events, [`Normal SelectComposition: Selected composition revision: ${nameOf("C2")}`]);
  });

  test("step 4: one bucket of production moves, the other does not", async () => {
    await scene.move("alpha", data2);
    await assertRow({
      function: "alpha",
      functionRevisions: { FA: "1/Active/stable", FB: "2/Active/alpha" },
      compositionRevisions: { C1: 1, C2: 2 },
      buckets: { "data-1": "C1→FA", "data-2": "C2→FB", "lab-1": "C2→FB" },
    });
    await scene.move("stable", data2);
    await scene.look(data2);
    assert.equal(await cellOf(data2), "C1→FA", "and it can go back, before promotion");
  });

  test("step 5: promotion", async () => {
    compositionNames.set(await scene.compose("stable", alphaChoice), "C3");
    await assertRow({
      function: "alpha",
      functionRevisions: { FA: "1/Active/stable", FB: "2/Active/alpha" },
      compositionRevisions: { C1: 1, C2: 2, C3: 3 },
      buckets: { "data-1": "C3→FB", "data-2": "C3→FB", "lab-1": "C2→FB" },
    });
  });

  test("step 6: rollback", async () => {
    assert.equal(await scene.compose("stable", stableChoice), nameOf("C1"), "the old revision counts again");
    await assertRow({
      function: "alpha",
      functionRevisions: { FA: "1/Active/stable", FB: "2/Active/alpha" },
      compositionRevisions: { C1: 4, C2: 2, C3: 3 },
      buckets: { "data-1": "C1→FA", "data-2": "C1→FA", "lab-1": "C2→FB" },
    });
    assert.deepEqual(await lockEntries(), ["FB v1.1.0"]);
  });

  test("a third function revision at a limit of two ends the stable one; buckets that chose it fail and keep their resources", async () => {
    const composedBefore = await Promise.all([data1, data2].map((key) => scene.composed(key)));
    await scene.publish("v1.2.0");
    await scene.install({ version: "v1.2.0", channel: "beta", spec: limits });
    functionNames.set((await scene.serving("v1.2.0")).metadata.name ?? "", "FC");
    await eventually("FA is inactive and has ended", async () => {
      const { active } = await statusOfFunction();
      return active.join() === "FC,FB" && scene.machine.running().length === 2;
    });
    await scene.look(data1, data2, lab1);
    const problem = `no active FunctionRevision of Function "${functionName}" matches release-channel=stable`;
    const where = `cannot compose resources: cannot run Composition pipeline step "compose"`;
    const message = `${where}: cannot get gRPC client connection for Function "${functionName}": ${problem}`;
    for (const key of [data1, data2]) {
      const failed = await scene.until(
        `${key.name} fails`,
        bucketType,
        key,
        (one) => conditionOf(one, "Synced")?.status === "False",
      );
      assert.deepEqual(conditionOf(failed, "Synced"), {
        type: "Synced",
        status: "False",
        reason: "ReconcileError",
        message,
      });
      const events = await eventually("the event is written", async () => {
        const warnings = await scene.warnings(key);
        return warnings.length > 0 && warnings;
      });
      assert.deepEqual(events, [`Warning ComposeResources: ${message}`]);
    }
    const composedNow = (): Promise<typeof composedBefore> =>
      Promise.all([data1, data2].map((key) => scene.composed(key)));
    await stays("what was composed", composedNow, composedBefore);
    assert.deepEqual(await scene.madeBy(lab1), { composition: nameOf("C2"), function: functionOf("FB") });
    await assertEndpoints();
    await assertRetired(functionOf("FA"));
  });
});

/** Nothing of a revision that is not active is left. */
async function assertRetired(name: string): Promise<void> {
  const revision = await eventually("its endpoint is gone", async () => {
    const found = (await scene.revisions()).find(({ metadata }) => metadata.name === name);
    return found !== undefined && revisionText(found).status?.endpoint === undefined && found;
  });
  assert.equal(revisionText(revision).spec.desiredState, "Inactive");
  const namespace = packageNamespace;
  await scene.gone({ apiVersion: "v1", kind: "Secret" }, { namespace, name: `${name}-tls-server` });
  if (scene.server === "embedded") return;
  await scene.gone({ apiVersion: "apps/v1", kind: "Deployment" }, { namespace, name });
  await scene.gone({ apiVersion: "v1", kind: "Service" }, { namespace, name });
}

function isValid(revision: KubeObject): boolean {
  return conditionOf(revision, "ValidPipeline")?.status === "True";
}

const nameIn = (names: ReadonlyMap<string, string>, short: string): string =>
  [...names].find(([, shown]) => shown === short)?.[0] ?? short;
const nameOf = (short: string): string => nameIn(compositionNames, short);
const functionOf = (short: string): string => nameIn(functionNames, short);
