// SPDX-License-Identifier: Apache-2.0
// Objects with as many owners as a request allows, by a user whose right to block their deletion is checked for each.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
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

const kinds = 200;

async function grant(name: string, rules: readonly JsonObject[]): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  await created(`${roles}/roles`, { metadata: { name }, rules });
  const subjects = [{ kind: "User", name: user, apiGroup: group }];
  await created(`${roles}/rolebindings`, {
    metadata: { name },
    subjects,
    roleRef: { apiGroup: group, kind: "Role", name },
  });
}

before(async () => {
  for (let index = 0; index < kinds; index++) {
    await define(server.target, `Owner${index}`, definition(`Owner${index}`, {}));
  }
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
