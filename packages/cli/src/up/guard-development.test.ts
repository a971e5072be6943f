// SPDX-License-Identifier: Apache-2.0
// Field managers are only names, and managedFields are only a field: a user who may write Functions and Providers gets no file run by either.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import { mastersGroup } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { isForbidden } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { functionType, guardDevelopment, providerType, upTrust } from "./source-functions.ts";

const source = "purlin.dev/source";
const runtime = "render.crossplane.io/runtime";
const trusted = "purlin-apply";
const stack = new AsyncDisposableStack();
let embedded: EmbeddedServer;
let operator: KubeClient;
let user: KubeClient;

before(async () => {
  const folder = stack.use(tempFolder());
  const directory = join(folder.path, "d");
  embedded = stack.use(await startEmbeddedServer({ directory, port: 0, warn: () => {}, guard: guardDevelopment }));
  const connect = (name: string, ...groups: string[]): KubeClient => {
    const client = createKubeClient(createDirectTransport(embedded.server.handle, { name, groups }));
    stack.defer(() => client.close());
    return client;
  };
  operator = connect("admin", mastersGroup);
  user = connect("system:serviceaccount:default:robot", "system:serviceaccounts", "system:serviceaccounts:default");
  const signal = AbortSignal.timeout(60_000);
  const rbac = "rbac.authorization.k8s.io";
  // All rights, but not a member of masters.
  await operator.create({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "robot" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", namespace: "default", name: "robot" }],
  });
  await installCrds(operator, packageCrds({ functionRevisionSelectors: false }), { signal });
});
after(() => stack.disposeAsync());

type DevelopedType = typeof functionType | typeof providerType;

function packageOf(type: DevelopedType, name: string, annotations: Readonly<Record<string, string>>): KubeObject {
  return { ...type, metadata: { name, annotations }, spec: { package: "example.org/x:v1" } };
}

const functionOf = (name: string, annotations: Readonly<Record<string, string>>): KubeObject =>
  packageOf(functionType, name, annotations);

/** An entry as the server writes it for a file that was applied. */
function forged(annotation: string) {
  const fieldsV1 = { "f:metadata": { "f:annotations": { [`f:${annotation}`]: {} } } };
  const time = "2026-01-01T00:00:00Z";
  return {
    manager: trusted,
    operation: "Apply",
    apiVersion: functionType.apiVersion,
    time,
    fieldsType: "FieldsV1",
    fieldsV1,
  };
}

/** Ways to make an annotation look as if a file had set it. */
const attacks: Readonly<Record<string, (name: string, type: DevelopedType) => Promise<unknown>>> = {
  "applies with the field manager of files": (name, type) =>
    user.apply(packageOf(type, name, { [source]: "/project/fn.ts" }), { fieldManager: trusted, force: true }),
  "applies the address of a program with the field manager of files": (name, type) =>
    user.apply(packageOf(type, name, { [runtime]: "Development" }), { fieldManager: trusted, force: true }),
  "writes field managers to an object whose annotation is ignored": async (name, type) => {
    const stored = await user.create(packageOf(type, name, { [source]: "/project/fn.ts" }));
    assert.equal(honoredDevelopmentOf(stored, upTrust), undefined);
    const metadata = { ...stored.metadata, managedFields: [forged(source)] };
    return user.update({ ...stored, metadata } as KubeObject);
  },
  "patches field managers of an object whose annotation is ignored": async (name, type) => {
    await user.create(packageOf(type, name, { [source]: "/project/fn.ts" }));
    const patch = [{ op: "replace", path: "/metadata/managedFields", value: [forged(source)] }];
    return user.patch({ ...type, name }, patch, { type: "json" });
  },
  "removes the controller of an object that a file set, too": async (name, type) => {
    const controller = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u", controller: true };
    const object = packageOf(type, name, { [source]: "/project/fn.ts" });
    await operator.apply(
      { ...object, metadata: { ...object.metadata, ownerReferences: [controller] } },
      { fieldManager: trusted, force: true },
    );
    return user.patch({ ...type, name }, { metadata: { ownerReferences: null } }, { type: "merge" });
  },
  "points an object of a file to another file": async (name, type) => {
    await operator.apply(packageOf(type, name, { [source]: "/project/fn.ts" }), { fieldManager: trusted, force: true });
    return user.apply(packageOf(type, name, { [source]: "/project/other.ts" }), { fieldManager: trusted, force: true });
  },
};

for (const type of [functionType, providerType]) {
  for (const [index, [what, attack]] of Object.entries(attacks).entries()) {
    test(`${type.kind}: a user who ${what} is refused`, async () => {
      const name = `attacked-${index}`;
      await assert.rejects(attack(name, type), (error: Error) => {
        assert.ok(isForbidden(error), error.message);
        assert.match(error.message, /annotation \S+ can only be set by members of system:masters: ask the operator/);
        assert.ok(error.message.endsWith(`to put the ${type.kind} into a file`), error.message);
        return true;
      });
      const stored = await operator.get(type, { name }).catch(() => undefined);
      const development = stored && honoredDevelopmentOf(stored, upTrust);
      assert.notDeepEqual(development, { kind: "source", path: "/project/other.ts" });
      if (!what.startsWith("points")) assert.equal(development, undefined);
    });
  }

  test(`${type.kind}: a user who creates one with field managers of its own is one of them, and the annotation is ignored`, async () => {
    const object = packageOf(type, "forged", { [source]: "/project/fn.ts" });
    const metadata = { ...object.metadata, managedFields: [forged(source)] };
    const stored = await user.create({ ...object, metadata } as KubeObject);
    assert.equal(honoredDevelopmentOf(stored, upTrust), undefined);
  });
}

test("a user changes all else of a Function that a file set, and may remove its annotation", async () => {
  const name = "of-a-file";
  await operator.apply(functionOf(name, { [source]: "/project/fn.ts" }), { fieldManager: trusted, force: true });
  const patch = (value: object): Promise<KubeObject> =>
    user.patch({ ...functionType, name }, value as KubeObject, { type: "merge" });
  await patch({ spec: { package: "example.org/x:v2" } });
  assert.deepEqual(honoredDevelopmentOf(await operator.get(functionType, { name }), upTrust), {
    kind: "source",
    path: "/project/fn.ts",
  });
  const other = await patch({ metadata: { annotations: { [source]: "/project/other.ts" } } });
  assert.equal(honoredDevelopmentOf(other, upTrust), undefined, "set by a user: ignored");
  await patch({ metadata: { annotations: { [source]: null } } });
});

test("users apply Functions without development annotations by the same field manager", async () => {
  await user.apply(functionOf("plain", {}), { fieldManager: trusted, force: true });
});

test("a policy cannot make a Function or Provider of the operator run a file", async () => {
  const registration = "admissionregistration.k8s.io/v1";
  const members = Object.entries(forged(source)).map(([name, value]) => `"${name}": dyn(${JSON.stringify(value)})`);
  const fields = `{${members.join(", ")}}`.replaceAll('"', "'");
  const annotated =
    "JSONPatch{op: 'add', path: '/metadata/annotations', value: {'purlin.dev/source': '/project/fn.ts'}}";
  const owned = `JSONPatch{op: 'add', path: '/metadata/managedFields', value: [${fields}]}`;
  await user.create({
    apiVersion: registration,
    kind: "MutatingAdmissionPolicy",
    metadata: { name: "injects" },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ["*"],
            apiVersions: ["*"],
            operations: ["CREATE", "UPDATE"],
            resources: ["functions", "providers"],
          },
        ],
      },
      mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: `[${annotated}, ${owned}]` } }],
      reinvocationPolicy: "Never",
    },
  } as KubeObject);
  await user.create({
    apiVersion: registration,
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name: "injects" },
    spec: { policyName: "injects" },
  } as KubeObject);
  for (const type of [functionType, providerType]) {
    const write = operator.apply(packageOf(type, "injected", {}), { fieldManager: trusted, force: true });
    await assert.rejects(write, isForbidden);
  }
  await user.delete({ apiVersion: registration, kind: "MutatingAdmissionPolicyBinding", name: "injects" });
  const own = await operator.apply(functionOf("injected", { [source]: "/project/fn.ts" }), {
    fieldManager: trusted,
    force: true,
  });
  assert.equal(honoredDevelopmentOf(own, upTrust)?.kind, "source");
});
