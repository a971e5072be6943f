// SPDX-License-Identifier: Apache-2.0
// `purlin render` with functions that give hostile answers: each is refused with one line, nothing is printed of it, and no render hangs.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isJsonObject } from "@purlin/kube-objects/json";
import { dump } from "js-yaml";
import { type Outcome, runInProcess } from "../../../packages/cli/test/test-io.ts";
import { type AnsweringFunction, startFunction } from "./answering-function.ts";
import { manifests, xrType } from "./attacked-plane.ts";
import { type Attack, attacks } from "./attacks.ts";

/** What only an API server refuses: there is none, so the render prints it, or nothing is found. */
const printed: ReadonlySet<string> = new Set([
  "status-5-mb",
  "selects-too-many",
  "unserved-kinds",
  "kind-with-a-path",
  "same-object-5000-times",
  "no-kind",
  "no-name",
]);

const folder = mkdtempSync(join(tmpdir(), "hostile-render-"));
let fn: AnsweringFunction;

before(async () => {
  fn = await startFunction((request) => {
    const spec = request.observed?.composite?.resource?.value["spec"];
    const { answer } = attacks[String(isJsonObject(spec) ? spec["case"] : "")] as Attack;
    return answer(request);
  });
  const [definition, composition, func] = manifests(fn.address).map((object) => dump(object));
  writeFileSync(join(folder, "composition.yaml"), `${definition}---\n${composition}`);
  writeFileSync(join(folder, "functions.yaml"), func ?? "");
});
after(async () => {
  await fn?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function render(name: string): Promise<Outcome> {
  writeFileSync(join(folder, "xr.yaml"), dump({ ...xrType, metadata: { name }, spec: { case: name } }));
  return runInProcess(["render", "xr.yaml", "composition.yaml", "functions.yaml"], { cwd: folder });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

for (const [name, { refused }] of Object.entries(attacks)) {
  if (refused === undefined || printed.has(name)) continue;
  test(`${name} is refused with one line`, async () => {
    const { exitCode, stdout, stderr } = await render(name);
    assert.equal(exitCode, 1, stderr.slice(0, 500));
    assert.equal(stdout, "");
    assert.equal(stderr.trimEnd().split("\n").length, 1, stderr.slice(0, 1_000));
    assert.ok(stderr.length < 40_000, `${stderr.length} characters`);
    assert.match(stderr, /^error: cannot render Attack "/);
    assert.match(stderr.trimEnd(), new RegExp(refused.source.replace(/^\^cannot compose resources: /, "")));
    assert.doesNotMatch(stderr.trimEnd(), control);
  });
}

for (const name of printed) {
  test(`${name} is printed or refused, without control characters`, async () => {
    const { exitCode, stdout, stderr } = await render(name);
    assert.ok(exitCode === 0 || exitCode === 1);
    assert.equal(exitCode === 0, stdout !== "");
    if (exitCode === 1) assert.match(stderr, /^error: /);
    assert.doesNotMatch(stderr.trimEnd(), control);
  });
}
