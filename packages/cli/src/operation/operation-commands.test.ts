// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { parseYaml } from "../files/yaml-file.ts";

const cwd = new URL("../../../../examples/operations/", import.meta.url).pathname;
const render = (...args: readonly string[]): Promise<Outcome> =>
  runInProcess(["operation", "render", ...args], { cwd });
const documents = ({ stdout }: Outcome): Record<string, never>[] =>
  parseYaml(stdout, "stdout").map(({ value }) => value as Record<string, never>);

/** The commands of the guide that render. */
const guide = readFileSync(new URL("../../../../docs/guide/operations.md", import.meta.url), "utf8");
const [rotate = [], remediate = []] = [...guide.matchAll(/^npx purlin operation render (.*)$/gm)].map(([, args = ""]) =>
  args.split(" "),
);

test("the guide renders the rotation of a Secret", async () => {
  const outcome = await render(...rotate, "--include-function-results", "--include-context");
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  const [operation, secret, context] = documents(outcome);
  assert.deepEqual(operation?.["status"]?.["pipeline"], [{ step: "rotate", output: { rotated: "default/database" } }]);
  assert.equal(operation?.["spec"], undefined);
  assert.equal(secret?.["data"]?.["previous-password"], "b2xk");
  assert.deepEqual(context?.["fields"], {});
});

test("--output json prints one List", async () => {
  const { exitCode, stdout } = await render(...remediate, "--output", "json");
  const { kind, items } = JSON.parse(stdout) as { readonly kind: string; readonly items: readonly { kind: string }[] };
  assert.deepEqual([exitCode, kind, items.map((item) => item.kind)], [0, "List", ["Operation", "ConfigMap"]]);
});

test("the guide renders the repair of an unhealthy object", async () => {
  const outcome = await render(...remediate, "--include-full-operation", "-r");
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  const [operation, worker, result] = documents(outcome);
  assert.equal(operation?.["spec"]?.["mode"], "Pipeline");
  assert.deepEqual(worker?.["data"], { health: "restarting" });
  assert.equal(result?.["message"], 'Pipeline step "remediate": restarting worker');
});

test("a CronOperation renders its template", async () => {
  const outcome = await render("back-up.yaml", "functions.yaml", "-e", "objects.yaml");
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  const [operation, backup] = documents(outcome);
  assert.deepEqual(operation?.["metadata"], { labels: { "example.org/purpose": "backup" }, name: "nightly-backup" });
  assert.deepEqual(backup?.["data"], { "settings.json": '{"size":"3"}' });
});

test("another kind is not an operation", async () => {
  using folder = tempFolder({ "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n" });
  const outcome = await runInProcess(["operation", "render", "map.yaml"], { cwd: folder.path });
  assert.equal(outcome.exitCode, 1);
  assert.match(outcome.stderr, /map.yaml:2.*: not an operation type: ConfigMap\/v1/);
});
