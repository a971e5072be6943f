// SPDX-License-Identifier: Apache-2.0
// Fields of a custom kind, each with a schema keyword that costs something per item, and values that make it cost most.
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";

/** One field under attack. */
export interface FieldAttack {
  readonly field: string;
  readonly schema: JsonObject;
  /** A value with this many items that fits the schema. */
  readonly fitting?: (count: number) => JsonValue;
  /** A value with this many items of which each is wrong. */
  readonly wrong?: (count: number) => JsonValue;
  /** About as many items as an object may have, or as many as a body of 3 MB has. */
  readonly count: number;
}

const list = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));
const map = <T>(count: number, member: (index: number) => T): Record<string, T> =>
  Object.fromEntries(list(count, (i) => [`k${i}`, member(i)]));
const listOf = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "array", items, ...more });
const objectOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});
const string = { type: "string" };
const words = list(5_000, (i) => `word-${i}`);
const alternatives = (count: number): JsonObject[] =>
  list(count, (i) => ({ properties: { kind: { enum: [`kind-${i}`] } }, required: ["kind"] }));
const kinded = objectOf({ kind: string, value: string });

function formatAttack(format: string, fitting: string, wrong = "not of this format at all"): FieldAttack {
  return {
    field: `format${format.replaceAll("-", "")}`,
    schema: listOf({ type: "string", format }),
    fitting: (count) => list(count, () => fitting),
    wrong: (count) => list(count, () => wrong),
    count: 60_000,
  };
}

/** All of them. */
export const fieldAttacks: readonly FieldAttack[] = [
  {
    field: "enumStrings",
    schema: listOf({ type: "string", enum: words }),
    fitting: (count) => list(count, (i) => `word-${i % words.length}`),
    wrong: (count) => list(count, () => "x"),
    count: 95_000,
  },
  {
    field: "enumNumbers",
    schema: listOf({ type: "number", enum: list(5_000, (i) => i) }),
    fitting: (count) => list(count, (i) => i % 5_000),
    wrong: (count) => list(count, (i) => -i - 1),
    count: 95_000,
  },
  {
    field: "enumFractions",
    schema: listOf({ type: "number", enum: list(2_000, (i) => i + 0.5) }),
    fitting: (count) => list(count, (i) => (i % 2_000) + 0.5),
    wrong: (count) => list(count, (i) => -i - 0.25),
    count: 80_000,
  },
  {
    field: "enumObjects",
    schema: listOf({
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      enum: list(1_000, (i) => ({ a: i, b: [i] })),
    }),
    fitting: (count) => list(count, (i) => ({ b: [i % 1_000], a: i % 1_000 })),
    wrong: (count) => list(count, (i) => ({ a: -i })),
    count: 30_000,
  },
  {
    field: "oneOf",
    schema: listOf({ ...kinded, oneOf: alternatives(40) }),
    fitting: (count) => list(count, (i) => ({ kind: `kind-${i % 40}` })),
    wrong: (count) => list(count, () => ({ kind: "" })),
    count: 4_000,
  },
  {
    field: "anyOf",
    schema: listOf({ ...kinded, anyOf: alternatives(40) }),
    fitting: (count) => list(count, () => ({ kind: "kind-39" })),
    wrong: (count) => list(count, () => ({ kind: "" })),
    count: 4_000,
  },
  {
    field: "allOf",
    schema: listOf({ ...kinded, allOf: list(40, () => ({ properties: { kind: { enum: ["a", "b"] } } })) }),
    fitting: (count) => list(count, () => ({ kind: "a" })),
    wrong: (count) => list(count, () => ({ kind: "" })),
    count: 10_000,
  },
  {
    field: "not",
    schema: listOf({ ...kinded, not: { anyOf: alternatives(40) } }),
    fitting: (count) => list(count, () => ({ kind: "" })),
    wrong: (count) => list(count, () => ({ kind: "kind-39" })),
    count: 4_000,
  },
  {
    field: "nestedAlternatives",
    schema: listOf({
      ...kinded,
      oneOf: list(8, (i) => ({
        anyOf: list(8, (j) => ({ oneOf: [{ properties: { kind: { enum: [`${i}-${j}`] } } }] })),
      })),
    }),
    fitting: (count) => list(count, (i) => ({ kind: `${i % 8}-7` })),
    wrong: (count) => list(count, () => ({ kind: "" })),
    count: 2_000,
  },
  {
    field: "numbers",
    schema: listOf({ type: "integer", minimum: 0, maximum: 5, multipleOf: 1 }),
    fitting: (count) => list(count, (i) => i % 6),
    wrong: (count) => list(count, (i) => i + 6),
    count: 95_000,
  },
  {
    field: "strings",
    schema: listOf({ type: "string", minLength: 2, maxLength: 4 }),
    fitting: (count) => list(count, () => "abc"),
    wrong: (count) => list(count, () => "a"),
    count: 95_000,
  },
  {
    field: "types",
    schema: listOf({ type: "object", properties: { name: string } }),
    wrong: (count) => list(count, (i) => [1, "", true, []][i % 4] ?? 0),
    count: 95_000,
  },
  {
    field: "required",
    schema: listOf(objectOf({ a: string, b: string, c: string }, { required: ["a", "b", "c"] })),
    fitting: (count) => list(count, () => ({ a: "", b: "", c: "" })),
    wrong: (count) => list(count, () => ({})),
    count: 30_000,
  },
  {
    field: "pattern",
    schema: listOf({ type: "string", pattern: "^(a|b|ab|ba)*c?$" }),
    fitting: (count) => list(count, () => "abab"),
    wrong: (count) => list(count, () => "abax"),
    count: 95_000,
  },
  {
    field: "longPattern",
    schema: { type: "string", pattern: "^([a-z]+[0-9]?)*$" },
    fitting: (count) => "a".repeat(count),
    wrong: (count) => `${"a".repeat(count)}!`,
    count: 2_500_000,
  },
  {
    field: "setOfStrings",
    schema: listOf(string, { "x-kubernetes-list-type": "set" }),
    fitting: (count) => list(count, (i) => `item-${i}`),
    wrong: (count) => list(count, (i) => `item-${i >> 1}`),
    count: 95_000,
  },
  {
    field: "setOfNumbers",
    schema: listOf({ type: "integer" }, { "x-kubernetes-list-type": "set" }),
    fitting: (count) => list(count, (i) => i),
    wrong: (count) => list(count, (i) => i >> 1),
    count: 95_000,
  },
  {
    field: "mapList",
    schema: listOf(objectOf({ name: string, value: string }, { required: ["name"] }), {
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    }),
    fitting: (count) => list(count, (i) => ({ name: `n${i}` })),
    wrong: (count) => list(count, (i) => ({ name: `n${i >> 1}` })),
    count: 60_000,
  },
  {
    field: "mapListOfTwoKeys",
    schema: listOf(objectOf({ name: string, port: { type: "integer" } }, { required: ["name", "port"] }), {
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name", "port"],
    }),
    fitting: (count) => list(count, (i) => ({ name: "n", port: i })),
    wrong: (count) => list(count, (i) => ({ name: "n", port: i >> 1 })),
    count: 45_000,
  },
  {
    field: "stringMap",
    schema: { type: "object", additionalProperties: string },
    fitting: (count) => map(count, () => ""),
    wrong: (count) => map(count, (i) => i),
    count: 95_000,
  },
  {
    field: "objectMap",
    schema: { type: "object", additionalProperties: objectOf({ a: { type: "integer", default: 1 } }) },
    fitting: (count) => map(count, () => ({})),
    wrong: (count) => map(count, () => ({ a: "" })),
    count: 60_000,
  },
  {
    field: "defaults",
    schema: listOf(
      objectOf({
        a: { type: "string", default: "d" },
        b: objectOf({ c: { type: "integer", default: 3 } }, { default: {} }),
      }),
    ),
    fitting: (count) => list(count, () => ({})),
    wrong: (count) => list(count, () => ({ a: null, b: null })),
    // Each item gets three values.
    count: 33_000,
  },
  {
    field: "unknownInItems",
    schema: listOf(objectOf({ a: string })),
    fitting: (count) => list(count, () => ({ zzz: "" })),
    count: 60_000,
  },
  {
    field: "unknownInObject",
    schema: objectOf({ a: string, item: string, key: string }),
    fitting: (count) => map(count, () => ""),
    count: 95_000,
  },
  {
    field: "preserved",
    schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    fitting: (count) => map(count, () => []),
    count: 70_000,
  },
  {
    field: "intOrString",
    schema: listOf({ "x-kubernetes-int-or-string": true }),
    fitting: (count) => list(count, (i) => (i % 2 === 0 ? i : `${i}%`)),
    wrong: (count) => list(count, () => true),
    count: 95_000,
  },
  {
    field: "embedded",
    schema: listOf({
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    }),
    fitting: (count) => list(count, () => ({ apiVersion: "v1", kind: "A", metadata: { name: "a" } })),
    wrong: (count) => list(count, () => ({ apiVersion: "a/b/c", kind: "?", metadata: { labels: { "?": "" } } })),
    count: 25_000,
  },
  {
    field: "nested",
    schema: listOf(listOf(listOf({ type: "integer" }))),
    fitting: (count) => list(count, () => [[1]]),
    wrong: (count) => list(count, () => [[""]]),
    count: 45_000,
  },
  {
    field: "rules",
    schema: listOf(
      { type: "integer" },
      { maxItems: 1_000_000, "x-kubernetes-validations": [{ rule: "self.size() >= 0" }] },
    ),
    fitting: (count) => list(count, (i) => i),
    wrong: (count) => list(count, () => ""),
    count: 95_000,
  },
  formatAttack("date-time", "2026-01-01T00:00:00Z"),
  formatAttack("date", "2026-01-01"),
  formatAttack("duration", "1h2m3s"),
  formatAttack("uuid", "123e4567-e89b-12d3-a456-426614174000"),
  formatAttack("ipv4", "192.168.100.200"),
  formatAttack("ipv6", "fe80::1:2:3"),
  formatAttack("cidr", "192.168.0.0/16"),
  formatAttack("email", "someone@example.org"),
  formatAttack("uri", "https://example.org/a?b#c", "::::"),
  formatAttack("hostname", "a.b.example.org", "-.-"),
  formatAttack("byte", "aGVsbG8=", "!!!!"),
  formatAttack("mac", "00:11:22:33:44:55"),
];
