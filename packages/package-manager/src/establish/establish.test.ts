// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";
import type { ControllerClient } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { isConflict, isNotFound } from "@purlin/kube-objects/errors";
import {
  conditionOf,
  conditionsOf,
  controllerOf,
  controllerReference,
  type KubeObject,
  memberAt,
  withMember,
} from "@purlin/kube-objects/object";
import { caughtUp, namespace, type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import {
  createEstablished,
  type EstablishInput,
  establish as establishOnce,
  release as releaseOnce,
} from "./establish.ts";

const signal = new AbortController().signal;
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
let made = 0;

function crd(plural: string, more: object = {}): KubeObject {
  return {
    ...crdType,
    metadata: { name: `${plural}.example.org` },
    spec: {
      group: "example.org",
      names: { plural, kind: `K${plural}` },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      ...more,
    },
  } as KubeObject;
}

suite("establishing objects", () => {
  let cluster: PackageCluster;
  let owner: KubeObject;
  /** A name that no other test uses. */
  let plural: string;
  before(async () => {
    cluster = await startPackageCluster();
  });
  after(() => cluster[Symbol.asyncDispose]());
  beforeEach(async () => {
    plural = `things${++made}`;
    owner = await cluster.kube.create({
      apiVersion: "pkg.crossplane.io/v1",
      kind: "Provider",
      metadata: { name: `p${made}` },
      spec: { package: "registry.example.org/acme/p:v1" },
    });
    cluster.takeWrites();
  });

  async function revision(name: string, spec: object = {}): Promise<KubeObject> {
    const object = await cluster.kube.create({
      apiVersion: "pkg.crossplane.io/v1",
      kind: "ProviderRevision",
      metadata: { name: `${name}${made}` },
      spec: { desiredState: "Active", image: "registry.example.org/acme/p:v1", revision: 1, ...spec },
    } as KubeObject);
    cluster.takeWrites();
    return object;
  }

  const input = (by: KubeObject, objects: KubeObject[], more: Partial<EstablishInput> = {}): EstablishInput => ({
    client: cluster.client,
    revision: by,
    package: owner,
    objects,
    control: true,
    signal,
    ...more,
  });
  /** Tries again after a conflict, as the controller does: the server updates the status of a new CRD at any time. */
  const retrying = async <T>(attempt: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!isConflict(error) && !(error instanceof Error && isConflict(error.cause))) throw error;
        await caughtUp(cluster, [crdType]);
      }
    }
  };
  const establish: typeof establishOnce = (wanted) => retrying(() => establishOnce(wanted));
  const release: typeof releaseOnce = (...parameters) => retrying(() => releaseOnce(...parameters));
  /** Waits until the server is done with the CRD of this test, and the cache has it. */
  const settled = async (): Promise<void> => {
    await eventually("it is established", async () => {
      const { status } = conditionOf(conditionsOf(await get(plural)), "Established");
      return status === "True";
    });
    await caughtUp(cluster, [crdType]);
  };
  const get = (name: string): Promise<KubeObject> => cluster.kube.get(crdType, { name: `${name}.example.org` });
  const owners = (object: KubeObject): string[] =>
    (object.metadata.ownerReferences ?? []).map(
      ({ kind, name, controller }) => `${kind} ${name}${controller === true ? " controls" : ""}`,
    );

  test("owner references are those of Crossplane, so that a take-over of its objects writes nothing", async () => {
    const by = await revision("r");
    await establish(input(by, [crd(plural)]));
    const reference = ({ apiVersion, kind, metadata }: KubeObject, controller: boolean): object => ({
      apiVersion,
      kind,
      name: metadata.name,
      uid: metadata.uid,
      controller,
      blockOwnerDeletion: true,
    });
    const references = [reference(by, true), reference(owner, false)];
    assert.deepEqual((await get(plural)).metadata.ownerReferences, references);
    cluster.takeWrites();
    await establish(input(by, [crd(plural)]));
    assert.deepEqual(
      cluster.takeWrites().filter((line) => !line.endsWith("(dry run)")),
      [],
    );
    const name = `${plural}.example.org`;
    await settled();
    await release({ client: cluster.client, revision: by, signal }, [{ ...crdType, name }]);
    const released = [reference(by, false), reference(owner, false)];
    assert.deepEqual((await get(plural)).metadata.ownerReferences, released);
    await caughtUp(cluster, [crdType]);
    cluster.takeWrites();
    await release({ client: cluster.client, revision: by, signal }, [{ ...crdType, name }]);
    await establish(input(by, [crd(plural)], { control: false }));
    assert.deepEqual(cluster.takeWrites(), [], "released ones stay as they are");
  });

  test("everything is tried before anything is written, and the references are sorted", async () => {
    const by = await revision("r");
    const names = Array.from({ length: 12 }, (_, at) => `${plural}x${String(at).padStart(2, "0")}`);
    const references = await establish(
      input(
        by,
        names.map((name) => crd(name)),
      ),
    );
    const writes = cluster.takeWrites().map((line) => line.endsWith("(dry run)"));
    assert.deepEqual(writes, [...names.map(() => true), ...names.map(() => false)]);
    assert.deepEqual(
      references.map(({ name }) => name),
      names.map((name) => `${name}.example.org`).toReversed(),
    );
    const [first] = references;
    const stored = await get(names.at(-1) ?? "");
    assert.deepEqual(first, { ...crdType, name: stored.metadata.name, uid: stored.metadata.uid });
    assert.deepEqual(owners(stored), [`ProviderRevision r${made} controls`, `Provider p${made}`]);
  });

  const limits: { why: string; workers?: number; most: number }[] = [
    { why: "ten are written at a time", most: 10 },
    { why: "or as many as configured", workers: 3, most: 3 },
  ];
  for (const { why, workers, most: expected } of limits)
    test(why, async () => {
      const by = await revision("r");
      let running = 0;
      let most = 0;
      const counting: ControllerClient = {
        ...cluster.client,
        async create(object, options) {
          most = Math.max(most, ++running);
          try {
            return await cluster.client.create(object, options);
          } finally {
            running--;
          }
        },
      };
      const objects = Array.from({ length: 25 }, (_, at) => crd(`${plural}y${at}`));
      await establish(input(by, objects, { client: counting, workers }));
      assert.equal(most, expected);
    });

  test("when one is refused by the server, nothing is made of the others", async () => {
    const by = await revision("r");
    const bad = crd(`${plural}b`, { scope: "Nowhere" });
    await assert.rejects(
      establish(input(by, [crd(`${plural}a`), bad, crd(`${plural}c`)])),
      new RegExp(`cannot create CustomResourceDefinition ${plural}b\\.example\\.org: .*scope`),
    );
    assert.deepEqual(
      cluster.takeWrites().filter((line) => !line.endsWith("(dry run)")),
      [],
    );
    await assert.rejects(get(`${plural}a`), /not found/);
  });

  test("two packages claim one CRD: the second reports the owner, and none of its objects is created", async () => {
    const [first, second] = [await revision("r"), await revision("s")];
    await establish(input(first, [crd(plural)]));
    await assert.rejects(
      establish(input(second, [crd(`${plural}other`), crd(plural)])),
      new RegExp(
        `${plural}\\.example\\.org is already controlled by ProviderRevision r${made} \\(UID ${first.metadata.uid}\\)`,
      ),
    );
    await assert.rejects(get(`${plural}other`), /not found/);
    assert.equal(controllerOf(await get(plural))?.uid, first.metadata.uid);
  });

  test("an object without a controller is adopted; its other owners stay", async () => {
    const by = await revision("r");
    const other = { apiVersion: "v1", kind: "ConfigMap", name: "theirs", uid: "u1" };
    const found = crd(plural);
    await cluster.kube.create({
      ...found,
      metadata: { ...found.metadata, ownerReferences: [other], labels: { own: "1" } },
    });
    await establish(input(by, [crd(plural)]));
    const stored = await get(plural);
    assert.deepEqual(owners(stored), ["ConfigMap theirs", `ProviderRevision r${made} controls`, `Provider p${made}`]);
    assert.equal(stored.metadata.labels, undefined, "the whole object is what the package says");
  });

  test("finalizers of others stay when a package replaces what is there", async () => {
    const by = await revision("r");
    await establish(input(by, [crd(plural)]));
    const stored = await get(plural);
    const finalizers = ["example.org/ask-me-first"];
    await cluster.kube.update({ ...stored, metadata: { ...stored.metadata, finalizers } });
    await establish(input(by, [crd(plural, { names: { plural, kind: `K${plural}`, shortNames: ["th"] } })]));
    const replaced = await get(plural);
    assert.deepEqual(memberAt(replaced, ["spec", "names", "shortNames"]), ["th"]);
    assert.deepEqual(replaced.metadata.finalizers, finalizers);
  });

  test("a change in the package replaces what is there; no change writes nothing", async () => {
    const by = await revision("r");
    await establish(input(by, [crd(plural)]));
    cluster.takeWrites();
    await establish(input(by, [crd(plural)]));
    assert.deepEqual(
      cluster.takeWrites().filter((line) => !line.endsWith("(dry run)")),
      [],
    );
    const names = { plural, kind: `K${plural}`, shortNames: ["th"] };
    await establish(input(by, [crd(plural, { names })]));
    assert.deepEqual(memberAt(await get(plural), ["spec", "names", "shortNames"]), ["th"]);
    await establish(input(by, [crd(plural)]));
    assert.equal(memberAt(await get(plural), ["spec", "names", "shortNames"]), undefined, "it goes again");
  });

  interface Disturbance {
    readonly why: string;
    readonly act: (name: string) => Promise<unknown>;
    /** What the next pass writes. */
    readonly writes: readonly ("try" | "write")[];
  }
  const change = async (name: string, edit: (object: KubeObject) => KubeObject): Promise<unknown> =>
    cluster.kube.update(edit(await get(name)));
  const disturbances: readonly Disturbance[] = [
    { why: "nothing happened", act: async () => {}, writes: [] },
    {
      why: "a user edited it",
      act: (name) => change(name, (one) => withMember(one, ["spec", "names", "shortNames"], ["mine"])),
      writes: ["try", "write"],
    },
    {
      why: "a user removed its owners",
      act: (name) => change(name, (one) => withMember(one, ["metadata", "ownerReferences"], undefined)),
      writes: ["try", "write"],
    },
    {
      why: "a user set a field that the package does not set",
      act: (name) => change(name, (one) => withMember(one, ["metadata", "finalizers"], ["example.org/ask"])),
      writes: ["try"],
    },
    {
      why: "it was deleted",
      act: async (name) => {
        await cluster.kube.delete({ ...crdType, name: `${name}.example.org` });
        // Its objects are read first, although they do not exist.
        while (await get(name).catch(() => undefined)) await new Promise((go) => setImmediate(go));
      },
      writes: ["try", "write"],
    },
  ];
  for (const { why, act, writes } of disturbances) {
    test(`what is known to be as it should be is not tried again: ${why}`, async () => {
      const by = await revision("r");
      const known = input(by, [crd(plural)], { established: createEstablished(), client: direct(cluster) });
      const references = await establish(known);
      await establish(known);
      cluster.takeWrites();
      assert.deepEqual(await establish(known), references);
      assert.deepEqual(cluster.takeWrites(), []);
      await act(plural);
      cluster.takeWrites();
      await establish(known);
      const written = cluster.takeWrites().map((line) => (line.endsWith("(dry run)") ? "try" : "write"));
      assert.deepEqual(written, writes);
      assert.deepEqual(owners(await get(plural)), [`ProviderRevision r${made} controls`, `Provider p${made}`]);
      assert.equal(memberAt(await get(plural), ["spec", "names", "shortNames"]), undefined);
    });
  }

  test("what is wanted, and by whom, is part of what is known", async () => {
    const [first, second] = [await revision("r"), await revision("s", { desiredState: "Inactive" })];
    const established = createEstablished();
    const more = { established, client: direct(cluster) };
    for (let pass = 0; pass < 3; pass++) await establish(input(first, [crd(plural)], more));
    cluster.takeWrites();
    // Of an attempt that ends in a conflict with the server, nothing counts.
    const tries = (by: KubeObject, object: KubeObject, control = true): Promise<number> =>
      retrying(async () => {
        cluster.takeWrites();
        await establishOnce(input(by, [object], { ...more, control }));
        return cluster.takeWrites().filter((line) => line.endsWith("(dry run)")).length;
      });
    assert.equal(await tries(first, crd(plural)), 0);
    assert.equal(await tries(second, crd(plural), false), 1, "another revision has its own say");
    const changed = crd(plural, { names: { plural, kind: `K${plural}`, shortNames: ["th"] } });
    assert.equal(await tries(first, changed), 1, "so has another version of the package");
    assert.deepEqual(memberAt(await get(plural), ["spec", "names", "shortNames"]), ["th"]);
    assert.equal(await tries(first, crd(plural)), 1, "going back is a change like any other");
    assert.equal(memberAt(await get(plural), ["spec", "names", "shortNames"]), undefined);
  });

  test("a definition with integers beyond 2^53 is established, and not tried again", async () => {
    const huge = { type: "integer", format: "int64", default: 9007199254740993n };
    const schema = {
      openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: { huge } } } },
    };
    const object = crd(plural, { versions: [{ name: "v1", served: true, storage: true, schema }] });
    const known = { established: createEstablished(), client: direct(cluster) };
    const by = await revision("r");
    for (let pass = 0; pass < 3; pass++) await establish(input(by, [object], known));
    cluster.takeWrites();
    await establish(input(by, [object], known));
    assert.deepEqual(cluster.takeWrites(), []);
    assert.deepEqual(memberAt(await get(plural), ["spec", "versions"]), [
      { name: "v1", served: true, storage: true, schema },
    ]);
  });

  test("common labels and annotations are stamped, win over the object's own, and go when they go", async () => {
    const commonLabels = { team: "red", a: "common" };
    const by = await revision("r", { commonLabels, commonAnnotations: { note: "common" } });
    const object = crd(plural);
    const labelled = {
      ...object,
      metadata: { ...object.metadata, labels: { a: "own", b: "own" }, annotations: { note: "own", more: "own" } },
    };
    await establish(input(by, [labelled]));
    const stored = await get(plural);
    assert.deepEqual(stored.metadata.labels, { team: "red", a: "common", b: "own" });
    assert.deepEqual(stored.metadata.annotations, { note: "common", more: "own" });
    await establish(input({ ...by, spec: { ...(by["spec"] as object), commonLabels: {} } } as KubeObject, [labelled]));
    assert.deepEqual((await get(plural)).metadata.labels, { a: "own", b: "own" });
  });

  test("a revision that is not in control makes nothing, and becomes a plain owner of what is there", async () => {
    const [first, second] = [await revision("r"), await revision("s", { desiredState: "Inactive" })];
    await establish(input(first, [crd(plural)]));
    const references = await establish(
      input(second, [crd(plural, { scope: "Cluster" }), crd(`${plural}new`)], { control: false }),
    );
    assert.deepEqual(
      references.map(({ name }) => name),
      [`${plural}.example.org`],
    );
    const stored = await get(plural);
    assert.deepEqual(owners(stored), [
      `ProviderRevision r${made} controls`,
      `Provider p${made}`,
      `ProviderRevision s${made}`,
    ]);
    assert.equal(memberAt(stored, ["spec", "scope"]), "Namespaced", "its content is none of its business");
    await assert.rejects(get(`${plural}new`), /not found/);
  });

  test("a released object keeps its owner, and another revision can take it; an object that is gone is ignored", async () => {
    const [first, second] = [await revision("r"), await revision("s")];
    const references = await establish(input(first, [crd(plural)]));
    const gone = { ...crdType, name: "gone.example.org" };
    await release({ client: cluster.client, revision: first, signal }, [...references, gone]);
    assert.deepEqual(owners(await get(plural)), [`ProviderRevision r${made}`, `Provider p${made}`]);
    cluster.takeWrites();
    await release({ client: cluster.client, revision: first, signal }, references);
    assert.deepEqual(cluster.takeWrites(), [], "once is enough");
    await establish(input(second, [crd(plural)]));
    assert.equal(controllerOf(await get(plural))?.uid, second.metadata.uid);
    await release({ client: cluster.client, revision: first, signal }, references);
    assert.equal(controllerOf(await get(plural))?.uid, second.metadata.uid, "it is not taken away again");
  });

  test("releasing something that was never owned makes the revision an owner", async () => {
    const by = await revision("r");
    await cluster.kube.create(crd(plural));
    await release({ client: cluster.client, revision: by, signal }, [{ ...crdType, name: `${plural}.example.org` }]);
    assert.deepEqual(owners(await get(plural)), [`ProviderRevision r${made}`]);
  });

  test("two objects of one name are refused before anything is tried", async () => {
    const by = await revision("r");
    const text = new RegExp(`the package has more than one CustomResourceDefinition ${plural}\\.example\\.org`);
    await assert.rejects(establish(input(by, [crd(plural), crd(plural)])), text);
    assert.deepEqual(cluster.takeWrites(), []);
  });

  test("webhooks are installed under the package's name, calling it; a second pass writes nothing", async () => {
    const by = await revision("r");
    const kind = "ValidatingWebhookConfiguration";
    const configuration = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind,
      metadata: { name: "validating-webhook-configuration" },
      webhooks: [
        {
          name: "things.example.org",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          clientConfig: { service: { name: "webhook-service", namespace: "system", path: "/validate" } },
          rules: [{ apiGroups: ["example.org"], apiVersions: ["v1"], resources: ["things"], operations: ["CREATE"] }],
        },
      ],
    } as KubeObject;
    const conversion = {
      strategy: "Webhook",
      webhook: {
        conversionReviewVersions: ["v1"],
        clientConfig: { service: { name: "x", namespace: "y", path: "/convert" } },
      },
    };
    const webhooks = { caBundle: pem, service: `p${made}`, namespace };
    const objects = [configuration, crd(plural, { conversion })];
    const references = await establish(input(by, objects, { webhooks }));
    const name = `crossplane-validatingwebhookconfiguration-p${made}`;
    assert.deepEqual(
      references.map((one) => one.name),
      [`${plural}.example.org`, name],
    );
    const service = { name: `p${made}`, namespace, port: 9443 };
    const stored = await cluster.kube.get(configuration, { name });
    const [webhook] = memberAt(stored, ["webhooks"]) as unknown as { clientConfig: unknown }[];
    assert.deepEqual(webhook?.clientConfig, { caBundle: pem, service: { ...service, path: "/validate" } });
    const config = memberAt(await get(plural), ["spec", "conversion", "webhook", "clientConfig"]);
    assert.deepEqual(config, { caBundle: pem, service: { ...service, path: "/convert" } });
    cluster.takeWrites();
    await establish(input(by, objects, { webhooks }));
    assert.deepEqual(
      cluster.takeWrites().filter((line) => !line.endsWith("(dry run)")),
      [],
    );
    await assert.rejects(establish(input(by, objects)), /has webhooks, and there is no certificate/);
    await establish(input(by, objects, { control: false }));
  });

  test("a controller reference of ours is kept as it is", async () => {
    const by = await revision("r");
    await establish(input(by, [crd(plural)]));
    assert.deepEqual((await get(plural)).metadata.ownerReferences?.[0], controllerReference(by));
  });
});

/** Without a cache: a test looks at what it has just changed. */
function direct({ kube, client }: PackageCluster): ControllerClient {
  return {
    ...client,
    get: (type, key) =>
      kube.get(type, key).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      }),
  };
}

/** Some certificate: servers look at it. */
const pem = Buffer.from(`-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIBATAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDAR0ZXN0MB4X
DTI2MDEwMTAwMDAwMFoXDTM2MDEwMTAwMDAwMFowDzENMAsGA1UEAwwEdGVzdDBZ
-----END CERTIFICATE-----
`).toString("base64");
