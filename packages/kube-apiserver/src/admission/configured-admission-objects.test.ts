// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { storeOf } from "../../test/test-server.ts";
import type { Entry, Store } from "../store/store.ts";
import { PolicyReader, WebhookReader } from "./configured-admission-objects.ts";

const key = (resource: string, name: string): string => `/admissionregistration.k8s.io/${resource}/${name}`;
const configuration = (name: string, ...webhooks: JsonObject[]): JsonObject => ({ metadata: { name }, webhooks });

/** The objects of a resource, as admission lists them. */
function listed(store: Store<JsonObject>, resource: string): readonly Entry<JsonObject>[] {
  return store.list({ prefix: key(resource, "") }).entries;
}

test("the webhooks of a configuration that has not changed are not read again", async () => {
  const rules = [{ apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["deployments"] }];
  await using store = await storeOf({
    [key("hooks", "a")]: configuration("a", { name: "x", rules }, { name: "y" }, { name: "x" }),
    [key("hooks", "b")]: configuration("b", { name: "x" }),
  });
  const reader = new WebhookReader();
  const first = reader.webhooksOf(listed(store, "hooks"));
  assert.deepEqual(
    first.map(({ hook }) => hook.id),
    ["a/x/0", "a/y/0", "a/x/1", "b/x/0"],
    "webhooks of the same name have different ids",
  );
  assert.deepEqual(first[0]?.match.rules[0]?.groups, ["apps"]);
  await store.write(key("hooks", "b"), () => ({ action: "put", value: configuration("b", { name: "z" }) }));
  const second = reader.webhooksOf(listed(store, "hooks"));
  assert.deepEqual(
    second.map((one, index) => one === first[index]),
    [true, true, true, false],
  );
  assert.equal(second[3]?.hook.id, "b/z/0");
});

test("a policy is read again when it or one of its bindings has changed", async () => {
  const policy = (name: string, failurePolicy = "Fail"): JsonObject => ({
    metadata: { name },
    spec: { failurePolicy },
  });
  const binding = (name: string, policyName: string): JsonObject => ({ metadata: { name }, spec: { policyName } });
  await using store = await storeOf({
    [key("policies", "a")]: policy("a"),
    [key("policies", "b")]: policy("b"),
    [key("policies", "unbound")]: policy("unbound"),
    [key("bindings", "a1")]: binding("a1", "a"),
    [key("bindings", "b1")]: binding("b1", "b"),
  });
  const reader = new PolicyReader();
  const read = (): readonly { readonly name: string }[] =>
    reader.policiesOf(listed(store, "policies"), listed(store, "bindings"));
  let before = read();
  assert.deepEqual(
    before.map(({ name }) => name),
    ["a", "b"],
  );
  const put = async (at: string, value: JsonObject): Promise<readonly string[]> => {
    await store.write(at, () => ({ action: "put", value }));
    const now = read();
    const changed = now.filter((one) => !before.includes(one)).map(({ name }) => name);
    before = now;
    return changed;
  };
  assert.deepEqual(await put(key("policies", "unbound"), policy("unbound", "Ignore")), []);
  assert.deepEqual(await put(key("policies", "a"), policy("a", "Ignore")), ["a"]);
  assert.deepEqual(await put(key("bindings", "b1"), binding("b1", "b")), ["b"]);
  assert.deepEqual(await put(key("bindings", "a2"), binding("a2", "a")), ["a"]);
  assert.deepEqual(await put(key("bindings", "a2"), binding("a2", "b")), ["a", "b"]);
  assert.deepEqual(await put(key("bindings", "other"), binding("other", "missing")), []);
});
