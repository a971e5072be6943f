// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { entryOf, memoryPass } from "../../test/overlay-stage.ts";
import { app, appType } from "../../test/scene-objects.ts";
import { requireEnd } from "./nesting.ts";

const nested = (name: string, owner?: string, resource?: string): KubeObject => {
  const made = app(name, {});
  const ownerReferences = owner === undefined ? [] : [{ ...appType, name: owner, uid: owner, controller: true }];
  const annotations: JsonObject = resource === undefined ? {} : { "crossplane.io/composition-resource-name": resource };
  return { ...made, metadata: { ...made.metadata, ownerReferences, annotations } } as KubeObject;
};
const check = (
  objects: readonly KubeObject[],
  name: string,
  maxDepth?: number,
  live: readonly string[] = [],
): Promise<void> => {
  const entries = objects.map((one) => entryOf(live.includes(one.metadata.name ?? "") ? one : undefined, one));
  return requireEnd(memoryPass({ entries }).overlay, {
    controller: "composite/apps.example.org",
    key: { namespace: "default", name },
    maxDepth,
  });
};

test("composite resources of different names may be nested without a limit", async () => {
  const chain = Array.from({ length: 30 }, (_, index) =>
    nested(`a${index}`, index === 0 ? undefined : `a${index - 1}`, `r${index}`),
  );
  await check(chain, "a29");
});

test("one resource name may appear twice in a chain, and not three times", async () => {
  const chain = [nested("root"), nested("a", "root", "inner"), nested("b", "a", "inner"), nested("c", "b", "inner")];
  await check(chain, "b");
  await assert.rejects(check(chain, "c"), {
    message:
      "composite resources compose each other without an end: App (root) -> App (inner) -> App (inner) -> App (inner)",
  });
});

test("the depth of new composite resources can be limited", async () => {
  const chain = [nested("root"), nested("a", "root", "x"), nested("b", "a", "y")];
  await check(chain, "b", 3);
  await assert.rejects(check(chain, "b", 2), { message: "nested deeper than 2: App (root) -> App (x) -> App (y)" });
});

test("composite resources that exist are not counted", async () => {
  const chain = [nested("root"), nested("a", "root", "inner"), nested("b", "a", "inner"), nested("c", "b", "inner")];
  await check(chain, "c", undefined, ["a"]);
  await check(chain, "c", undefined, ["c"]);
});

test("a cluster-scoped owner of a namespaced composite resource is found", async () => {
  const wide = { ...nested("root"), metadata: { name: "root" } };
  await assert.rejects(check([wide, nested("a", "root", "x")], "a", 1), {
    message: "nested deeper than 1: App (root) -> App (x)",
  });
});

test("other controllers are not checked", async () => {
  const { overlay } = memoryPass({ entries: [entryOf(undefined, nested("a"))] });
  await requireEnd(overlay, { controller: "claim/x", key: { namespace: "default", name: "a" }, maxDepth: 0 });
});
