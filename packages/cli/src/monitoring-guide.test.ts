// SPDX-License-Identifier: Apache-2.0
// Every metric that docs/guide/monitoring.md names is served by `purlin up`, to the token that the page names.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { load } from "js-yaml";
import { spawnPurlin } from "../test/spawn-purlin.ts";

const page = readFileSync(new URL("../../../docs/guide/monitoring.md", import.meta.url), "utf8");

interface Answer {
  readonly code: number;
  readonly text: string;
}

test("purlin up serves every metric of the page to the token of its data directory", async () => {
  using folder = tempFolder();
  await using up = spawnPurlin(["up", "--data-dir", "d"], { cwd: folder.path });
  await up.next("stdout", /https:\/\/127\.0\.0\.1:\d+/);
  const file = (name: string): string => readFileSync(join(folder.path, "d", name), "utf8").trim();
  assert.equal(statSync(join(folder.path, "d/metrics-token")).mode & 0o077, 0);
  const kubeconfig = load(file("kubeconfig")) as {
    readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  };
  const ca = Buffer.from(kubeconfig.clusters[0]?.cluster["certificate-authority-data"] ?? "", "base64");
  const get = (path: string, token = file("metrics-token")): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const headers = { authorization: `Bearer ${token}` };
    const url = `https://127.0.0.1:${file("port")}${path}`;
    request(url, { ca, headers, agent: false }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (data: string) => {
        text += data;
      });
      incoming.on("end", () => resolve({ code: incoming.statusCode ?? 0, text }));
    })
      .on("error", reject)
      .end();
    return promise;
  };
  const { code, text } = await get("/metrics");
  assert.equal(code, 200, text);
  const served = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const table = [...page.matchAll(/^\|.*$/gm)].flatMap(([row]) => [...row.matchAll(/`([a-z_]+_[a-z_]+)`/g)]);
  const expressions = [...page.matchAll(/^ {4}expr: (.*)$/gm)].flatMap(([, expression = ""]) => [
    ...expression.matchAll(/\b([a-z]+_[a-z_]+_(?:total|seconds|depth)|workqueue_depth)/g),
  ]);
  const named = new Set([...table, ...expressions].map(([, name]) => name));
  assert.ok(named.size >= 10);
  assert.deepEqual(
    [...named].filter((name) => !served.has(name)),
    [],
  );
  assert.equal((await get("/readyz")).code, 200);
  assert.equal((await get("/api/v1/secrets")).code, 403, "and nothing else");
  assert.equal((await get("/metrics", "another")).code, 401);
});

test("the YAML of the page is well-formed", () => {
  const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = ""]) => load(text));
  assert.equal(blocks.length, 2);
});
