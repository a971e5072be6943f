// SPDX-License-Identifier: Apache-2.0
// Managed resource definitions and their activation policies with both controllers. The interop suite runs this file on kube-apiserver.
import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { crdType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  controllerReference,
  type KubeObject,
  memberAt,
  objectAt,
} from "@purlin/kube-objects/object";
import { appDefinition } from "../../test/definitions.ts";
import { find, startTestControl, type TestControl } from "../../test/test-control.ts";
import { managedResourceActivationPolicyCrd, managedResourceDefinitionCrd } from "../crds/definitions.ts";
import { activationPolicyType, createActivationController } from "./activation-controller.ts";
import { createManagedDefinitionController, managedDefinitionType } from "./definition-controller.ts";

let made = 0;

suite("managed resource definitions", () => {
  let control: TestControl;
  /** A plural name that no other test uses. */
  let plural: string;
  let name: string;
  before(async () => {
    control = await startTestControl([managedResourceDefinitionCrd(), managedResourceActivationPolicyCrd()]);
    const { client, events, informers } = control;
    const deps = { client, events, clock: systemClock, log: silentLog };
    await control.run(createManagedDefinitionController(deps));
    const cachedPolicies = (): readonly KubeObject[] => informers.peek(activationPolicyType)?.list() ?? [];
    await control.run(createActivationController({ ...deps, cachedPolicies }));
  });
  after(() => control[Symbol.asyncDispose]());
  beforeEach(() => {
    // Not a prefix of another one: patterns end in a star.
    plural = `things${++made}x`;
    name = `${plural}.example.org`;
  });

  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const version = (named: string, more: object = {}): JsonObject => ({
    name: named,
    served: true,
    storage: true,
    schema,
    ...more,
  });
  const mrd = (spec: object = {}, metadata: object = {}): KubeObject =>
    ({
      ...managedDefinitionType,
      metadata: { name, ...metadata },
      spec: {
        group: "example.org",
        names: { plural, kind: `Thing${made}` },
        scope: "Namespaced",
        versions: [version("v1")],
        ...spec,
      },
    }) as KubeObject;
  const policy = (...activate: string[]): KubeObject =>
    ({ ...activationPolicyType, metadata: { name: plural }, spec: { activate } }) as KubeObject;
  const text = (object: KubeObject, type: string): string => {
    const { status, reason, message } = conditionOf(conditionsOf(object), type);
    return `${status} ${reason}${message ? `: ${message}` : ""}`;
  };
  const get = (type = managedDefinitionType as typeof activationPolicyType | typeof managedDefinitionType) =>
    control.users.get(type, { name: type === activationPolicyType ? plural : name });
  const becomes = (expected: string, type = "Established", of = managedDefinitionType as Parameters<typeof get>[0]) =>
    eventually(`${type} ${expected}`, async () => {
      const object = await get(of);
      return text(object, type) === expected && object;
    });
  const crd = (): Promise<KubeObject | undefined> => find(control.users, crdType, name);
  const events = (about = `ManagedResourceDefinition/${name}`): string[] =>
    control.events.all.flatMap(({ object, event }) =>
      object === about ? [`${event.type} ${event.reason}: ${event.message}`] : [],
    );
  const refused = (message: string | RegExp) => (error: unknown) =>
    error instanceof StatusError &&
    error.code === 422 &&
    (typeof message === "string" ? error.message.includes(message) : message.test(error.message));
  const activate = () =>
    control.users.patch({ ...managedDefinitionType, name }, { spec: { state: "Active" } }, { type: "merge" });

  test("without a state it is inactive: there is no CRD, and the condition says why", async () => {
    await control.users.create(mrd());
    const stored = await becomes("False InactiveManagedResource: not activated by any policy");
    assert.equal(memberAt(stored, ["spec", "state"]), "Inactive");
    assert.equal(await crd(), undefined);
    assert.deepEqual(events(), []);
  });

  test("an active one gets its CRD, and is established when the CRD is; a settled one is not written again", async () => {
    const stored = await control.users.create(mrd({ state: "Active" }));
    await becomes("True EstablishedManagedResource");
    const owner = { apiVersion: stored.apiVersion, kind: stored.kind, name, uid: stored.metadata.uid };
    assert.deepEqual((await crd())?.metadata.ownerReferences, [owner]);
    assert.deepEqual(events(), ["Normal ApplyCustomResourceDefinition: Successfully applied CustomResourceDefinition"]);
    control.takeWrites();
    await control.users.patch(
      { ...managedDefinitionType, name },
      { metadata: { labels: { a: "b" } } },
      { type: "merge" },
    );
    control.engine.enqueue("mrd/managedresourcedefinition", { name });
    await eventually("the label is seen", async () => {
      const seen = await control.client.get(managedDefinitionType, { name });
      return seen?.metadata.labels?.["a"] === "b";
    });
    assert.deepEqual(
      control.takeWrites().filter((line) => line.includes(plural)),
      [],
    );
    assert.equal(events().length, 1);
  });

  test("once active it stays so; its scope is final; names are lower case", async () => {
    await control.users.create(mrd({ state: "Active" }));
    const at = { ...managedDefinitionType, name };
    const change = (spec: object) => control.users.patch(at, { spec } as JsonObject, { type: "merge" });
    await assert.rejects(change({ state: "Inactive" }), refused("state cannot be changed once it becomes Active"));
    await assert.rejects(change({ scope: "Cluster" }), refused("Value is immutable"));
    const upper = mrd({ names: { plural: "Xs", kind: "X" } });
    await assert.rejects(control.users.create(upper), refused("Plural name must be lowercase"));
  });

  test("a name other than plural.group fails at the CRD: the condition points at the event that has the cause", async () => {
    const wrong = mrd({ state: "Active", names: { plural: `${plural}es`, kind: "Y" } });
    await control.users.create(wrong);
    await becomes("False PendingManagedResource: unable to apply CustomResourceDefinition, see events");
    const [warning = ""] = events();
    assert.match(warning, /^Warning ApplyCustomResourceDefinition: /);
    assert.ok(warning.includes('must be spec.names.plural+"."+spec.group'), warning);
  });

  test("versions are sorted by name, and only fields that are set are applied", async () => {
    const columns = [{ name: "A", type: "string", jsonPath: ".a" }];
    const versions = [
      version("v2", { additionalPrinterColumns: columns, deprecated: false, selectableFields: [] }),
      version("v1", { storage: false, subresources: { status: {} } }),
    ];
    await control.users.create(mrd({ state: "Active", versions, preserveUnknownFields: false }));
    await becomes("True EstablishedManagedResource");
    const stored = await crd();
    assert.ok(stored);
    const list = memberAt(stored, ["spec", "versions"]) as JsonObject[];
    assert.deepEqual(list, [
      version("v1", { storage: false, subresources: { status: {} } }),
      version("v2", { additionalPrinterColumns: columns }),
    ]);
  });

  test("a schema that is not an object is named with its version", async () => {
    await control.users
      .create(mrd({ state: "Active", versions: [version("v1", { schema: { openAPIV3Schema: [] } })] }))
      .then(
        async () => {
          await becomes("False PendingManagedResource: unable to form CustomResourceDefinition, see events");
          assert.match(events()[0] ?? "", /cannot parse OpenAPI v3 schema for version "v1"/);
        },
        (error: unknown) => assert.ok(refused(/openAPIV3Schema/)(error)),
      );
  });

  test("a kind that is served already is activated at once, and keeps its objects", async () => {
    await control.users.create({ ...crdType, metadata: { name }, spec: objectAt(mrd(), ["spec"]) } as KubeObject);
    await eventually("it is served", async () => text((await crd()) ?? mrd(), "Established").startsWith("True"));
    await control.users.create(mrd());
    const stored = await becomes("True EstablishedManagedResource");
    assert.equal(memberAt(stored, ["spec", "state"]), "Active");
    assert.ok(events().includes(`Normal ActivateManagedResourceDefinition: ${name} was already served`));
    const owned = await eventually("its CRD is owned", async () => {
      const found = await crd();
      const managers = found?.metadata.managedFields?.map(({ manager }) => manager) ?? [];
      return found?.metadata.ownerReferences?.length === 1 && !managers.includes("before-first-apply") && found;
    });
    assert.equal(owned.metadata.ownerReferences?.[0]?.uid, stored.metadata.uid);
  });

  test("a CRD of another owner is not taken", async () => {
    const xrd = await control.users.create(appDefinition());
    const metadata = { name, ownerReferences: [controllerReference(xrd)] };
    await control.users.create({ ...crdType, metadata, spec: objectAt(mrd(), ["spec"]) } as KubeObject);
    await control.users.create(mrd({ state: "Active" }));
    await becomes("False PendingManagedResource: unable to apply CustomResourceDefinition, see events");
    assert.match(events()[0] ?? "", /belongs to CompositeResourceDefinition/);
    assert.deepEqual((await crd())?.metadata.ownerReferences, metadata.ownerReferences);
  });

  test("a CRD of the control plane is not taken, though nothing controls it", async () => {
    plural = "managedresourceactivationpolicies";
    name = `${plural}.apiextensions.crossplane.io`;
    const before = await crd();
    assert.ok(before);
    const spec = { group: "apiextensions.crossplane.io", names: { plural, kind: "ManagedResourceActivationPolicy" } };
    await control.users.create(mrd({ ...spec, scope: "Cluster" }));
    await becomes("False InactiveManagedResource: not activated by any policy");
    await activate();
    await becomes("False PendingManagedResource: unable to apply CustomResourceDefinition, see events");
    assert.match(events()[0] ?? "", /"managedresourceactivationpolicies\..+" belongs to the control plane/);
    assert.deepEqual(await crd(), before);
    await control.users.delete({ ...managedDefinitionType, name });
  });

  test("a new revision of the provider takes the CRD over; it has one controller", async () => {
    const owner = async (revision: string): Promise<KubeObject> =>
      control.users.create({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `${plural}${revision}`, namespace: "default" },
      });
    const reference = (by: KubeObject) => ({
      ...controllerReference(by),
      apiVersion: "pkg.crossplane.io/v1",
      kind: "ProviderRevision",
    });
    const [first, second] = [reference(await owner("a")), reference(await owner("b"))];
    // As a package manager that does not convert wrote it.
    await control.users.create({
      ...crdType,
      metadata: { name, ownerReferences: [first] },
      spec: objectAt(mrd(), ["spec"]),
    } as KubeObject);
    await control.users.create(mrd({ state: "Active" }, { ownerReferences: [second] }));
    await becomes("True EstablishedManagedResource");
    const controllers = ((await crd())?.metadata.ownerReferences ?? []).filter(({ controller }) => controller === true);
    assert.deepEqual(
      controllers.map(({ uid }) => uid),
      [second.uid],
    );
  });

  test("a CRD that is being deleted is waited for, with the number of objects that remain", async () => {
    await control.users.create(mrd({ state: "Active" }));
    await becomes("True EstablishedManagedResource");
    const type = { apiVersion: "example.org/v1", kind: `Thing${made}` };
    const thing = {
      ...type,
      metadata: { name: "a", namespace: "default", finalizers: ["example.org/keep"] },
    } as KubeObject;
    await eventually("it is served", () => control.users.create(thing).then(() => true));
    await control.users.delete({ ...crdType, name });
    await becomes("False PendingManagedResource: the CustomResourceDefinition is being deleted: 1 objects remain");
    await control.users.patch(
      { ...type, name: "a", namespace: "default" },
      { metadata: { finalizers: null } },
      { type: "merge" },
    );
    await becomes("True EstablishedManagedResource");
    const { items } = await eventually("the new CRD is served", () => control.users.list(type));
    assert.deepEqual(items, []);
  });

  test("a paused one is left alone, and an event says so", async () => {
    await control.users.create(mrd({ state: "Active" }, { annotations: { "crossplane.io/paused": "true" } }));
    await eventually("the event", () => events().length > 0);
    assert.deepEqual(events(), ["Normal ReconciliationPaused: Reconciliation is paused via the pause annotation"]);
    assert.deepEqual([await crd(), conditionsOf(await get())], [undefined, []]);
  });

  test("a policy with too many patterns activates by the first ones, and says so", async () => {
    await control.users.create(mrd());
    const many = Array.from({ length: 20_000 }, (_, i) => `*${i}`);
    await control.users.create(policy(name, `*[${"a".repeat(10_000)}]x`, ...many));
    const stored = await becomes(
      "Unknown EncounteredErrors: 17779 patterns are ignored: a policy has at most 10000 patterns, and those with wildcards 10000 characters together",
      "Healthy",
      activationPolicyType,
    );
    assert.deepEqual(memberAt(stored, ["status", "activated"]), [name]);
  });

  test("a policy activates what its patterns match; a malformed one is named", async () => {
    await control.users.create(mrd());
    await control.users.create(policy(`thin?s${made}x.*`, "[abc"));
    await becomes("True EstablishedManagedResource");
    const stored = await becomes(
      'Unknown EncounteredErrors: pattern "[abc" is malformed',
      "Healthy",
      activationPolicyType,
    );
    assert.deepEqual(memberAt(stored, ["status", "activated"]), [name]);
    assert.deepEqual(events(`ManagedResourceActivationPolicy/${plural}`), [
      "Normal ActivateManagedResourceDefinition: Successfully activated ManagedResourceDefinition",
    ]);
    await becomes("True EstablishedManagedResources", "Established", activationPolicyType);
    await control.users.patch(
      { ...activationPolicyType, name: plural },
      { spec: { activate: [name] } },
      { type: "merge" },
    );
    await becomes("True Running", "Healthy", activationPolicyType);
  });

  test("a definition that comes after its policy is activated too", async () => {
    await control.users.create(policy(`${plural}.*`));
    await becomes("True Running", "Healthy", activationPolicyType);
    await control.users.create(mrd());
    await becomes("True EstablishedManagedResource");
    const listed = await eventually("it is listed", async () => {
      const activated = memberAt(await get(activationPolicyType), ["status", "activated"]);
      return Array.isArray(activated) && activated;
    });
    assert.deepEqual(listed, [name]);
  });

  test("the policy says which kinds are not served yet", async () => {
    await control.users.create(mrd({ names: { plural: "other", kind: "Z" } }));
    await control.users.create(policy(name));
    await becomes(`Unknown PendingManagedResources: waiting for ${name}`, "Established", activationPolicyType);
    await becomes("True Running", "Healthy", activationPolicyType);
  });

  test("two policies that match list it both; without them it stays active", async () => {
    await control.users.create(mrd());
    await control.users.create(policy(name));
    const second = `${plural}-b`;
    await control.users.create({ ...policy(`${plural}*`), metadata: { name: second } });
    await becomes("True EstablishedManagedResource");
    for (const each of [plural, second]) {
      await eventually(`${each} lists it`, async () => {
        const stored = await control.users.get(activationPolicyType, { name: each });
        return JSON.stringify(memberAt(stored, ["status", "activated"])) === JSON.stringify([name]);
      });
      await control.users.delete({ ...activationPolicyType, name: each });
    }
    assert.equal(memberAt(await get(), ["spec", "state"]), "Active");
    assert.ok(await crd());
  });

  test("one refused activation of two is counted, named and tried again", async () => {
    const other = `a${plural}.example.org`;
    const stop = control.failWhen(({ method, path }) =>
      method === "PATCH" && path.endsWith(`/${name}`) ? new Error("forbidden today") : undefined,
    );
    await control.users.create(mrd());
    await control.users.create(mrd({ names: { plural: `a${plural}`, kind: `A${made}` } }, { name: other }));
    await control.users.create(policy(name, other));
    const stored = await becomes(
      `Unknown EncounteredErrors: failed to activate 1 of 2 ManagedResourceDefinitions, including ${name}`,
      "Healthy",
      activationPolicyType,
    );
    assert.deepEqual(memberAt(stored, ["status", "activated"]), [other]);
    stop();
    await becomes("True Running", "Healthy", activationPolicyType);
    assert.deepEqual(memberAt(await get(activationPolicyType), ["status", "activated"]), [other, name]);
  });

  test("a policy without patterns is refused", async () => {
    await assert.rejects(control.users.create(policy()), refused("spec.activate in body should have at least 1 items"));
  });

  test("activation by a user is activation", async () => {
    await control.users.create(mrd());
    await becomes("False InactiveManagedResource: not activated by any policy");
    await activate();
    await becomes("True EstablishedManagedResource");
  });

  test("a definition that is being deleted says so", async () => {
    await control.users.create(mrd({}, { finalizers: ["example.org/keep"] }));
    await control.users.delete({ ...managedDefinitionType, name });
    await becomes("False TerminatingManagedResource");
    await control.users.patch(
      { ...managedDefinitionType, name },
      { metadata: { finalizers: null } },
      { type: "merge" },
    );
  });
});
