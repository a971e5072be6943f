// SPDX-License-Identifier: Apache-2.0
// The page on compatibility and the harness list the same differences from Kubernetes.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { documentedDifferences, shownElsewhere } from "./documented/all-documented.ts";

const repository = new URL("../../", import.meta.url);
const sections = ["API objects, patches and server-side apply", "Built-in objects of the embedded server"];

/** The first cells of the rows under a heading. */
function topicsOf(page: string, heading: string): string[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [table = ""] = section.split("\n## ");
  const rows = table.split("\n").filter((row) => row.startsWith("|"));
  return rows.slice(2).map((row) => row.split("|")[1]?.trim() ?? "");
}

test("every difference on the page is shown by a case, and every case is on the page", () => {
  const page = readFileSync(new URL("docs/reference/compatibility.md", repository), "utf8");
  const topics = sections.flatMap((heading) => topicsOf(page, heading));
  const shown = [...documentedDifferences.map(({ topic }) => topic), ...Object.keys(shownElsewhere)];
  assert.deepEqual(shown.toSorted(), topics.toSorted());
});

test("rows that need a server of their own name a test that exists", () => {
  for (const file of Object.values(shownElsewhere)) assert.ok(existsSync(new URL(file, repository)), file);
});
