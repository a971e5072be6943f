// SPDX-License-Identifier: Apache-2.0
// How ownership moves when an object changes.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "../json/json-value.ts";
import { ApplyConflictsError } from "./apply-errors.ts";
import { applyTypeOf } from "./apply-schema.ts";
import type { ApplyVersions, TypedObject } from "./apply-versions.ts";
import { emptySet, fieldSetOfPaths } from "./field-set.ts";
import { decodeFieldsV1, encodeFieldsV1 } from "./fields-v1.ts";
import type { ManagerIdentity, OwnedFields } from "./managers.ts";
import { moveOwnership, type OwnershipRules, reconcileOwners, withoutIgnored } from "./ownership.ts";
import { owns, typed, versions } from "./testdata/widget.ts";

const atomicType = applyTypeOf({
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    map: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
  },
});
const rules: OwnershipRules = { versions };

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
      assert.ok(error instanceof ApplyConflictsError);
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
