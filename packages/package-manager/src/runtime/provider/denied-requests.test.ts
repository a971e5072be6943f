// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createDeniedRequests } from "./denied-requests.ts";

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

test("what an account was given the right to is not listed any more, and is listed again when the right is taken away", () => {
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
