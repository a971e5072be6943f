// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ManagedFieldsEntry } from "../object/kube-object.ts";
import { managersOfParent, managersOfScale, type ReplicasPaths } from "./scale-managers.ts";
// Observed from the reference's ScaleHandler.
import observed from "./testdata/scale-managers.json" with { type: "json" };

interface Row {
  readonly dir: string;
  readonly parent: readonly ManagedFieldsEntry[];
  readonly scale?: readonly ManagedFieldsEntry[];
  readonly version: string;
  readonly paths: Readonly<Record<string, readonly string[] | null>>;
  readonly entries: readonly ManagedFieldsEntry[];
}

// Entries that are equal in all that orders them come in random order there.
const unordered = (entries: readonly ManagedFieldsEntry[]): string[] =>
  entries.map((entry) => JSON.stringify(Object.entries(entry).sort())).sort();

for (const [number, row] of (observed as unknown as readonly Row[]).entries()) {
  test(`scale ${number}: managers to the ${row.dir}`, () => {
    const paths: ReplicasPaths = new Map(Object.entries(row.paths));
    const { parent, scale = [] } = row;
    const entries =
      row.dir === "scale"
        ? managersOfScale(parent, paths)
        : managersOfParent({ parent, scale, apiVersion: `example.org/${row.version}`, paths });
    assert.deepEqual(unordered(entries), unordered(row.entries));
  });
}
