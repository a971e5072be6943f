// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, claimDefinition, definition } from "../../test/scene-objects.ts";
import type { Overlay } from "../overlay/overlay.ts";
import type { Pass } from "../settle/run-pass.ts";
import { compareDefinitions, definitionFindings } from "./definition-findings.ts";
import type { DefinitionFinding } from "./plan.ts";

const text = { type: "string" };
const withSpec = (xrd: KubeObject, more: JsonObject): KubeObject => ({
  ...xrd,
  spec: { ...(xrd["spec"] as JsonObject), ...more },
});

/** The level and the text of each change of one field `a` of the spec. */
function changes(before: JsonObject, after: JsonObject): readonly string[] {
  return compareDefinitions(definition("App", { a: before }), definition("App", { a: after })).map(
    ({ level, text: one }) => `${level} ${one}`,
  );
}

describe("changes of a field", () => {
  const cases: Readonly<Record<string, readonly [JsonObject, JsonObject, readonly string[]]>> = {
    nothing: [text, text, []],
    "a description": [text, { ...text, description: "d" }, []],
    "another type": [text, { type: "integer" }, ["breaking v1: spec.a: type changes from string to integer"]],
    "a type that was open": [{}, text, ["breaking v1: spec.a: type changes from any to string"]],
    "an integer or string": [
      { "x-kubernetes-int-or-string": true },
      text,
      ["breaking v1: spec.a: type changes from int-or-string to string"],
    ],
    "fewer values": [
      { ...text, enum: ["a", "b", "c"] },
      { ...text, enum: ["b", "d"] },
      ['breaking v1: spec.a: the enum loses "a", "c"'],
    ],
    "more values": [{ ...text, enum: ["a"] }, { ...text, enum: ["a", "b"] }, []],
    "a new enum": [text, { ...text, enum: ["a"] }, ["breaking v1: spec.a: an enum is new"]],
    "an enum that is removed": [{ ...text, enum: ["a"] }, text, []],
    "a new pattern": [text, { ...text, pattern: "^a" }, ['breaking v1: spec.a: pattern becomes "^a"']],
    "another pattern": [
      { ...text, pattern: "^a" },
      { ...text, pattern: "^b" },
      ['breaking v1: spec.a: pattern becomes "^b" from "^a"'],
    ],
    "a pattern that is removed": [{ ...text, pattern: "^a" }, text, []],
    "a new rule": [
      text,
      { ...text, "x-kubernetes-validations": [{ rule: "true" }] },
      ['breaking v1: spec.a: x-kubernetes-validations becomes [{"rule":"true"}]'],
    ],
    "a new default": [
      text,
      { ...text, default: "x" },
      ['risky v1: spec.a: the default becomes "x": it acts on stored objects at once'],
    ],
    "another default": [
      { ...text, default: "x" },
      { ...text, default: "y" },
      ['risky v1: spec.a: the default becomes "y" from "x": it acts on stored objects at once'],
    ],
    "a default that is removed": [{ ...text, default: "x" }, text, ['risky v1: spec.a: the default "x" is removed']],
    "limits beyond 2^53": [
      { type: "integer", maximum: 9007199254740993n },
      { type: "integer", maximum: 9007199254740992n },
      ["breaking v1: spec.a: maximum becomes 9007199254740992 from 9007199254740993"],
    ],
  };
  const number = (more: JsonObject): JsonObject => ({ type: "number", ...more });
  const numbers: typeof cases = {
    "a new divisor": [number({}), number({ multipleOf: 2 }), ["breaking v1: spec.a: multipleOf becomes 2"]],
    "a multiple of the divisor": [
      number({ multipleOf: 2 }),
      number({ multipleOf: 4 }),
      ["breaking v1: spec.a: multipleOf becomes 4 from 2"],
    ],
    "a divisor without a relation": [
      number({ multipleOf: 2 }),
      number({ multipleOf: 3 }),
      ["breaking v1: spec.a: multipleOf becomes 3 from 2"],
    ],
    "a divisor of the divisor": [number({ multipleOf: 4 }), number({ multipleOf: 2 }), []],
    "a fraction of the divisor": [number({ multipleOf: 0.3 }), number({ multipleOf: 0.1 }), []],
    "a divisor that is removed": [number({ multipleOf: 4 }), number({}), []],
    "divisors beyond 2^53": [
      number({ multipleOf: 9007199254740993n }),
      number({ multipleOf: 9007199254740992n }),
      ["breaking v1: spec.a: multipleOf becomes 9007199254740992 from 9007199254740993"],
    ],
    "a minimum that becomes exclusive": [
      number({ minimum: 5 }),
      number({ minimum: 5, exclusiveMinimum: true }),
      ["breaking v1: spec.a: exclusiveMinimum becomes true"],
    ],
    "a maximum that becomes exclusive": [
      number({ maximum: 5, exclusiveMaximum: false }),
      number({ maximum: 5, exclusiveMaximum: true }),
      ["breaking v1: spec.a: exclusiveMaximum becomes true"],
    ],
    "a new minimum that is exclusive": [
      number({}),
      number({ minimum: 5, exclusiveMinimum: true }),
      ["breaking v1: spec.a: minimum becomes 5", "breaking v1: spec.a: exclusiveMinimum becomes true"],
    ],
    "an exclusive minimum below the old one": [
      number({ minimum: 5 }),
      number({ minimum: 4, exclusiveMinimum: true }),
      [],
    ],
    "an exclusive maximum above the old one": [
      number({ maximum: 5 }),
      number({ maximum: 6, exclusiveMaximum: true }),
      [],
    ],
    "an exclusion without a limit": [number({}), number({ exclusiveMinimum: true }), []],
    "an exclusion that is removed": [
      number({ minimum: 5, exclusiveMinimum: true }),
      number({ minimum: 5, exclusiveMinimum: false }),
      [],
    ],
    "null that is refused": [{ ...text, nullable: true }, text, ["breaking v1: spec.a: null is no longer allowed"]],
    "null that is refused by false": [
      { ...text, nullable: true },
      { ...text, nullable: false },
      ["breaking v1: spec.a: null is no longer allowed"],
    ],
    "null that is allowed": [text, { ...text, nullable: true }, []],
    "null that the default replaces": [{ ...text, nullable: true, default: "x" }, { ...text, default: "x" }, []],
  };
  for (const [title, [before, after, expected]] of Object.entries({ ...cases, ...numbers })) {
    test(title, () => assert.deepEqual(changes(before, after), expected));
  }

  for (const [limit, narrower, wider] of [
    ["minimum", 6, 4],
    ["minLength", 6, 4],
    ["minItems", 6, 4],
    ["minProperties", 6, 4],
    ["maximum", 4, 6],
    ["maxLength", 4, 6],
    ["maxItems", 4, 6],
    ["maxProperties", 4, 6],
  ] as const) {
    test(`${limit}: new and narrower limits refuse values, wider and removed ones do not`, () => {
      assert.deepEqual(changes({ [limit]: 5 }, { [limit]: narrower }), [
        `breaking v1: spec.a: ${limit} becomes ${narrower} from 5`,
      ]);
      assert.deepEqual(changes({}, { [limit]: 5 }), [`breaking v1: spec.a: ${limit} becomes 5`]);
      for (const after of [{ [limit]: wider }, { [limit]: 5 }, {}])
        assert.deepEqual(changes({ [limit]: 5 }, after), []);
    });
  }
});

describe("changes of a definition", () => {
  const all = (before: KubeObject, now: KubeObject): readonly string[] =>
    compareDefinitions(before, now).map(({ path, level, text: one }) => `${level} ${path.join("/")} ${one}`);
  const at = "spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";

  test("fields that are removed, new, and required", () => {
    assert.deepEqual(all(definition("App", { a: text, b: text }), definition("App", { b: text, c: text }, ["b"])), [
      `breaking ${at}/b v1: spec.b: the field becomes required and has no default`,
      `breaking ${at}/a v1: spec.a: the field is removed: its data is lost at the next write`,
    ]);
  });

  test("a required field with a default breaks nothing, and one that was required either", () => {
    const field = { ...text, default: "x" };
    assert.deepEqual(all(definition("App", { a: field }), definition("App", { a: field }, ["a"])), []);
    assert.deepEqual(all(definition("App", { a: text }, ["a"]), definition("App", { a: text }, ["a"])), []);
  });

  test("a removed field of an open object is kept", () => {
    const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const before = definition("App", { o: { ...open, properties: { a: text } } });
    assert.deepEqual(all(before, definition("App", { o: open })), []);
  });

  test("items of lists and members of maps have a place in the schema", () => {
    const fields = (type: string): JsonObject => ({
      list: { type: "array", items: { type: "object", properties: { x: { type } } } },
      map: { type: "object", additionalProperties: { type } },
    });
    assert.deepEqual(all(definition("App", fields("string")), definition("App", fields("integer"))), [
      `breaking ${at}/list/items/properties/x v1: spec.list[*].x: type changes from string to integer`,
      `breaking ${at}/map/additionalProperties v1: spec.map[*]: type changes from string to integer`,
    ]);
  });

  test("versions that are removed or no longer served", () => {
    const versions = (...list: readonly (readonly [string, boolean])[]): KubeObject =>
      withSpec(definition("App", {}), { versions: list.map(([name, served]) => ({ name, served })) });
    const before = versions(["v1", true], ["v2", true], ["v3", false], ["v4", true]);
    assert.deepEqual(all(before, versions(["v1", true], ["v2", false])), [
      "breaking spec/versions spec.versions[v2]: the version is no longer served",
      "breaking spec/versions spec.versions[v4]: the version is removed",
    ]);
  });

  test("the place of a change has the index of the version in the new definition", () => {
    const schema = (type: string): JsonObject => ({ openAPIV3Schema: { type: "object", properties: { a: { type } } } });
    const version = (name: string, type: string): JsonObject => ({ name, served: true, schema: schema(type) });
    const before = withSpec(definition("App", {}), { versions: [version("v1", "string")] });
    const now = withSpec(definition("App", {}), { versions: [version("v0", "string"), version("v1", "integer")] });
    assert.deepEqual(
      compareDefinitions(before, now).map(({ path }) => path),
      [["spec", "versions", 1, "schema", "openAPIV3Schema", "properties", "a"]],
    );
  });

  test("the scope and the claims", () => {
    const { claimNames: _, ...rest } = claimDefinition["spec"] as JsonObject;
    const now = { ...claimDefinition, spec: { ...rest, scope: "Cluster" } };
    assert.deepEqual(all(claimDefinition, now), [
      "breaking spec/scope the scope changes from LegacyCluster to Cluster",
      "breaking spec/claimNames claims are no longer offered: existing ones are kept and not reconciled",
    ]);
    assert.deepEqual(all(now, claimDefinition).length, 1, "claims that are offered from now on break nothing");
  });
});

describe("the live objects that a change concerns", () => {
  /** Findings about live objects. Objects whose name is `refused` are refused by the new schema with this text. */
  async function findings(
    [before, now]: readonly [KubeObject, KubeObject | undefined],
    objects: readonly KubeObject[],
    refusal = "",
  ): Promise<readonly DefinitionFinding[]> {
    const overlay = {
      entries: new Map([
        ["x", { before, now }],
        ["y", { before: app("a", {}), now: app("a", {}) }],
        ["z", { before: undefined, now }],
      ]),
      live: { list: async ({ kind }: { readonly kind: string }) => objects.filter((one) => one.kind === kind) },
      local: {
        serves: async () => true,
        write: async (object: KubeObject) => {
          if (object.metadata.name === "refused") throw new Error(refusal);
        },
      },
    };
    return definitionFindings({ overlay: overlay as unknown as Overlay } as Pass);
  }
  const concerned = (found: readonly DefinitionFinding[]): string[] =>
    found.map(({ path, objects }) => `${path}: ${objects.join(", ")}`);

  test("those that have a removed field", async () => {
    const pair = [definition("App", { a: text }), definition("App", {})] as const;
    const objects = [app("two", { a: "x" }), app("one", { a: "" }), app("three", {}), app("four", { a: null })];
    assert.deepEqual(await findings(pair, objects), [
      {
        definition: "apps.example.org",
        path: "v1: spec.a",
        level: "breaking",
        text: "the field is removed: its data is lost at the next write",
        objects: ["App default/one", "App default/two"],
      },
    ]);
  });

  test("those that lack a required field or one with a new default", async () => {
    const objects = [
      app("has", { a: "x" }),
      app("lacks", {}),
      { ...app("bare", {}), spec: undefined } as unknown as KubeObject,
    ];
    const required = [definition("App", { a: text }), definition("App", { a: text }, ["a"])] as const;
    assert.deepEqual(concerned(await findings(required, objects)), ["v1: spec.a: App default/lacks"]);
    const defaulted = [definition("App", { a: text }), definition("App", { a: { ...text, default: "x" } })] as const;
    assert.deepEqual(concerned(await findings(defaulted, objects)), ["v1: spec.a: App default/lacks"]);
  });

  test("those with any item of a list that lacks a required field", async () => {
    const list = (required: readonly string[]): JsonObject => ({
      list: { type: "array", items: { type: "object", properties: { x: text }, required: [...required] } },
    });
    const pair = [definition("App", list([])), definition("App", list(["x"]))] as const;
    const objects = [
      app("all", { list: [{ x: "1" }, { x: "2" }] }),
      app("some", { list: [{ x: "1" }, {}] }),
      app("none", { list: [{}] }),
      app("empty", { list: [] }),
    ];
    assert.deepEqual(concerned(await findings(pair, objects)), [
      "v1: spec.list[*].x: App default/none, App default/some",
    ]);
  });

  test("those that the new schema refuses because of the field", async () => {
    const pair = [
      definition("App", { a: text, b: text }),
      definition("App", { a: { ...text, maxLength: 3 }, b: { ...text, minLength: 3 } }),
    ] as const;
    const found = await findings(
      pair,
      [app("refused", { a: "long" }), app("fine", {})],
      "spec.a: Too long: may not be more than 3 bytes",
    );
    assert.deepEqual(concerned(found), ["v1: spec.a: App default/refused", "v1: spec.b: "]);
  });

  test("all of them, if a version or the scope goes", async () => {
    const pair = [definition("App", {}), withSpec(definition("App", {}), { scope: "Cluster" })] as const;
    assert.deepEqual(concerned(await findings(pair, [app("b", {}), app("a", {})])), [
      "spec.scope: App default/a, App default/b",
    ]);
  });

  test("fields that are added concern none, and are not shown", async () => {
    assert.deepEqual(await findings([definition("App", {}), definition("App", { a: text })], [app("a", {})]), []);
  });

  test("a definition that is deleted is not compared", async () => {
    assert.deepEqual(await findings([definition("App", { a: text }), undefined], [app("a", {})]), []);
  });
});
