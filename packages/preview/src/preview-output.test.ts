// SPDX-License-Identifier: Apache-2.0
// Plans of a live control plane that are large, in every format.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { printYaml } from "@purlin/kube-objects/yaml";
import { type Scene, startScene } from "../test/scene.ts";
import { app } from "../test/scene-objects.ts";
import { diffText, planMarkdown } from "./print/diff-text.ts";
import { planText } from "./print/plan-text.ts";
import { planReport } from "./print/report.ts";

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const yaml = (value: JsonObject): string => printYaml(value);
const shows = { showsUnchanged: false, showsPending: false };
const widget = (text: string): KubeObject => ({
  ...{ apiVersion: "things.example.org/v1", kind: "Widget", metadata: { name: "large", namespace: "default" } },
  spec: { forProvider: { text } },
});

test("an object of ten MiB is cut in text, and whole in JSON", async () => {
  await scene.apply(widget("short"));
  const text = "x".repeat(10 * 2 ** 20);
  const plan = await scene.preview({ objects: [widget(text)] });
  assert.deepEqual([plan.errors, plan.inputs.map((one) => one.class)], [[], ["update"]]);
  const shown = planText(plan, shows);
  assert.match(shown, /spec\.forProvider\.text +"short" -> "x{50,200}… \(10485762 characters\)\n/);
  assert.ok(shown.length < 1_000, shown.slice(0, 2_000));
  const [field] = plan.inputs[0]?.fields ?? [];
  assert.deepEqual([field?.path, field?.old, field?.new === text], ["spec.forProvider.text", "short", true]);
  assert.ok(JSON.stringify(planReport(plan)).includes(`"${text}"`));
  assert.ok(diffText(plan, { isCompact: false, yaml }).includes(text), "a diff is not cut");
});

test("a comment about many long changes is cut between composite resources, and stays valid Markdown", async () => {
  const objects = Array.from({ length: 12 }, (_, at) =>
    app(`long-${String(at).padStart(2, "0")}`, { text: `\`\`\`\`\n</details>\n${"x".repeat(9_000)}` }),
  );
  const plan = await scene.preview({ objects });
  assert.equal(plan.summary.added, 24);
  assert.ok(diffText(plan, { isCompact: false, yaml }).length > 70_000);
  const comment = planMarkdown(plan, { isCompact: false, yaml, key: "prod" });
  assert.match(comment, /^<!-- purlin-diff:prod -->\n### Plan: 24 to add/);
  assert.ok(comment.length <= 60_000, String(comment.length));
  const fences = [...comment.matchAll(/^(`{3,})(diff)?$/gm)].map(([line]) => line);
  const shown = fences.filter((fence) => fence === "`````diff").length;
  assert.ok(shown > 0 && shown < 12);
  assert.equal(fences.filter((fence) => fence === "`````").length, shown, "each fence is closed");
  assert.equal(comment.match(/^<details>/gm)?.length, shown);
  assert.equal(comment.match(/^<\/details>/gm)?.length, shown);
  assert.ok(comment.endsWith(`\n${12 - shown} more XRs, see the job's JSON\n`), comment.slice(-200));
});
