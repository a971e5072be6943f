// SPDX-License-Identifier: Apache-2.0
// Valid objects of every built-in kind with one list or map as long as a request allows: rules that end at the first wrong item of
// `every-list.test.ts` run to the end here. A run tries a sixth, chosen by PROPERTY_SEED, and with `--lists=all` all.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { stringAt, textsAt } from "@purlin/kube-objects/object";
import type { WireResponse } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { sendJson, sendText } from "./attacked-kind.ts";
import { type LongChange, longChanges } from "./long-changes.ts";
import { longSamples } from "./long-samples.ts";

const share = process.env["HOSTILE_LISTS"] === "all" ? 1 : 6;
const seed = Number(process.env["PROPERTY_SEED"] ?? "1");

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

const samples = longSamples();
const paths = new Map<string, string | undefined>();

/** Where objects of a kind are created; undefined for kinds of which none is. */
async function collectionOf(apiVersion: string, kind: string): Promise<string | undefined> {
  const known = `${apiVersion} ${kind}`;
  if (paths.has(known)) return paths.get(known);
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { body } = await sendJson(server.target, ["GET", root]);
  const listed = (body as { readonly resources?: readonly Record<string, unknown>[] }).resources ?? [];
  const one = listed.find(({ kind: of, name }) => of === kind && !String(name).includes("/"));
  const isCreated = one !== undefined && textsAt(one as never, ["verbs"]).includes("create");
  const where = one?.["namespaced"] === true ? "/namespaces/default" : "";
  const path = isCreated ? `${root}${where}/${String(one["name"])}` : undefined;
  paths.set(known, path);
  return path;
}

/** The ways to change an object that this run tries: one. */
const chosenChanges = (changes: readonly LongChange[], index: number): readonly LongChange[] =>
  share === 1 ? changes : changes.filter((_, place) => (index + seed) % changes.length === place);

for (const [index, { what, field, object, small }] of samples.entries()) {
  if ((index + seed) % share !== 0) continue;
  test(what, async () => {
    const path = await collectionOf(String(object["apiVersion"]), String(object["kind"]));
    if (path === undefined) return;
    const text = JSON.stringify(object);
    const remove = (name: string): Promise<WireResponse> =>
      sendJson(server.target, ["DELETE", `${path}/${name}`], {
        gracePeriodSeconds: 0,
        propagationPolicy: "Background",
      });
    for (const query of ["?dryRun=All", ""]) {
      const send = (): Promise<WireResponse> =>
        sendText(server.target, ["POST", path + query], text, "application/json");
      const response = await server.during(`${what}${query}`, send);
      const { code } = response;
      assert.ok(code < 500, `${code}: ${response.text.slice(0, 500)}`);
      if (code !== 201 || query !== "") continue;
      const { name } = (JSON.parse(response.text) as { readonly metadata: { readonly name: string } }).metadata;
      await server.during(`${what}, deleted`, () => remove(name));
    }
    if ((await sendJson(server.target, ["POST", path], small)).code !== 201) return;
    const name = stringAt(small, ["metadata", "name"]);
    for (const change of chosenChanges(longChanges(small, { field, object }), index)) {
      const target: readonly [string, string] = [change.method, `${path}/${name}${change.below}`];
      const send = (): Promise<WireResponse> =>
        sendText(server.target, target, JSON.stringify(change.body), change.contentType);
      const response: WireResponse = await server.during(`${what}, ${change.what}`, send);
      // As the reference says it of a patch that the type does not allow.
      const isUntyped = /failed to (create typed patch object|convert new object)/.test(response.text);
      assert.ok(response.code < 500 || isUntyped, `${response.code}: ${response.text.slice(0, 500)}`);
    }
    await server.during(`${what}, deleted after a change`, () => remove(name));
  });
}

test("memory stays bounded, and there are samples of all kinds", () => {
  assert.ok(samples.length > 200, `${samples.length} lists and maps`);
  server.requireBoundedMemory();
});
