// SPDX-License-Identifier: Apache-2.0
// Every list and every map of every built-in kind, as long as a request allows: none holds the event loop, whatever its rules compare.
// A client creates an object with it, and changes a small object to one: by PUT, by each kind of patch, and back.
// They are 662 and take minutes: a run tries a sixth and the first of each kind, chosen by PROPERTY_SEED, each with one kind of change, and
// `npm run hostile -- every-list --lists=all` all.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { startAttackedServer } from "../harness/server.ts";
import { sendJson, sendText } from "./attacked-kind.ts";
import { type CreatedKind, type LongObject, longObjects } from "./every-list.ts";
import { type LongChange, longChanges, smallObject } from "./long-changes.ts";

const share = process.env["HOSTILE_LISTS"] === "all" ? 1 : 6;
const seed = Number(process.env["PROPERTY_SEED"] ?? "1");

/** Whether this run tries the list or map at this place of its kind: the first always. */
const isChosen = (index: number): boolean => index === 0 || (index + seed) % share === 0;

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

async function bodyOf(path: string): Promise<JsonObject> {
  return (await sendJson(server.target, ["GET", path])).body as JsonObject;
}

async function createdKinds(): Promise<CreatedKind[]> {
  const versions = objectsAt(await bodyOf("/apis"), ["groups"]).flatMap((one) =>
    objectsAt(one, ["versions"]).map((version) => [stringAt(one, ["name"]), stringAt(version, ["version"])] as const),
  );
  const kinds: CreatedKind[] = [];
  for (const [group, version] of [["", "v1"] as const, ...versions]) {
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    for (const one of objectsAt(await bodyOf(root), ["resources"])) {
      const name = stringAt(one, ["name"]);
      if (name.includes("/") || !textsAt(one, ["verbs"]).includes("create")) continue;
      const path = one["namespaced"] === true ? `${root}/namespaces/default/${name}` : `${root}/${name}`;
      kinds.push({ group, version, kind: stringAt(one, ["kind"]), path });
    }
  }
  return kinds;
}

const kinds = await createdKinds();

/** The changes that this run tries of a list or map at this place of its kind. */
const chosenChanges = (changes: readonly LongChange[], index: number): readonly LongChange[] =>
  share === 1 ? changes : changes.filter((_, place) => (index + seed) % changes.length === place);

async function attack(created: CreatedKind, { field, object }: LongObject): Promise<void> {
  const text = JSON.stringify(object);
  const send = () => sendText(server.target, ["POST", created.path], text, "application/json");
  const response = await server.during(`${created.kind} ${field}`, send);
  // A Binding without a target is an internal error of the reference, too.
  if (created.kind !== "Binding") assert.ok(response.code < 500, `${field}: ${response.text.slice(0, 300)}`);
  if (response.code === 201) await sendJson(server.target, ["DELETE", `${created.path}/long`]);
}

/** Changes a small object, which must exist, and changes it back. */
async function attackByChange(created: CreatedKind, small: JsonObject, change: LongChange): Promise<void> {
  const path = `${created.path}/${stringAt(small, ["metadata", "name"])}`;
  const { what, method, below, contentType, body } = change;
  const text = JSON.stringify(body);
  const send = () => sendText(server.target, [method, `${path}${below}`], text, contentType);
  const response = await server.during(`${created.kind} ${what}`, send);
  // An item without the key that a list is merged by is an internal error of the reference, too.
  const isUnmergeable = response.text.includes("does not contain declared merge key");
  assert.ok(response.code < 500 || isUnmergeable, `${what}: ${response.text.slice(0, 300)}`);
  if (response.code !== 200) return;
  const [target] = below.split("?");
  const back = () => sendJson(server.target, ["PUT", `${path}${target}`], small);
  await server.during(`${created.kind} ${what}, and back`, back);
  // What a change back leaves would make the next object larger than a request. A namespace goes only after a while.
  if (created.kind === "Namespace") return;
  await sendJson(server.target, ["DELETE", path], { gracePeriodSeconds: 0, propagationPolicy: "Background" });
  await sendJson(server.target, ["POST", created.path], small);
}

for (const created of kinds) {
  const small = smallObject(created);
  if (small === undefined) continue;
  test(`changes of each list of ${created.kind} in ${created.path}`, async () => {
    const { code, text } = await sendJson(server.target, ["POST", created.path], small);
    assert.equal(code, 201, text);
    let index = 0;
    const failures: string[] = [];
    for (const long of longObjects(created)) {
      const place = index++;
      if (!isChosen(place)) continue;
      for (const change of chosenChanges(longChanges(small, long), place)) {
        await attackByChange(created, small, change).catch((error: Error) => failures.push(error.message));
      }
    }
    const path = `${created.path}/${stringAt(small, ["metadata", "name"])}`;
    await sendJson(server.target, ["DELETE", path], { gracePeriodSeconds: 0, propagationPolicy: "Background" });
    assert.deepEqual(failures, []);
  });
}

for (const created of kinds) {
  test(`each list of ${created.kind} in ${created.path}`, async () => {
    let index = 0;
    // All lists are tried, so that one run names each that takes too long.
    const failures: string[] = [];
    for (const long of longObjects(created)) {
      if (!isChosen(index++)) continue;
      await attack(created, long).catch((error: Error) => failures.push(error.message));
    }
    assert.deepEqual(failures, []);
  });
}

test("memory stayed below the figure stated, and all kinds were found", () => {
  assert.ok(kinds.length > 50, `${kinds.length} kinds`);
  server.requireBoundedMemory();
});
