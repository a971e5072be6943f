// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { makingRow } from "@purlin/kube-apiserver/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { testKind } from "../../test/index.ts";
import { podCells, podConditions } from "./pod-cells.ts";

/** A row of a kube-apiserver 1.36.3, without name and age, and when it was asked for. */
interface Answer {
  readonly reason: string;
  readonly now: string;
  readonly cells: readonly JsonValue[];
  readonly conditions: readonly JsonObject[];
  readonly object: JsonObject;
}

const answers = readFileSync(new URL("./testdata/pod-rows.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Answer);

for (const { reason, now, cells, conditions, object } of answers) {
  test(`as the reference: ${reason}`, () => {
    const own = podCells(object, Date.parse(now));
    assert.deepEqual([...own.slice(1, 4), ...own.slice(5)], cells);
    assert.deepEqual(podConditions(object), conditions);
  });
}

test("only rows that have conditions say so", () => {
  const pod = (phase: string): JsonObject => ({ metadata: { name: phase }, spec: {}, status: { phase } });
  const { printer = assert.fail("no columns") } = testKind("v1", "Pod").rules ?? {};
  const options = { metadata: {}, include: "None", now: 0, withColumns: false } as const;
  assert.deepEqual(
    ["Running", "Failed"].map((phase) => Object.keys(finish(makingRow(printer, pod(phase), options)))),
    [
      ["cells", "object"],
      ["cells", "conditions", "object"],
    ],
  );
});

test("a Pod without a status, or with one of the wrong form, has cells all the same", () => {
  for (const status of [undefined, null, {}, [], { containerStatuses: "x" }, { initContainerStatuses: [null, 7] }]) {
    const object = { metadata: { name: "p" }, spec: null, ...(status === undefined ? {} : { status }) } as JsonObject;
    assert.deepEqual(podCells(object, 0), ["p", "0/0", "", "0", "<unknown>", "<none>", "<none>", "<none>", "<none>"]);
  }
});
