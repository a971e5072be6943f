// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "../../package-kinds.ts";
import { createDeniedRequests, declaresWebhooks } from "./provider-host.ts";

const namespace = "crossplane-system";
const account = { namespace, name: "fleet-1" };
const user = `system:serviceaccount:${namespace}:fleet-1`;
const never = (): boolean => false;

test("each message of an account counts once, and other users are ignored", () => {
  const denied = createDeniedRequests(namespace);
  const changed: string[] = [];
  const stop = denied.onChange((name) => void changed.push(name));
  for (const message of ["a", "a", "b"]) denied.record(user, message, never);
  denied.record("alice", "c", never);
  denied.record("system:serviceaccount:default:fleet-1", "d", never);
  assert.deepEqual(denied.of(account), ["a", "b"]);
  assert.deepEqual(changed, ["fleet-1", "fleet-1"]);
  stop();
  denied.record(user, "e", never);
  assert.equal(changed.length, 2);
  denied.forget(account);
  assert.deepEqual(denied.of(account), []);
});

test("what an account was given the right to is no longer listed, and is listed again when the right is taken away", () => {
  const denied = createDeniedRequests(namespace);
  let hasRight = false;
  denied.record(user, "a", () => hasRight);
  denied.record(user, "b", never);
  assert.deepEqual(denied.of(account), ["a", "b"]);
  hasRight = true;
  assert.deepEqual(denied.of(account), ["b"]);
  hasRight = false;
  denied.record(user, "a", () => hasRight);
  assert.deepEqual(denied.of(account), ["b", "a"]);
});

test("an account that asks for everything does not fill the memory", () => {
  const denied = createDeniedRequests(namespace);
  for (let at = 0; at < 10_000; at++) denied.record(user, String(at), never);
  assert.deepEqual(denied.of(account), ["0", "1", "2", "3", "4"]);
  for (let at = 0; at < 10_000; at++) denied.record(`${user}${at}`, "x", never);
  assert.deepEqual(denied.of({ namespace, name: "fleet-19999" }), []);
});

test("messages are short and have no control characters: the Provider chooses the names in them", () => {
  const denied = createDeniedRequests(namespace);
  denied.record(user, `secrets "\u001b[2J${"x".repeat(100_000)}" is forbidden`, never);
  const [message = ""] = denied.of(account);
  assert.ok(message.length <= 501 && message.startsWith('secrets "\uFFFD[2Jxx'), message.slice(0, 40));
});

/** A client of a server with one CRD, of the name `kegs.example.org`, that converts by a strategy. */
function clientWith(strategy: string): ControllerClient {
  const get = async (_: unknown, { name }: { readonly name: string }): Promise<object | undefined> =>
    name === "kegs.example.org" ? { metadata: { name }, spec: { conversion: { strategy } } } : undefined;
  return { get } as Partial<ControllerClient> as ControllerClient;
}

const declares = (strategy: string, kind: string, name = "kegs.example.org"): Promise<boolean> => {
  const revision = { metadata: { name: "p-1" }, status: { objectRefs: [{ kind, name }] } } as Partial<KubeObject>;
  const context = {
    type: packageTypes.Provider,
    revision: revision as KubeObject,
    signal: new AbortController().signal,
  };
  return declaresWebhooks(clientWith(strategy), context);
};

test("a package has webhooks when it installs one, or a kind that it converts, directly or as a managed resource definition", async () => {
  assert.equal(await declares("None", "ValidatingWebhookConfiguration"), true);
  assert.equal(await declares("None", "MutatingWebhookConfiguration"), true);
  for (const kind of ["CustomResourceDefinition", "ManagedResourceDefinition"]) {
    assert.equal(await declares("Webhook", kind), true, kind);
    assert.equal(await declares("None", kind), false, kind);
    assert.equal(await declares("Webhook", kind, "inactive.example.org"), false, "a kind that is not served yet");
  }
});
