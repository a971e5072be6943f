// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ControllerClient } from "@purlin/kube-controller";
import { badRequest, forbidden, invalid } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { type ApplyAs, applyStages, type ChangeSet } from "./change-set.ts";
import type { PlanError } from "./plan/plan.ts";

const annotation = "kubectl.kubernetes.io/last-applied-configuration";
const map = (data: JsonObject, metadata: JsonObject = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "default", ...metadata },
  data,
});

interface Sent {
  readonly verb: string;
  readonly object?: KubeObject;
  readonly patch?: JsonValue;
  readonly options?: object;
}

/** Applies objects over the live ones, and returns what was sent. */
async function apply({
  objects = [],
  deletes = [],
  live = [],
  applyAs = { mode: "auto" },
  fail,
}: {
  readonly objects?: readonly KubeObject[];
  readonly deletes?: ChangeSet["deletes"];
  readonly live?: readonly KubeObject[];
  readonly applyAs?: ApplyAs;
  readonly fail?: unknown;
}): Promise<{ readonly sent: readonly Sent[]; readonly errors: readonly PlanError[] }> {
  const sent: Sent[] = [];
  const errors: PlanError[] = [];
  const send = async (one: Sent): Promise<void> => {
    sent.push(one);
    if (fail !== undefined && sent.length === 1) throw fail;
  };
  const client = {
    mapper: { mapping: async ({ kind }: KubeObject) => ({ namespaced: kind !== "Namespace" }) },
    get: async (_: unknown, { name }: { readonly name: string }) => live.find(({ metadata }) => metadata.name === name),
    create: (object: KubeObject, options: object) => send({ verb: "create", object, options }),
    apply: (object: KubeObject, options: object) => send({ verb: "apply", object, options }),
    patch: (_: unknown, patch: JsonValue, options: object) => send({ verb: "patch", patch, options }),
    delete: ({ name }: { readonly name: string }) => send({ verb: `delete ${name}` }),
  };
  const changes: ChangeSet = { stages: [objects], deletes, applyAs, namespace: "team" };
  for (const stage of applyStages(changes, (error) => errors.push(error)))
    await stage(client as unknown as ControllerClient);
  return { sent, errors };
}
const dataOf = ([first]: readonly Sent[]): JsonValue | undefined =>
  memberAt((first?.patch ?? {}) as JsonObject, ["data"]);
const managed = (...entries: readonly (readonly [string, string, JsonObject, string?])[]): JsonObject => ({
  managedFields: entries.map(([manager, operation, fieldsV1, subresource]) => ({
    manager,
    operation,
    fieldsV1,
    ...(subresource === undefined ? {} : { subresource }),
  })),
});

describe("server-side apply", () => {
  const managerOf = async (live: readonly KubeObject[], applyAs: ApplyAs = { mode: "auto" }): Promise<unknown> => {
    const { sent } = await apply({ objects: [map({ k: "v" })], live, applyAs });
    assert.equal(sent[0]?.verb, "apply");
    assert.deepEqual(sent[0]?.object, map({ k: "v" }));
    const { fieldManager, ...rest } = (sent[0]?.options ?? {}) as { readonly fieldManager?: string };
    assert.deepEqual(rest, { force: true, fieldValidation: "Strict" });
    return fieldManager;
  };

  test("a new object gets the manager of purlin", async () => {
    assert.equal(await managerOf([]), "purlin-apply");
  });

  test("an object that purlin applied keeps its manager, whatever others own", async () => {
    const fields = { "f:data": { "f:a": {}, "f:b": {} } };
    assert.equal(
      await managerOf([map({}, managed(["argocd", "Apply", fields], ["purlin-apply", "Apply", {}]))]),
      "purlin-apply",
    );
  });

  test("else the manager that owns most fields", async () => {
    const live = map({}, managed(["flux", "Apply", { "f:a": {} }], ["argocd", "Apply", { "f:a": {}, "f:b": {} }]));
    assert.equal(await managerOf([live]), "argocd");
  });

  test("updates, subresources and controllers of composite resources do not manage files", async () => {
    const live = map(
      {},
      managed(
        ["kubectl-edit", "Update", { "f:a": {} }],
        ["status-writer", "Apply", { "f:a": {} }, "status"],
        ["apiextensions.crossplane.io/composed/x", "Apply", { "f:a": {} }],
      ),
    );
    assert.equal(await managerOf([live]), "purlin-apply");
  });

  test("a manager that the user names", async () => {
    assert.equal(
      await managerOf([map({}, managed(["argocd", "Apply", {}]))], { mode: "server-side", manager: "me" }),
      "me",
    );
    const annotated = map({}, { annotations: { [annotation]: "{}" } });
    assert.equal(await managerOf([annotated], { mode: "server-side", manager: "me" }), "me");
  });
});

describe("objects without a name or a namespace", () => {
  test("a namespaced one gets the namespace of the change set", async () => {
    const { namespace: _, ...metadata } = map({}).metadata;
    const { sent } = await apply({ objects: [{ ...map({}), metadata }] });
    assert.equal(sent[0]?.object?.metadata.namespace, "team");
    const wide = { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } };
    assert.equal((await apply({ objects: [wide] })).sent[0]?.object?.metadata.namespace, undefined);
  });

  test("one with generateName is created", async () => {
    const object = { ...map({}), metadata: { generateName: "a-", namespace: "default" } };
    assert.deepEqual((await apply({ objects: [object] })).sent, [
      { verb: "create", object, options: { fieldManager: "purlin-apply" } },
    ]);
  });
});

describe("client-side apply", () => {
  const annotated = (last: JsonObject | string, data: JsonObject): KubeObject =>
    map(data, { annotations: { [annotation]: typeof last === "string" ? last : JSON.stringify(last) } });
  const patchOf = async (
    last: JsonObject | string,
    live: JsonObject,
    wanted: JsonObject,
  ): Promise<JsonValue | undefined> => {
    const { sent } = await apply({ objects: [{ ...map({}), data: wanted }], live: [annotated(last, live)] });
    assert.equal(sent[0]?.verb, "patch");
    assert.deepEqual(sent[0]?.options, { type: "merge", fieldManager: "kubectl-client-side-apply" });
    return dataOf(sent);
  };

  test("an object that kubectl applied is patched as kubectl does", async () => {
    const last = { data: { kept: "1", removed: "1", gone: "1" } };
    const live = { kept: "1", removed: "1", foreign: "1" };
    assert.deepEqual(await patchOf(last, live, { kept: "2", fresh: "3" }), { kept: "2", fresh: "3", removed: null });
  });

  test("an annotation that cannot be parsed removes nothing", async () => {
    for (const last of ["{", "3", "null", "[]"])
      assert.deepEqual(await patchOf(last, { a: "1" }, { b: "2" }), { b: "2" });
  });

  test("maps are merged, and lists and maps in place of another value are replaced", async () => {
    const wanted = { map: { a: 1 }, list: [1], other: { b: 2 } };
    assert.deepEqual(
      await patchOf({ data: { map: { x: 1 } } }, { map: { x: 1, y: 1 }, list: [2], other: "text" }, wanted),
      {
        map: { a: 1, x: null },
        list: [1],
        other: { b: 2 },
      },
    );
  });

  test("integers beyond 2^53 of the last configuration are kept", async () => {
    const patch = await patchOf(
      '{"data":{"map":{"x":9007199254740993}}}',
      { map: { x: 9007199254740993n } },
      { map: {} },
    );
    assert.deepEqual(patch, { map: { x: null } });
  });

  test("the mode kubectl patches every object that exists, and applies new ones", async () => {
    const applyAs = { mode: "kubectl" } as const;
    const exists = await apply({ objects: [map({ k: "v" })], live: [map({ old: "1" })], applyAs });
    assert.deepEqual(dataOf(exists.sent), { k: "v" });
    assert.equal((await apply({ objects: [map({})], applyAs })).sent[0]?.verb, "apply");
  });
});

describe("errors", () => {
  const two = [map({}), map({}, { name: "b" })];
  const cases: Readonly<Record<string, readonly [unknown, boolean]>> = {
    "an invalid object": [invalid({ group: "", kind: "ConfigMap" }, "a", []), true],
    "a bad request": [badRequest("strict decoding error: unknown field"), true],
    "a field that the schema does not have": [
      new Error("failed to create typed patch object: .data.x: field not declared"),
      true,
    ],
    "a forbidden request": [forbidden({ group: "", resource: "configmaps" }, "a", "no"), false],
  };
  for (const [title, [fail, isInvalid]] of Object.entries(cases)) {
    test(`${title} is ${isInvalid ? "" : "not "}the fault of the file, and the next object is applied`, async () => {
      const { sent, errors } = await apply({ objects: two, fail });
      assert.equal(sent.length, 2);
      assert.deepEqual(errors, [{ text: `ConfigMap default/a: ${(fail as Error).message}`, isInvalid }]);
    });
  }

  test("an object with a generated name is named by its beginning", async () => {
    const object = { ...map({}), metadata: { generateName: "a-" } };
    assert.equal((await apply({ objects: [object], fail: new Error("x") })).errors[0]?.text, "ConfigMap a-: x");
  });
});

describe("deletions", () => {
  const target = (name: string, namespace?: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name,
    ...(namespace && { namespace }),
  });

  test("come after all stages, each on its own", async () => {
    const { sent, errors } = await apply({ deletes: [target("a", "default"), target("b")], fail: new Error("held") });
    assert.deepEqual(
      sent.map(({ verb }) => verb),
      ["delete a", "delete b"],
    );
    assert.deepEqual(errors, [{ text: "ConfigMap default/a: held", isInvalid: false }]);
  });

  test("are a stage only if there are some", () => {
    const changes = { stages: [[], []], applyAs: { mode: "auto" }, namespace: "d" } as const;
    assert.equal(applyStages({ ...changes, deletes: [] }, () => {}).length, 2);
    assert.equal(applyStages({ ...changes, deletes: [target("a")] }, () => {}).length, 3);
  });
});
