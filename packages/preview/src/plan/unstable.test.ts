// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { plannedChange as change } from "../../test/overlay-stage.ts";
import type { PlannedChange } from "./plan.ts";
import { markUnstable, unstableWarning } from "./unstable.ts";

const created = (next: JsonObject, digest: string, more: Partial<PlannedChange> = {}): PlannedChange =>
  change({ class: "create", fields: [], old: undefined, new: next, digest, ...more });
const mark = (one: PlannedChange, other: PlannedChange | undefined): readonly [PlannedChange, readonly string[]] => {
  const changes = new Map([["id", one]]);
  const found = markUnstable(changes, new Map(other === undefined ? [] : [["id", other]]));
  return [changes.get("id") ?? assert.fail(), found];
};

describe("changes that differ between two runs", () => {
  test("equal ones stay as they are", () => {
    const one = created({ a: 1 }, "d");
    assert.deepEqual(mark(one, created({ a: 1 }, "d")), [one, []]);
  });

  test("the paths that differ are named, with the object", () => {
    const [marked, found] = mark(
      created({ data: { a: "1", b: "x" } }, "d1", { resource: "map" }),
      created({ data: { a: "2", b: "x" } }, "d2", { resource: "map" }),
    );
    assert.deepEqual(marked.unstable, ["data.a"]);
    assert.deepEqual(found, ["ConfigMap map data.a"]);
  });

  test("an object without a resource name is named by its own", () => {
    assert.deepEqual(mark(created({ a: 1 }, "d1"), created({ a: 2 }, "d2"))[1], ["ConfigMap one a"]);
  });

  test("an object that the other run does not have has an unstable name", () => {
    const [marked, found] = mark(created({ a: 1 }, "d"), undefined);
    assert.deepEqual([marked.unstable, found], [["metadata.name"], ["ConfigMap one metadata.name"]]);
  });

  test("values that are not shown differ without a path, and so does another class", () => {
    assert.deepEqual(mark(created({ a: 1 }, "d1"), created({ a: 1 }, "d2"))[0].unstable, ["(sensitive)"]);
    assert.deepEqual(
      mark(created({ a: 1 }, "d"), change({ class: "update", new: { a: 1 }, digest: "d" }))[0].unstable,
      ["(sensitive)"],
    );
  });

  test("all paths are in order", () => {
    const changes = new Map([
      ["b", created({ z: 1, a: 1 }, "1", { name: "two" })],
      ["a", created({ x: 1 }, "1", { name: "one" })],
    ]);
    const again = new Map([
      ["b", created({ z: 2, a: 2 }, "2", { name: "two" })],
      ["a", created({ x: 2 }, "2", { name: "one" })],
    ]);
    assert.deepEqual(markUnstable(changes, again), ["ConfigMap one x", "ConfigMap two a", "ConfigMap two z"]);
  });
});

describe("digests without what is unstable", () => {
  const digest = (one: PlannedChange, other: PlannedChange | undefined): string => mark(one, other)[0].digest;

  test("do not depend on the values that differ, and do on the others", () => {
    const two = (a: string, b: string): PlannedChange => created({ data: { a, b } }, a + b);
    const stable = digest(two("1", "x"), two("2", "x"));
    assert.equal(digest(two("3", "x"), two("4", "x")), stable);
    assert.notEqual(digest(two("1", "y"), two("2", "y")), stable);
  });

  test("know the place of an unstable item in a list of the same length", () => {
    const list = (...items: readonly number[]): PlannedChange => created({ l: [...items] }, items.join());
    assert.equal(digest(list(1, 2), list(1, 3)), digest(list(1, 4), list(1, 5)));
    assert.notEqual(digest(list(1, 2), list(1, 3)), digest(list(2, 1), list(3, 1)));
    assert.equal(digest(list(1), list(1, 2)), digest(list(5), list(5, 6)), "lists of other lengths differ as a whole");
  });

  test("of updates are those of the fields", () => {
    const update = (next: string, digest: string): PlannedChange =>
      change({
        digest,
        fields: [
          { path: "data.a", op: "replace", old: "0", new: next },
          { path: "data.b", op: "add", new: "x" },
        ],
      });
    assert.equal(digest(update("1", "a"), update("2", "b")), digest(update("3", "c"), update("4", "d")));
  });

  test("of an object with an unstable name depend on its class only", () => {
    assert.equal(digest(created({ a: 1 }, "x"), undefined), digest(created({ b: 2 }, "y"), undefined));
    assert.notEqual(digest(created({ a: 1 }, "x"), undefined), digest(change({ class: "delete" }), undefined));
  });
});

describe("the warning", () => {
  const paths = (count: number): string[] => Array.from({ length: count }, (_, index) => `A b p${index + 1}`);
  const text = (list: string): string[] => [
    `unstable: two previews differ in ${list}: these values change with every run and are not part of the hash`,
  ];

  test("names up to five paths", () => {
    assert.deepEqual(unstableWarning([]), []);
    assert.deepEqual(unstableWarning(paths(1)), text("A b p1"));
    assert.deepEqual(unstableWarning(paths(5)), text("A b p1, A b p2, A b p3, A b p4, A b p5"));
    assert.deepEqual(unstableWarning(paths(7)), text("A b p1, A b p2, A b p3, A b p4, A b p5 and 2 more"));
  });
});
