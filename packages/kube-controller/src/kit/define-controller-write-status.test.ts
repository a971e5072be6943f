// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { ControllerClient } from "../client/create-controller-client.ts";
import { withConditionTexts, writeStatus } from "./define-controller.ts";

const signal = new AbortController().signal;
const clock = { now: () => Date.parse("2026-01-01T00:00:00Z") };
const later = { now: () => Date.parse("2026-01-02T00:00:00Z") };
const bare: KubeObject = { apiVersion: "v1", kind: "Thing", metadata: { name: "a", generation: 3 } };

test("a status that does not change is not written", async () => {
  const text = { type: "Healthy", status: "False", reason: "R", message: "m" } as const;
  const reported = withConditionTexts(bare, [text], clock);
  const rows: { why: string; before: KubeObject; after: KubeObject; writes: number }[] = [
    { why: "the same object", before: bare, after: bare, writes: 0 },
    { why: "an empty status and none", before: bare, after: { ...bare, status: {} } as KubeObject, writes: 0 },
    { why: "the same text later", before: reported, after: withConditionTexts(reported, [text], later), writes: 0 },
    {
      why: "another message",
      before: reported,
      after: withConditionTexts(reported, [{ ...text, message: "n" }], clock),
      writes: 1,
    },
    {
      why: "another condition",
      before: reported,
      after: withConditionTexts(reported, [{ type: "Installed", status: "True", reason: "R" }], clock),
      writes: 1,
    },
  ];
  for (const { why, before, after, writes } of rows) {
    const written: KubeObject[] = [];
    const client = {
      async update(object: KubeObject, options: { subresource?: string }) {
        assert.equal(options.subresource, "status");
        written.push(object);
        return object;
      },
    } as unknown as ControllerClient;
    assert.equal(await writeStatus(client, { before, after, signal }), writes === 0 ? before : after, why);
    assert.equal(written.length, writes, why);
  }
});

test("conditions that hold already leave the object as it is", () => {
  const text = { type: "Healthy", status: "True", reason: "R" } as const;
  const reported = withConditionTexts(bare, [text], clock);
  assert.equal(withConditionTexts(reported, [text], later), reported);
  assert.deepEqual(reported["status"], {
    conditions: [{ ...text, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 3 }],
  });
});
