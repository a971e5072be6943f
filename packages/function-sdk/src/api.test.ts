// SPDX-License-Identifier: Apache-2.0
// The names authors can import, in a file that a reviewer sees change: `node --test --test-update-snapshots FILE` after
// a change that is meant.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const entries: Readonly<Record<string, string>> = {
  "@purlin/function-sdk": "index.ts",
  "request.*": "request.ts",
  "response.*": "response.ts",
  "result.*": "result.ts",
  "resource.*": "resource.ts",
  "@purlin/function-sdk/testing": "testing/index.ts",
};

/** The names a file of explicit exports gives away; types are marked. */
function exportsOf(file: string): string[] {
  const text = readFileSync(join(import.meta.dirname, file), "utf8");
  const clauses = [...text.matchAll(/export (type )?\{([^}]*)\}/g)].flatMap(([, marked = "", names = ""]) =>
    names
      .split(",")
      .map((name) => `${marked}${name.trim()}`.replace("type type ", "type "))
      .filter((name) => name !== "" && name !== "type "),
  );
  const namespaces = [...text.matchAll(/export \* as (\w+)/g)].map(([, name = ""]) => `namespace ${name}`);
  return [...clauses, ...namespaces].map((name) => name.replace(/^(type )?\w+ as /, "$1")).sort();
}

test("what can be imported is what was agreed on", (t) => {
  const api = Object.entries(entries).map(
    ([name, file]) =>
      `${name}\n${exportsOf(file)
        .map((one) => `  ${one}\n`)
        .join("")}`,
  );
  t.assert.fileSnapshot(api.join("\n"), join(import.meta.dirname, "../api.txt"), {
    serializers: [(value: unknown) => String(value)],
  });
});
