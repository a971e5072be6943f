// SPDX-License-Identifier: Apache-2.0
// Patterns and rules written to keep a server busy: they are refused, or run within their budget, and other clients are not delayed.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Target } from "../conformance/harness/wire.ts";
import { ask, configMaps } from "./harness/config-maps.ts";
import { chaosDirectory, startServer } from "./harness/server-process.ts";

/** Far beyond what any request takes, far below what one of these takes a server that falls for it. */
const longestPauseMs = 30_000;

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const kindOf = (plural: string): string => `${plural[0]?.toUpperCase()}${plural.slice(1, -1)}`;

function definition(plural: string, spec: object): object {
  const kind = kindOf(plural);
  return {
    metadata: { name: `${plural}.hostile.example.org` },
    spec: {
      group: "hostile.example.org",
      scope: "Namespaced",
      names: { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
        },
      ],
    },
  };
}

const text = (more: object): object => ({ type: "object", properties: { text: { type: "string", ...more } } });
const rule = (source: string): object => ({ "x-kubernetes-validations": [{ rule: source }] });
const numbers = { type: "array", items: { type: "integer" } };
const nested = (depth: number): string =>
  `${Array.from({ length: depth }, (_, i) => `self.all(v${i}, `).join("")}true${")".repeat(depth)}`;

/** Each: a schema, and an object that makes it work as hard as it can. */
const hostile: Readonly<Record<string, { readonly schema: object; readonly spec: unknown }>> = {
  backtracks: { schema: text({ pattern: "^(a+)+$" }), spec: { text: `${"a".repeat(5000)}b` } },
  alternates: { schema: text({ pattern: "^(a|a|aa)*c$" }), spec: { text: "a".repeat(50_000) } },
  repeats: { schema: text({ pattern: "^(([a-z]{1,50}){1,50}){1,5}$" }), spec: { text: "a".repeat(20_000) } },
  lookbacks: { schema: text({ pattern: "(?<!a)b" }), spec: { text: "b" } },
  matches: {
    schema: text({ maxLength: 100_000, ...rule("self.matches('^(a+)+$')") }),
    spec: { text: `${"a".repeat(50_000)}b` },
  },
  loops: { schema: { ...numbers, ...rule(nested(6)) }, spec: Array.from({ length: 1000 }, (_, i) => i) },
  bounded: {
    schema: { ...numbers, maxItems: 100, ...rule("self.all(x, self.all(y, self.all(z, x + y + z >= 0)))") },
    spec: Array.from({ length: 100 }, (_, i) => i),
  },
  joins: {
    schema: {
      type: "array",
      maxItems: 1000,
      items: { type: "string", maxLength: 1000 },
      ...rule("self.map(x, self.map(y, x + y).join('')).join('').size() > 0"),
    },
    spec: Array.from({ length: 1000 }, () => "x".repeat(1000)),
  },
  replaces: {
    schema: text({ maxLength: 1_000_000, ...rule("self.replace('a', self).replace('a', self).size() > 0") }),
    spec: { text: "a".repeat(10_000) },
  },
  sorts: {
    schema: { ...numbers, ...rule("self.map(x, self.filter(y, y != x).size()).isSorted()") },
    spec: Array.from({ length: 10_000 }, (_, i) => i),
  },
  deep: { schema: text({ ...rule(`${"(".repeat(2000)}true${")".repeat(2000)}`) }), spec: { text: "x" } },
  wide: { schema: text({ ...rule(Array.from({ length: 5000 }, () => "true").join(" && ")) }), spec: { text: "x" } },
  uniques: {
    schema: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    spec: Array.from({ length: 50_000 }, (_, i) => `item-${i}`),
  },
};

/** Sends a small request again and again; returns the longest response time until it is stopped. */
function watchPauses(target: Target): () => Promise<number> {
  let isDone = false;
  const longest = (async () => {
    let most = 0;
    while (!isDone) {
      const started = performance.now();
      assert.equal((await ask(target, "GET", `${configMaps}?limit=1`)).code, 200);
      most = Math.max(most, performance.now() - started);
    }
    return most;
  })();
  return () => {
    isDone = true;
    return longest;
  };
}

async function untilServed(target: Target, path: string): Promise<void> {
  while ((await ask(target, "GET", path)).code === 404) await new Promise((resolve) => setTimeout(resolve, 20));
}

test("hostile patterns and rules do not delay other clients", async (t) => {
  await using server = startServer({ directory: chaosDirectory(), nodeOptions: ["--max-old-space-size=800"] });
  const target = await server.ready;
  for (const [plural, { schema, spec }] of Object.entries(hostile)) {
    await t.test(plural, async () => {
      const stop = watchPauses(target);
      const { code, body } = await ask(target, "POST", definitions, definition(plural, schema));
      assert.ok(code === 201 || (code === 422 && body.reason === "Invalid"), `${code} ${body.message?.slice(0, 300)}`);
      if (code === 201) {
        const path = `/apis/hostile.example.org/v1/namespaces/default/${plural}`;
        await untilServed(target, path);
        const answer = await ask(target, "POST", path, {
          apiVersion: "hostile.example.org/v1",
          kind: kindOf(plural),
          metadata: { name: "x" },
          spec,
        });
        assert.ok([201, 422].includes(answer.code), `${answer.code} ${answer.body.message?.slice(0, 300)}`);
      }
      const pause = await stop();
      assert.ok(pause < longestPauseMs, `another client waited ${Math.round(pause)} ms`);
    });
  }
  assert.equal((await ask(target, "GET", "/readyz")).code, 200);
});
