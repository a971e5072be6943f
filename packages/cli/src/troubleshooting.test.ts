// SPDX-License-Identifier: Apache-2.0
// Holds the pages that explain conditions and capabilities against the source.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Capability } from "@purlin/function-sdk";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = readFileSync(join(root, "docs/guide/troubleshooting.md"), "utf8");

/** The source files that write conditions, events and messages. */
function sources(): string[] {
  const names = [
    "composition",
    "function-process",
    "oci",
    "package-manager",
    "kube-controller",
    "operations",
    "rollout",
  ];
  const folders = [...names.map((name) => `packages/${name}/src`), "packages/kube-objects/src/object"];
  return folders.flatMap((path) => {
    const folder = join(root, path);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return files
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !/(^|\/)(testing|testdata)\//.test(file))
      .map((file) => readFileSync(join(folder, file), "utf8"));
  });
}

/** The ways in which the source spells a reason of a condition or an event. */
const spellings = [
  /\b\w*[rR]eason = "([A-Z]\w+)"/g,
  /\breason(?:: | = )(?:[^"\n;]*\? )?"([A-Z]\w+)"/g,
  /\b(?:normal|warning|invalid|ReconcileError)\(\s*"([A-Z]\w+)"/g,
  /\b(?:failure|apply|terminate|bind|delete|propagate|paused): "([A-Z]\w+)"/g,
];

/** A reason in the list of ImageConfigs that a revision has applied. */
const ofNoCondition = new Set(["ConfigureRuntime"]);

function reasonsInSource(): ReadonlySet<string> {
  const found = sources().flatMap((text) =>
    spellings.flatMap((spelling) => [...text.matchAll(spelling)].map(([, reason = ""]) => reason)),
  );
  return new Set(found.filter((reason) => !ofNoCondition.has(reason)));
}

/** Words in code where reasons stand: in the second column of conditions, the first of events, and in lists of events. */
function reasonsOnPage(): ReadonlySet<string> {
  const rows = [...page.matchAll(/^\| (.*) \|$/gm)].map(([, row = ""]) => row.split(" | "));
  const cells = rows.map(([first = "", second = "", ...rest]) => (rest.length > 0 ? second : first));
  const lists = [...page.matchAll(/^Events: [\s\S]*?(?:\.\n\n|$)/gm)].map(([text]) => text);
  const words = [...cells, ...lists].flatMap((text) => [...text.matchAll(/`([A-Z][a-zA-Z]+)`/g)]);
  return new Set(words.map(([, word = ""]) => word));
}

test("every reason of a condition or event is explained", () => {
  const reasons = reasonsInSource();
  assert.ok(reasons.size > 50, `only ${reasons.size} were found in the source`);
  assert.deepEqual(
    [...reasons].filter((reason) => !page.includes(`\`${reason}\``)),
    [],
  );
});

test("every reason that is explained exists", () => {
  const all = sources().join("\n");
  const explained = reasonsOnPage();
  assert.ok(explained.size > 50, `only ${explained.size} were found on the page`);
  assert.deepEqual(
    [...explained].filter((reason) => !all.includes(`"${reason}"`)),
    [],
  );
});

test("messages that are quoted exist in the source", () => {
  const all = sources().join("\n");
  const quoted = [
    "no compatible Compositions found",
    "does not have a valid function pipeline",
    "some resources were invalid, check events",
    "refusing to operate on composite resource",
    "the function runs without a sandbox",
    "already controlled by",
  ];
  for (const text of quoted) {
    assert.ok(page.includes(text), `the page no longer has: ${text}`);
    assert.ok(all.includes(text), `no source file has this message: ${text}`);
  }
});

test("the page on capabilities has each of them", () => {
  const reference = readFileSync(join(root, "docs/reference/capabilities.md"), "utf8");
  const listed = [...reference.matchAll(/^\| `(CAPABILITY_\w+)` \|/gm)].map(([, name]) => name);
  const names = Object.keys(Capability).filter((name) => name !== "CAPABILITY_UNSPECIFIED");
  assert.deepEqual(listed.sort(), names.sort());
});
