// SPDX-License-Identifier: Apache-2.0
// Provider packages whose CRDs become managed resource definitions, from the registry to the Deployment.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { crdType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { isNotFound } from "@purlin/kube-objects/errors";
import {
  conditionOf,
  conditionsOf,
  type KubeObject,
  memberAt,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import {
  buildImage,
  createRegistryClient,
  openContentStore,
  parseReference,
  pushPackage,
  startRegistry,
} from "@purlin/oci";
import { type EmbeddedApi, startEmbeddedApi } from "../../test/embedded-api.ts";
import { startControlPlane } from "../start-control-plane.ts";
import { openClusterPackages } from "./cluster-packages.ts";

const namespace = "crossplane-system";
const providerType = { apiVersion: "pkg.crossplane.io/v1", kind: "Provider" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision" };
const deploymentType = { apiVersion: "apps/v1", kind: "Deployment" };
const mrdType = { apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "ManagedResourceDefinition" };
const policyType = { apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "ManagedResourceActivationPolicy" };

let api: EmbeddedApi;
let registry: string;
let publish: (name: string, version: string, spec: string, ...kinds: string[]) => Promise<void>;
const closing = new AsyncDisposableStack();

before(async () => {
  const directory = mkdtempSync(join(tmpdir(), "purlin-managed-providers-"));
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  api = closing.use(await startEmbeddedApi());
  const served = await startRegistry({ directory: join(directory, "registry") });
  closing.defer(() => served.close());
  registry = served.address;
  const packages = await openClusterPackages({ directory, functionRevisionSelectors: false });
  const settings = { activations: ["buckets.*"] };
  const functions = { security: packages.security };
  const plane = startControlPlane({ client: api.connect(), packages, functions, settings });
  closing.defer(() => plane.stop());
  await plane.ready;
  const store = await openContentStore(join(directory, "build"));
  publish = async (name, version, spec, ...kinds) => {
    const crds = kinds.map((kind) => `---\n${crdOf(name, kind)}`).join("");
    const meta = `apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: ${name}, annotations: {v: ${version}}}\n`;
    const image = await buildImage(store, {
      platform: { os: "linux", architecture: "amd64" },
      process: { entrypoint: ["/provider"], cmd: [], env: [], workingDir: "/", user: "2000" },
      base: [],
      layers: [],
      packageYaml: `${meta}spec: ${spec}\n${crds}`,
    });
    const to = parseReference(`${registry}/acme/${name}:${version}`);
    await pushPackage(createRegistryClient(), store, { images: [image], to });
    const object = { ...providerType, metadata: { name }, spec: { package: `${registry}/acme/${name}:${version}` } };
    await api.users.apply(object as KubeObject, { fieldManager: "user", force: true });
  };
});
after(() => closing.disposeAsync());

const crdOf = (group: string, kind: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${kind.toLowerCase()}s.${group}.example.org}
spec:
  group: ${group}.example.org
  names: {plural: ${kind.toLowerCase()}s, kind: ${kind}}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`;

const find = (type: TypeRef, name: string, ns?: string): Promise<KubeObject | undefined> =>
  api.users.get(type, { name, ...(ns && { namespace: ns }) }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
const established = (name: string): Promise<KubeObject> =>
  eventually(`${name} is established`, async () => {
    const mrd = await find(mrdType, name);
    return mrd !== undefined && conditionOf(conditionsOf(mrd), "Established").status === "True" && mrd;
  });
const condition = (object: KubeObject, type: string): string => {
  const { status, reason, message } = conditionOf(conditionsOf(object), type);
  return `${status} ${reason}${message ? `: ${message}` : ""}`;
};
const revision = async (provider: string, number = 1): Promise<KubeObject> =>
  eventually(`revision ${number} of ${provider}`, async () => {
    const { items } = await api.users.list(revisionType, { labelSelector: `pkg.crossplane.io/package=${provider}` });
    return items.find((one) => memberAt(one, ["spec", "revision"]) === number);
  });
const replicas = async (of: KubeObject): Promise<unknown> => {
  const deployment = await find(deploymentType, of.metadata.name ?? "", namespace);
  return deployment && memberAt(deployment, ["spec", "replicas"]);
};
const eventsAbout = async (name: string): Promise<string[]> =>
  (await api.users.list({ apiVersion: "v1", kind: "Event" })).items.flatMap((event) =>
    memberAt(event, ["involvedObject", "name"]) === name
      ? [`${textAt(event, ["reason"])}: ${textAt(event, ["message"])}`]
      : [],
  );

test("a provider without safe-start: its kinds are active, configuration kinds stay CRDs, and it runs", async () => {
  await publish("plain", "v1", "{}", "Disk", "ProviderConfig");
  const mrd = await established("disks.plain.example.org");
  assert.equal(memberAt(mrd, ["spec", "state"]), "Active");
  const owner = await revision("plain");
  const crd = await find(crdType, "disks.plain.example.org");
  assert.deepEqual(
    crd?.metadata.ownerReferences?.map(({ kind, controller }) => `${kind} ${controller === true}`),
    ["ManagedResourceDefinition false", "ProviderRevision true"],
  );
  assert.equal(await find(mrdType, "providerconfigs.plain.example.org"), undefined);
  assert.ok(await find(crdType, "providerconfigs.plain.example.org"));
  const refs = await eventually("objectRefs", async () => {
    const found = await find(revisionType, owner.metadata.name ?? "");
    return found && (memberAt(found, ["status", "objectRefs"]) as { kind: string }[] | undefined);
  });
  assert.deepEqual(refs.map(({ kind }) => kind).toSorted(), ["CustomResourceDefinition", "ManagedResourceDefinition"]);
  await eventually("it runs", async () => (await replicas(owner)) === 1);
  const said = "ActivatedByPackage: the package does not list safe-start";
  await eventually("the event", async () => (await eventsAbout("disks.plain.example.org")).includes(said));
});

test("a provider with safe-start waits at zero replicas for its first kind, and then keeps running", async () => {
  await publish("safe", "v1", "{capabilities: [SafeStart]}", "Volume", "Queue");
  const owner = await revision("safe");
  const name = owner.metadata.name ?? "";
  const asleep =
    "False AwaitingActivation: Package runtime is scaled to zero; awaiting the first ManagedResourceDefinition to be activated";
  await eventually("it waits", async () => condition(await revision("safe"), "RuntimeActive") === asleep);
  assert.equal(await replicas(owner), 0);
  assert.equal(condition(await revision("safe"), "RuntimeHealthy"), "True HealthyPackageRevision");
  assert.equal(await find(crdType, "volumes.safe.example.org"), undefined);
  await eventually("the package is healthy", async () =>
    condition((await find(providerType, "safe")) ?? owner, "Healthy").startsWith(
      "True AwaitingActivation: Package runtime",
    ),
  );
  const policy = { ...policyType, metadata: { name: "volumes" }, spec: { activate: ["volumes.safe.*"] } };
  await api.users.create(policy as KubeObject);
  await established("volumes.safe.example.org");
  await eventually("it runs", async () => (await replicas(owner)) === 1);
  const queues = await find(mrdType, "queues.safe.example.org");
  assert.equal(queues && memberAt(queues, ["spec", "state"]), "Inactive");
  // Without a status from Kubernetes the runtime is not healthy yet, and it is not asleep either.
  await eventually("it is not asleep", async () => {
    const found = await find(revisionType, name);
    return found !== undefined && condition(found, "RuntimeHealthy").startsWith("False UnhealthyPackageRevision");
  });
  assert.equal(condition(await revision("safe"), "RuntimeActive"), "True ActiveRuntime");
  // Without an active kind it keeps running, also if it never was healthy.
  await api.users.delete({ ...policyType, name: "volumes" });
  await api.users.delete({ ...mrdType, name: "volumes.safe.example.org" });
  await eventually("its kinds are inactive", async () => {
    const found = await find(mrdType, "volumes.safe.example.org");
    return found === undefined || memberAt(found, ["spec", "state"]) !== "Active";
  });
  await api.users.patch({ ...revisionType, name }, { metadata: { annotations: { look: "again" } } }, { type: "merge" });
  await eventually("it runs on", async () => (await replicas(owner)) === 1);
  assert.equal(condition(await revision("safe"), "RuntimeActive"), "True ActiveRuntime");
});

test("an upgrade keeps kinds active, and the CRD has the new revision as its one controller", async () => {
  await publish("upgraded", "v1", "{capabilities: [safe-start]}", "Lake");
  const mrdName = "lakes.upgraded.example.org";
  await eventually("the definition", () => find(mrdType, mrdName));
  await api.users.patch({ ...mrdType, name: mrdName }, { spec: { state: "Active" } }, { type: "merge" });
  await established(mrdName);
  await publish("upgraded", "v2", "{capabilities: [safe-start]}", "Lake", "Pond");
  const second = await revision("upgraded", 2);
  await eventually("the CRD follows", async () => {
    const controllers = ((await find(crdType, mrdName))?.metadata.ownerReferences ?? []).filter(
      ({ controller }) => controller === true,
    );
    return controllers.length === 1 && controllers[0]?.uid === second.metadata.uid;
  });
  const stored = await find(mrdType, mrdName);
  assert.equal(stored && memberAt(stored, ["spec", "state"]), "Active");
  assert.equal(
    (await eventually("the new kind", () => find(mrdType, "ponds.upgraded.example.org")))["kind"],
    mrdType.kind,
  );
});

test("the policy default is created from the settings, and is not changed afterwards", async () => {
  const policy = await find(policyType, "default");
  assert.deepEqual(policy && memberAt(policy, ["spec", "activate"]), ["buckets.*"]);
});
