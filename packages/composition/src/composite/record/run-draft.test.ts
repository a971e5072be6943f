// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WriteRecord } from "@purlin/run-store";
import { RunDraft } from "./run-draft.ts";

const write = (name: string): WriteRecord => ({ verb: "delete", apiVersion: "v1", kind: "ConfigMap", name });

test("writes are recorded in the order in which they were sent, whichever is answered first", () => {
  const run = new RunDraft("created", 0);
  const [first, second, third] = [run.beginWrite(), run.beginWrite(), run.beginWrite()];
  third(write("c"));
  first(write("a"));
  assert.deepEqual(
    run.writes.map(({ name }) => name),
    ["a", "c"],
    "one that failed has no record",
  );
  second(write("b"));
  assert.deepEqual(
    run.writes.map(({ name }) => name),
    ["a", "b", "c"],
  );
});
