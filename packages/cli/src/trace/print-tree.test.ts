// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeReader, NoMatchError } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { isFollowed, noControlPlane, recentEvents } from "./print-tree.ts";

const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, "0")}:00Z`;
const event = (message: string, first: number, last: number, more: JsonObject = {}): KubeObject => ({
  ...{ apiVersion: "v1", kind: "Event", metadata: {}, type: "Normal", reason: "R", message },
  ...{ firstTimestamp: at(first), lastTimestamp: at(last), count: 1, ...more },
});
const app: KubeObject = { apiVersion: "acme.org/v1", kind: "App", metadata: { name: "shop", uid: "u-1" } };
const { signal } = new AbortController();

/** The events of an object, of those that the server has, with what was asked for. */
async function eventsOf(
  items: readonly KubeObject[],
  object = app,
): Promise<{ readonly asked: object; readonly lines: string[] }> {
  let asked = {};
  const list = async (_: unknown, { namespace, fieldSelector }: Record<string, unknown>): Promise<object> => {
    asked = { namespace, fieldSelector };
    return { items };
  };
  const found = await recentEvents({ list } as unknown as KubeReader, object, signal);
  return {
    asked,
    lines: found.map(({ message, count, first, last }) => `${message} x${count} ${(last - first) / 60_000}m`),
  };
}

test("events are those of the object by its UID; of one without a namespace they are in default", async () => {
  assert.deepEqual((await eventsOf([])).asked, { namespace: "default", fieldSelector: "involvedObject.uid=u-1" });
  const inTeam = { ...app, metadata: { ...app.metadata, namespace: "team" } };
  assert.deepEqual((await eventsOf([], inTeam)).asked, { namespace: "team", fieldSelector: "involvedObject.uid=u-1" });
});

test("only events of the same type, reason and text are one", async () => {
  const { lines } = await eventsOf([
    event("a", 5, 9, { count: 2 }),
    event("b", 1, 1),
    event("a", 1, 3, { count: 4 }),
    event("a", 2, 2, { reason: "Other" }),
    event("a", 2, 4, { type: "Warning" }),
  ]);
  assert.deepEqual(lines, ["b x1 0m", "a x1 0m", "a x1 2m", "a x6 8m"]);
});

test("only a server without the kinds runs no control plane; other errors stay as they are", () => {
  const error = new Error("forbidden");
  assert.equal(noControlPlane(error), error);
  const unserved = noControlPlane(new NoMatchError({ apiVersion: "a.org/v1", kind: "B" }));
  assert.equal(
    unserved.message,
    'the API server runs no control plane: no matches for kind "B" in version "a.org/v1": start one with purlin up or purlin start',
  );
});

test("a Function that another program serves does not report its state, unless it has the condition", () => {
  const fn = (annotations: Record<string, string>, conditions: JsonObject[] = []): KubeObject => ({
    ...{ apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name: "f", annotations } },
    status: { conditions },
  });
  const served = { "render.crossplane.io/runtime": "Development" };
  assert.ok(isFollowed({ ...fn(served), kind: "Provider" }));
  assert.ok(isFollowed(fn({})));
  assert.ok(isFollowed(fn(served, [{ type: "Development", status: "True", reason: "R" }])));
  assert.equal(isFollowed(fn({ "purlin.dev/source": "fn.ts" })), true, "it runs from a source file");
});
