// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { readWebhookTargets } from "./webhook-targets.ts";

const read = (...webhookTarget: string[]): ReturnType<typeof readWebhookTargets> =>
  readWebhookTargets({ args: [], options: { webhookTarget } });

test("targets are read by Service and port", () => {
  assert.deepEqual(
    [...read("default/hook:443=127.0.0.1:9443", "other/hook:8443=[::1]:9444", "a/b:1=localhost:2")],
    [
      ["default/hook:443", { host: "127.0.0.1", port: 9443 }],
      ["other/hook:8443", { host: "::1", port: 9444 }],
      ["a/b:1", { host: "localhost", port: 2 }],
    ],
  );
  assert.equal(read().size, 0);
});

for (const text of [
  "",
  "hook=127.0.0.1:1",
  "a/b=127.0.0.1:1",
  "a/b:0=127.0.0.1:1",
  "a/b:1=127.0.0.1:70000",
  "a/b:1=x",
]) {
  test(`"${text}" is refused with the form that is expected`, () => {
    assert.throws(() => read(text), /expected NAMESPACE\/SERVICE:PORT=HOST:PORT, such as default\/hook:443=/);
  });
}
