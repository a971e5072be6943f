// SPDX-License-Identifier: Apache-2.0
// Real Providers on one machine: installed from a registry, run as child processes, each with its own account.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type EmbeddedPlane, purlin, startPlane } from "../packages/embedded-plane.ts";
import { openWorkshop, type Workshop } from "../packages/function-packages.ts";
import {
  bulkyCrds,
  crd,
  estateFunction,
  fleetObjects,
  goProvider,
  kitProvider,
  pythonProvider,
} from "./provider-packages.ts";

const sandbox = process.env["SANDBOX"] !== "none";
const packages = "pkg.crossplane.io/v1";
const provider = { apiVersion: packages, kind: "Provider" };
const revision = { apiVersion: packages, kind: "ProviderRevision" };
const fleet = { apiVersion: "harbour.example.org/v1", kind: "Fleet" };
const namespace = "default";

let plane: EmbeddedPlane;
let workshop: Workshop;
before(async () => {
  workshop = openWorkshop();
  plane = await startPlane({ sandbox });
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  workshop?.[Symbol.dispose]();
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

const statusOf = (object: KubeObject): Record<string, unknown> => (object["status"] ?? {}) as Record<string, unknown>;

function conditionIn(object: KubeObject, type: string): Condition | undefined {
  return (statusOf(object)["conditions"] as Condition[] | undefined)?.find((one) => one.type === type);
}

const isTrue = (object: KubeObject, type: string): boolean => conditionIn(object, type)?.status === "True";

async function install(kind: string, name: string, image: string): Promise<void> {
  const object = { apiVersion: packages, kind, metadata: { name }, spec: { package: image } };
  await plane.users.apply(object as KubeObject, { fieldManager: "user", force: true });
}

async function isHealthy(kind: string, name: string): Promise<KubeObject> {
  const ref = { apiVersion: packages, kind, name };
  return plane.until(`${name} is healthy`, ref, (one) => isTrue(one, "Healthy") && isTrue(one, "Installed"));
}

/** The message of the condition of a Provider, as soon as it matches. */
async function untilItSays(name: string, pattern: RegExp): Promise<string> {
  const says = (one: KubeObject): string => conditionIn(one, "Healthy")?.message ?? "";
  return says(await plane.until(`${name} says ${pattern}`, { ...provider, name }, (one) => pattern.test(says(one))));
}

async function currentRevision(name: string): Promise<KubeObject> {
  const { currentRevision: current } = statusOf(await plane.users.get(provider, { name })) as {
    currentRevision: string;
  };
  return plane.users.get(revision, { name: current });
}

const push = async (file: Promise<string>, name: string): Promise<string> => plane.push(await file, `acme/${name}`);

async function createFleet(name: string, ships: number): Promise<void> {
  await plane.users.create({ ...fleet, metadata: { name, namespace }, spec: { ships } } as KubeObject);
}

async function fleetOf(name: string, version: string): Promise<void> {
  const ref = { ...fleet, namespace, name };
  await plane.until(
    `${version} looks after ${name}`,
    ref,
    (one) => isTrue(one, "Ready") && statusOf(one)["version"] === version,
  );
}

/** The processes of a version of the Provider in Go. */
function processesOf(version: string): readonly number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    try {
      const [program = "", ...words] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return program.endsWith("/provider") && words.includes(`-version=${version}`);
    } catch {
      return false;
    }
  });
}

async function isAuthenticated(token: string): Promise<boolean> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  const answer = await plane.users.raw({ method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews", body });
  return (answer as { status: { authenticated?: boolean } }).status.authenticated === true;
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let left = 600; left > 0; left--) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`waited in vain: ${what}`);
}

const estate = { apiVersion: "estates.example.org/v1", kind: "Estate" };

async function defineEstates(): Promise<void> {
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  const definition = {
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: "estates.estates.example.org" },
    spec: {
      scope: "Namespaced",
      group: "estates.example.org",
      names: { kind: "Estate", plural: "estates" },
      versions: [{ name: "v1", served: true, referenceable: true, schema }],
    },
  };
  const composition = {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "estates" },
    spec: {
      compositeTypeRef: estate,
      mode: "Pipeline",
      pipeline: [{ step: "compose", functionRef: { name: "function-estate" } }],
    },
  };
  for (const object of [definition, composition]) await plane.users.create(object as unknown as KubeObject);
  const ref = { apiVersion: "apiextensions.crossplane.io/v2", kind: definition.kind, name: definition.metadata.name };
  await plane.until("estates are served", ref, (one) => isTrue(one, "Established"));
}

test("Providers in Go, in Python and on the kit, one of them with 50 CRDs, become healthy and compose for one XR", async () => {
  const file = await goProvider(workshop, {
    objects: [...fleetObjects, ...bulkyCrds("bulk.example.org", 50, 110_000)],
  });
  const [go, python, kit, estates] = await Promise.all([
    plane.push(file, "acme/provider-fleet:v1"),
    push(pythonProvider(workshop), "provider-garden:v1"),
    push(kitProvider(workshop), "provider-files:v1"),
    push(estateFunction(workshop), "function-estate:v1"),
  ]);
  await install("Provider", "provider-fleet", go);
  await install("Provider", "provider-garden", python);
  await install("Provider", "provider-files", kit);
  await install("Function", "function-estate", estates);
  await defineEstates();
  const [found] = await Promise.all([
    isHealthy("Provider", "provider-fleet"),
    isHealthy("Provider", "provider-garden"),
    isHealthy("Provider", "provider-files"),
    isHealthy("Function", "function-estate"),
  ]);
  assert.ok(found);
  const { objectRefs } = statusOf(await currentRevision("provider-fleet")) as { objectRefs: unknown[] };
  assert.ok(objectRefs.length >= 50, `${objectRefs.length} objects`);
  await plane.users.create({ ...estate, metadata: { name: "home", namespace }, spec: {} } as KubeObject);
  const ref = { ...estate, namespace, name: "home" };
  await plane.until("all Providers did their part", ref, (one) => isTrue(one, "Ready"));
});

test("a webhook of a package is called, and the lease of its leader election is held", async () => {
  await createFleet("north", 2);
  await fleetOf("north", "v1");
  await assert.rejects(createFleet("armada", 51), /a fleet has at most 50 ships/);
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
  const found = await plane.users.get(lease, { namespace: "crossplane-system", name: "leader-provider-fleet" });
  assert.match((found["spec"] as { holderIdentity: string }).holderIdentity, /./);
});

test("another Provider with the same ports runs beside it, and its condition shows what it may not do", async () => {
  const objects = [crd("greedy.example.org", "Keg")];
  await install(
    "Provider",
    "provider-greedy",
    await push(goProvider(workshop, { name: "provider-greedy", version: "greedy", objects }), "provider-greedy:v1"),
  );
  await isHealthy("Provider", "provider-greedy");
  const name = (await currentRevision("provider-greedy")).metadata.name ?? "";
  const ref = { ...revision, name };
  const text = (one: KubeObject): string => conditionIn(one, "RuntimeHealthy")?.message ?? "";
  const found = await plane.until("the denied request is shown", ref, (one) => text(one).includes("denied"));
  assert.match(text(found), /cannot (list|watch) resource "fleets" in API group "harbour.example.org"/);
  assert.match(
    text(found),
    new RegExp(`bind a ClusterRole with that right to ServiceAccount crossplane-system/${name}`),
  );
  await plane.users.delete({ ...provider, name: "provider-greedy" });
  await until("its process has ended", () => processesOf("greedy").length === 0);
});

test("a Provider that is killed is started again", async () => {
  const [pid] = processesOf("v1");
  // 0 would kill the process group of the tests.
  assert.ok(pid, "it runs");
  process.kill(pid, "SIGKILL");
  await until("another process runs", () => processesOf("v1").some((one) => one !== pid));
  await isHealthy("Provider", "provider-fleet");
  const changed = { ...fleet, metadata: { name: "north", namespace }, spec: { ships: 3 } };
  await plane.until("the webhook answers again", { ...provider, name: "provider-fleet" }, (one) =>
    isTrue(one, "Healthy"),
  );
  await plane.users.apply(changed as KubeObject, { fieldManager: "user", force: true });
  await plane.until(
    "the fleet has grown",
    { ...fleet, namespace, name: "north" },
    (one) => statusOf(one)["ships"] === 3,
  );
});

test("a Provider is upgraded and rolled back; the old process ends and its token with it", async () => {
  const { metadata } = await currentRevision("provider-fleet");
  const { package: image } = (await plane.users.get(provider, { name: "provider-fleet" }))["spec"] as {
    package: string;
  };
  const token = readFileSync(`${plane.directory}/providers/${metadata.name}/serviceaccount/token`, "utf8");
  assert.equal(statSync(`${plane.directory}/providers/${metadata.name}/serviceaccount/token`).mode & 0o077, 0);
  await install("Provider", "provider-fleet", await push(goProvider(workshop, { version: "v2" }), "provider-fleet:v2"));
  await fleetOf("north", "v2");
  await until("the old process has ended", () => processesOf("v1").length === 0);
  await until("its token has ended", async () => !(await isAuthenticated(token)));
  await assert.rejects(createFleet("armada", 51), /a fleet has at most 50 ships/, "the webhook is that of v2");
  await install("Provider", "provider-fleet", image);
  await fleetOf("north", "v1");
  await until("v2 has ended", () => processesOf("v2").length === 0);
});

test("logs of a Provider are shown", async () => {
  const text = await purlin("logs", "provider-fleet", "--data-dir", plane.directory);
  assert.match(text, /Starting (Controller|workers)|leader/i);
});

test("a CRD of another package and a program that ends at once are reported with the next step", async () => {
  const thief = await push(goProvider(workshop, { name: "provider-thief", version: "thief" }), "provider-thief:v1");
  const objects = [crd("broken.example.org", "Shard")];
  const wish = { name: "provider-broken", version: "broken", words: ["-nonsense"], objects };
  const broken = await push(goProvider(workshop, wish), "provider-broken:v1");
  await install("Provider", "provider-thief", thief);
  await install("Provider", "provider-broken", broken);
  await untilItSays("provider-thief", /is already controlled by ProviderRevision provider-fleet-/);
  await untilItSays(
    "provider-broken",
    /the provider ended at once \(exit code 2\); last output: .*-version string.*see: purlin logs provider-broken/,
  );
  for (const name of ["provider-thief", "provider-broken"]) await plane.users.delete({ ...provider, name });
});
