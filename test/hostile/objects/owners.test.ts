// SPDX-License-Identifier: Apache-2.0
// Objects with as many owners as a request allows: the right to block their deletion is checked for each, and garbage collection looks
// for each.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@purlin/kube-objects/json";
import { send } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, sendJson } from "./attacked-kind.ts";

const server = await startAttackedServer({
  args: ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"],
});
after(() => server[Symbol.asyncDispose]());

const user = "mallory";
const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const configMaps = "/api/v1/namespaces/default/configmaps";

async function created(path: string, object: JsonObject): Promise<void> {
  const { code, text } = await sendJson(server.target, ["POST", path], object);
  assert.equal(code, 201, text);
}

function owners(count: number, kindOf: (index: number) => string): JsonObject[] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ apiVersion: "hostile.example.org/v1", kind: kindOf(index), name: `n${index}`, uid: `u${index}` },
    blockOwnerDeletion: true,
  }));
}

const kinds = 400;

async function grant(name: string, rules: readonly JsonObject[], to = user): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  await created(`${roles}/roles`, { metadata: { name }, rules });
  const subjects = [{ kind: "User", name: to, apiGroup: group }];
  await created(`${roles}/rolebindings`, {
    metadata: { name },
    subjects,
    roleRef: { apiGroup: group, kind: "Role", name },
  });
}

before(async () => {
  await Promise.all(
    Array.from({ length: kinds }, (_, index) =>
      define(server.target, `Owner${index}`, definition(`Owner${index}`, {})),
    ),
  );
  const others = Array.from({ length: 50 }, (_, index) => ({
    apiGroups: [`g${index}`],
    resources: ["r"],
    verbs: ["get"],
  }));
  for (let index = 0; index < 20; index++) await grant(`other-${index}`, others);
  await grant("owners", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
});

for (const [what, kindOf] of Object.entries({
  "of one kind": () => `Owner${kinds - 1}`,
  "of all kinds": (index: number) => `Owner${index % kinds}`,
  "that are lists": (index: number) => `Owner${index % kinds}List`,
})) {
  test(`15,000 owners ${what}`, async () => {
    const object = { metadata: { generateName: "owned-", ownerReferences: owners(15_000, kindOf) } };
    const headers = { "content-type": "application/json", "impersonate-user": user };
    const { code, text } = await server.during(what, () =>
      send(server.target, { method: "POST", path: configMaps, headers, body: JSON.stringify(object) }),
    );
    assert.equal(code, 201, text.slice(0, 300));
  });
}

test("15,000 owners for which a role lists 90,000 names", async () => {
  const names = Array.from({ length: 90_000 }, (_, index) => `n${89_999 - index}`);
  const named = { apiGroups: ["*"], resources: ["*/finalizers"], verbs: ["update"], resourceNames: names };
  await grant("named", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }, named], "trudy");
  const headers = { "content-type": "application/json", "impersonate-user": "trudy" };
  const owned = (count: number): string =>
    JSON.stringify({ metadata: { generateName: "named-", ownerReferences: owners(count, () => "Owner1") } });
  await server.during("names", async () => {
    const sent = { method: "POST", path: configMaps, headers, body: owned(15_000) };
    const { code, text } = await send(server.target, sent);
    assert.equal(code, 201, text.slice(0, 300));
  });
});

/** Waits while garbage collection runs; the test has a time limit. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(50);
}

interface Owned {
  readonly metadata: { readonly uid: string; readonly ownerReferences?: readonly unknown[] };
}

const read = async (name: string): Promise<Owned> =>
  (await sendJson(server.target, ["GET", `${configMaps}/${name}`])).body as object as Owned;

test("15,000 owners that do not exist", { timeout: 60_000 }, async () => {
  await server.during("absent", async () => {
    const ownerReferences = owners(15_000, () => `Owner${kinds - 1}`);
    await created(configMaps, { metadata: { name: "orphan", ownerReferences } });
    await until(async () => (await sendJson(server.target, ["GET", `${configMaps}/orphan`])).code === 404);
  });
});

test("15,000 owners of which one exists", { timeout: 60_000 }, async () => {
  await created(configMaps, { metadata: { name: "owner" } });
  await server.during("one exists", async () => {
    const { uid } = (await read("owner")).metadata;
    const own = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid };
    const ownerReferences = [...owners(14_999, () => `Owner${kinds - 1}`), own];
    await created(configMaps, { metadata: { name: "owned", ownerReferences } });
    await until(async () => (await read("owned")).metadata.ownerReferences?.length === 1);
  });
});

test("a hundred objects of 15,000 owners that are not known, and a definition after which all are looked at again", async () => {
  const ownersOf = (object: number): JsonObject[] =>
    Array.from({ length: 15_000 }, (_, index) => ({
      ...{ apiVersion: "unknown.example.org/v1", kind: "Unknown", name: "n", uid: `${object}-${index}` },
    }));
  await server.during("a hundred objects", async () => {
    for (let object = 0; object < 100; object++) {
      await created(configMaps, { metadata: { name: `unknown-${object}`, ownerReferences: ownersOf(object) } });
    }
  });
  await server.during("a definition", async () => {
    await define(server.target, "Later", definition("Later", {}));
    await delay(3000);
  });
});

test("memory stays bounded", () => {
  server.requireBoundedMemory();
});
