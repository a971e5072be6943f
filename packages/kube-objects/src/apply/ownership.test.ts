// SPDX-License-Identifier: Apache-2.0
// How ownership moves when an object changes, and which fields an apply takes away.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { applyTypeOf } from "./apply-schema.ts";
import type { ApplyVersions, TypedObject } from "./apply-versions.ts";
import { ApplyConflicts } from "./conflict.ts";
import { emptySet, fieldSetOfPaths } from "./field-set.ts";
import { decodeFieldsV1, encodeFieldsV1 } from "./fields-v1.ts";
import type { ManagerIdentity, OwnedFields } from "./managers.ts";
import { moveOwnership, type OwnershipRules, prune, reconcileOwners, withoutIgnored } from "./ownership.ts";

const type = applyTypeOf({
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    a: { type: "string" },
    b: { type: "string" },
    map: { type: "object", additionalProperties: { type: "string" } },
    struct: { type: "object", properties: { x: { type: "string" }, y: { type: "string" } } },
    list: { type: "array", items: { type: "string" } },
  },
});
const atomicType = applyTypeOf({
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    map: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
  },
});
// At version v2, `a` is called `b` and the other way round.
const swap = ({ a, b, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  ...(b !== undefined && { a: b }),
  ...(a !== undefined && { b: a }),
});
const versions: ApplyVersions = {
  typeAt: (version) => (version === "v1" || version === "v2" ? type : undefined),
  convert: (object, version) =>
    version === "v1" || version === "v2" ? { ...swap(object), apiVersion: version } : undefined,
};
const rules: OwnershipRules = { versions };

const typed = (value: JsonObject): TypedObject => ({ type, value: deepFreeze({ apiVersion: "v1", ...value }) });
const owns = (fields: JsonObject, more: Partial<OwnedFields> = {}): OwnedFields => ({
  set: decodeFieldsV1(fields),
  apiVersion: "v1",
  applied: true,
  ...more,
});
const identity = (manager: string): ManagerIdentity => ({
  manager,
  operation: "Apply",
  apiVersion: "",
  subresource: "",
});

interface Move {
  readonly owners: Readonly<Record<string, OwnedFields>>;
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly actor?: string;
  readonly force?: boolean;
  readonly with?: OwnershipRules;
}

/** The fields that each manager owns after a change. */
function moved({ owners, before, after, actor = "me", force = true, with: using = rules }: Move): JsonObject {
  const names = Object.keys(owners);
  const change = {
    before: typed(before),
    after: typed(after),
    apiVersion: "v1",
    actor,
    force,
    identities: new Map(names.map((name) => [name, identity(name)])),
  };
  const result = finish(moveOwnership(using, new Map(Object.entries(owners)), change));
  return Object.fromEntries([...result.owners].map(([key, { set }]) => [key, encodeFieldsV1(set)]));
}

describe("moving ownership", () => {
  test("a field that changed is taken from others", () => {
    const result = moved({
      owners: { other: owns({ "f:a": {}, "f:b": {} }) },
      before: { a: "1", b: "1" },
      after: { a: "2", b: "1" },
    });
    assert.deepEqual(result, { other: { "f:b": {} } });
  });

  test("a field that did not change stays with its owner", () => {
    const owners = { other: owns({ "f:a": {} }) };
    assert.deepEqual(moved({ owners, before: { a: "1" }, after: { a: "1", b: "1" } }), { other: { "f:a": {} } });
  });

  test("a field that was removed is owned by none", () => {
    const result = moved({
      owners: { one: owns({ "f:map": { "f:k": {}, "f:l": {} } }), two: owns({ "f:map": { "f:k": {} } }) },
      before: { map: { k: "1", l: "1" } },
      after: { map: { l: "1" } },
    });
    assert.deepEqual(result, { one: { "f:map": { "f:l": {} } } });
  });

  test("the actor keeps its fields", () => {
    const owners = { me: owns({ "f:a": {} }), other: owns({ "f:a": {} }) };
    assert.deepEqual(moved({ owners, before: { a: "1" }, after: { a: "2" } }), { me: { "f:a": {} } });
  });

  test("a manager that loses everything is gone", () => {
    assert.deepEqual(moved({ owners: { other: owns({ "f:a": {} }) }, before: { a: "1" }, after: { a: "2" } }), {});
  });

  test("an entry that does not change is kept itself", () => {
    const other = owns({ "f:b": {} });
    const change = {
      before: typed({ a: "1" }),
      after: typed({ a: "2" }),
      apiVersion: "v1",
      actor: "me",
      force: true,
      identities: new Map(),
    };
    const { owners } = finish(moveOwnership(rules, new Map([["other", other]]), change));
    assert.equal(owners.get("other"), other);
  });
});

describe("conflicts", () => {
  const conflictsOf = (move: Omit<Move, "force">): JsonObject => {
    try {
      moved({ ...move, force: false });
    } catch (error) {
      assert.ok(error instanceof ApplyConflicts);
      return Object.fromEntries(error.conflicts.map(({ key, set }) => [key, encodeFieldsV1(set)]));
    }
    return {};
  };

  test("a field of others that changed is one", () => {
    const owners = { one: owns({ "f:a": {} }), two: owns({ "f:a": {}, "f:b": {} }), three: owns({ "f:list": {} }) };
    assert.deepEqual(conflictsOf({ owners, before: { a: "1", b: "1" }, after: { a: "2", b: "2" } }), {
      one: { "f:a": {} },
      two: { "f:a": {}, "f:b": {} },
    });
  });

  test("a field of the actor is not", () => {
    assert.deepEqual(conflictsOf({ owners: { me: owns({ "f:a": {} }) }, before: { a: "1" }, after: { a: "2" } }), {});
  });

  test("a field that is removed is not", () => {
    assert.deepEqual(conflictsOf({ owners: { other: owns({ "f:a": {} }) }, before: { a: "1" }, after: {} }), {});
  });
});

describe("versions", () => {
  test("fields that were recorded at another version are looked for there", () => {
    const owners = { other: owns({ "f:a": {}, "f:b": {} }, { apiVersion: "v2" }) };
    const result = moved({ owners, before: { a: "1", b: "1" }, after: { a: "2", b: "1" } });
    assert.deepEqual(result, { other: { "f:a": {} } }, "at v2 it is b that changed");
  });

  test("a version that is gone takes its managers with it, but not the actor", () => {
    const owners = {
      other: owns({ "f:b": {} }, { apiVersion: "v0" }),
      me: owns({ "f:a": {} }, { apiVersion: "v0" }),
    };
    assert.deepEqual(moved({ owners, before: { a: "1" }, after: { a: "1" } }), { me: { "f:a": {} } });
  });

  test("an object that cannot be converted is an error that says which one", () => {
    const broken: ApplyVersions = {
      ...versions,
      convert: () => {
        throw new Error("webhook is down");
      },
    };
    const owners = { other: owns({ "f:a": {} }, { apiVersion: "v2" }) };
    assert.throws(() => moved({ owners, before: { a: "1" }, after: { a: "2" }, with: { versions: broken } }), {
      message: "failed to convert old object: webhook is down",
    });
  });
});

describe("ignored fields", () => {
  const ignoring: OwnershipRules = { versions, ignored: new Map([["v1", fieldSetOfPaths([["map"]])]]) };

  test("do not change their owner", () => {
    const owners = { other: owns({ "f:a": {}, "f:map": { "f:k": {} } }) };
    const result = moved({
      owners,
      before: { a: "1", map: { k: "1" } },
      after: { a: "2", map: { k: "2" } },
      with: ignoring,
    });
    assert.deepEqual(result, { other: { "f:map": { "f:k": {} } } });
  });

  test("are left out of a set, with all below them, at their version only", () => {
    const set = decodeFieldsV1({ "f:a": {}, "f:map": { "f:k": {} } });
    assert.deepEqual(encodeFieldsV1(withoutIgnored(ignoring, "v1", set)), { "f:a": {} });
    assert.equal(withoutIgnored(ignoring, "v2", set), set);
    assert.equal(withoutIgnored(rules, "v1", set), set);
  });
});

describe("a schema that changed", () => {
  const changed: OwnershipRules = { versions: { typeAt: () => atomicType } };
  const live: TypedObject = { type: atomicType, value: { apiVersion: "v1", map: { k: "1" } } };

  test("what is atomic now is owned as a whole", () => {
    const owners = new Map([["other", owns({ "f:map": { "f:k": {} } })]]);
    const result = reconcileOwners(changed, owners, live);
    assert.deepEqual(encodeFieldsV1(result.get("other")?.set ?? emptySet), { "f:map": {} });
    assert.deepEqual(encodeFieldsV1(owners.get("other")?.set ?? emptySet), { "f:map": { "f:k": {} } });
  });

  test("owners that need no change are returned themselves", () => {
    const owners = new Map([["other", owns({ "f:map": {} })]]);
    assert.equal(reconcileOwners(changed, owners, live), owners);
  });

  test("owners at a version that is gone are left out", () => {
    const owners = new Map([
      ["gone", owns({ "f:map": {} }, { apiVersion: "v0" })],
      ["here", owns({ "f:map": {} })],
    ]);
    assert.deepEqual([...reconcileOwners({ versions: { typeAt: () => undefined } }, owners, live).keys()], ["here"]);
  });
});

describe("what an apply takes away", () => {
  interface Apply {
    readonly merged: JsonObject;
    readonly last?: JsonObject;
    readonly applied: JsonObject;
    readonly others?: Readonly<Record<string, OwnedFields>>;
    readonly ownsEmptyContainer?: boolean;
  }

  function pruned({ merged, last, applied, others = {}, ownsEmptyContainer = false }: Apply): unknown {
    const now = owns(applied);
    const input = {
      versions,
      merged: typed(merged),
      owners: new Map([["me", now], ...Object.entries(others)]),
      applied: now,
      ownsEmptyContainer,
      last: last && owns(last),
    };
    const { apiVersion: _, ...rest } = finish(prune(input)).value as JsonObject;
    return rest;
  }

  test("a field that the applier no longer mentions", () => {
    const result = pruned({ merged: { a: "1", b: "1" }, last: { "f:a": {}, "f:b": {} }, applied: { "f:a": {} } });
    assert.deepEqual(result, { a: "1" });
  });

  test("not a field that another manager owns", () => {
    const result = pruned({
      merged: { a: "1", b: "1" },
      last: { "f:a": {}, "f:b": {} },
      applied: { "f:a": {} },
      others: { other: owns({ "f:b": {} }) },
    });
    assert.deepEqual(result, { a: "1", b: "1" });
  });

  test("not a field that it never owned", () => {
    const result = pruned({ merged: { a: "1", b: "1" }, last: { "f:a": {} }, applied: {} });
    assert.deepEqual(result, { b: "1" });
  });

  test("a key of a map, and the keys of others stay", () => {
    const result = pruned({
      merged: { map: { k: "1", l: "1" } },
      last: { "f:map": { "f:k": {} } },
      applied: {},
      others: { other: owns({ "f:map": { "f:l": {} } }) },
    });
    assert.deepEqual(result, { map: { l: "1" } });
  });

  test("a struct with its last field", () => {
    const result = pruned({
      merged: { a: "1", struct: { x: "1" } },
      last: { "f:a": {}, "f:struct": { "f:x": {} } },
      applied: { "f:a": {} },
    });
    assert.deepEqual(result, { a: "1" });
  });

  test("a field that another manager owns at another version stays", () => {
    const result = pruned({
      merged: { a: "1", b: "1" },
      last: { "f:a": {}, "f:b": {} },
      applied: { "f:a": {} },
      others: { other: owns({ "f:a": {} }, { apiVersion: "v2" }) },
    });
    assert.deepEqual(result, { a: "1", b: "1" }, "a of v2 is b of v1");
  });

  test("nothing, when it owned nothing before or gives up nothing", () => {
    const merged = { a: "1", b: "1" };
    assert.deepEqual(pruned({ merged, applied: { "f:a": {} } }), merged);
    assert.deepEqual(pruned({ merged, last: {}, applied: { "f:a": {} } }), merged);
    assert.deepEqual(pruned({ merged, last: { "f:a": {} }, applied: { "f:a": {}, "f:b": {} } }), merged);
  });

  test("nothing, when its last version is gone", () => {
    const input = {
      versions,
      merged: typed({ a: "1" }),
      owners: new Map([["me", owns({})]]),
      applied: owns({}),
      ownsEmptyContainer: false,
      last: owns({ "f:a": {} }, { apiVersion: "v0" }),
    };
    assert.equal(finish(prune(input)), input.merged);
  });
});
