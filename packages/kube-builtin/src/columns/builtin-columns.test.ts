// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { plainPrinter } from "@purlin/kube-apiserver/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { testKind } from "../../test/index.ts";

interface Answer {
  readonly apiVersion: string;
  readonly kind: string;
  readonly columns: readonly JsonObject[];
  readonly rows: readonly { readonly cells: JsonValue[]; readonly object: JsonObject }[];
}

// Tables of a kube-apiserver 1.36.3, descriptions left out.
const answers = JSON.parse(
  readFileSync(new URL("./testdata/real-server.json", import.meta.url), "utf8"),
) as readonly Answer[];

for (const { apiVersion, kind, columns, rows } of answers) {
  const { printer = plainPrinter } = testKind(apiVersion, kind).rules ?? {};

  test(`${apiVersion} ${kind}: the reference's columns and cells`, () => {
    assert.deepEqual(
      printer.columns.map((column) => ({ ...column })),
      columns,
    );
    for (const { cells, object } of rows) {
      const now = Date.parse((object["metadata"] as Record<string, string>)["creationTimestamp"] ?? "");
      // Ages depend on when the table was requested. IPAddresses have one without a column.
      const ages = new Set(["Age", "Last Seen", "First Seen"]);
      const masked = (values: readonly JsonValue[]): JsonValue[] =>
        values.map((value, index) => (ages.has(printer.columns[index]?.name ?? "Age") ? "age" : value));
      assert.deepEqual(masked(printer.cells(object, now)), masked(cells));
    }
  });
}
