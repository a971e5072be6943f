// SPDX-License-Identifier: Apache-2.0
// Random values for the schemas of built-in kinds: most are valid for the type of the field, few for all its rules.
import type { Random } from "../../fuzz/engine/random.ts";
import type { Loose } from "../harness/loose.ts";

const long = "x".repeat(64);
const strings = [
  ...["a", "b", "web", "a-b", "a.b", "example.org", "example.org/x", "http", "UDP", "80", "1", "True", "Foo"],
  ...["", "A", "a b", "-a", "a_b", "a/b/c", "/a", "/a/b", "/a/../b", "*", "*.example.org", "a=b", "ü", long],
  ...[
    "1.2.3.4",
    "::1",
    "127.0.0.1",
    "10.0.0.0/8",
    "1.2.3.4/8",
    "fe80::/64",
    "50%",
    "150%",
    "1Gi",
    "https://a.example.org/x",
  ],
  ...["$(a)", "x".repeat(260)],
];
const integers = [
  -1, 0, 1, 2, 3, 5, 10, 30, 80, 100, 101, 443, 3600, 8080, 32_768, 65_535, 65_536, 1_000_000_001, 2_147_483_647,
];
const quantities: readonly Loose[] = [
  "0",
  "1",
  "2",
  "100m",
  "1Gi",
  "10k",
  "1500Mi",
  "1.5",
  "0.5m",
  "1n",
  "-1",
  "-100m",
  1,
  2,
];
const resourceNames = [
  ...[
    "cpu",
    "memory",
    "storage",
    "pods",
    "ephemeral-storage",
    "hugepages-2Mi",
    "example.org/gpu",
    "services",
    "secrets",
  ],
  ...[
    "requests.cpu",
    "limits.memory",
    "requests.storage",
    "count/pods",
    "count/deployments.apps",
    "persistentvolumeclaims",
  ],
  ...[
    "foo",
    "Bad_",
    "kubernetes.io/x",
    "requests.example.org/gpu",
    "a b",
    "x.storageclass.storage.k8s.io/requests.storage",
  ],
];
const mapKeys = ["a", "b", "app", "example.org/x", "-bad", "a b", "b/c/d", long];
const times = ["2026-01-02T03:04:05Z", "2027-11-30T00:00:00Z"];
const microTimes = ["2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05.000000Z"];
const bytes = ["", "YQ==", "Yg=="];
/** Values of a wrong type or outside of the range of the type. */
const misfits: readonly Loose[] = ["x", 7, true, null, [], {}, 1.5, 2_147_483_648, [1], { zz: 1 }];

const depthLimit = 6;

/** A value for a schema. */
export function randomValue(random: Random, schema: Loose, depth = 0): Loose {
  if (random.below(100) === 0) return random.pick(misfits);
  const plain = merged(schema);
  if (Array.isArray(plain.enum)) return random.below(8) === 0 ? random.pick(["Nope", ""]) : random.pick(plain.enum);
  if (isQuantity(plain)) return random.pick(quantities);
  if (plain.format === "int-or-string" || Array.isArray(plain.oneOf)) {
    return random.below(2) === 0 ? random.pick(integers) : random.pick(strings);
  }
  switch (plain.type) {
    case "string":
      return randomText(random, plain.format);
    case "integer":
      return random.pick(integers);
    case "number":
      return random.pick([0, 0.5, 1, -1]);
    case "boolean":
      return random.below(2) === 0;
    case "array":
      return Array.from({ length: random.pick([0, 1, 1, 1, 2, 2, 3]) }, () =>
        randomValue(random, plain.items ?? {}, depth + 1),
      );
    case "object":
      return randomObject(random, plain, depth);
    default:
      return random.pick<Loose>([{}, { a: 1 }, "x"]);
  }
}

function randomText(random: Random, format: unknown): string {
  if (format === "date-time") return random.pick(times);
  if (format === "micro-time") return random.pick(microTimes);
  return format === "byte" ? random.pick(bytes) : random.pick(strings);
}

function randomObject(random: Random, schema: Loose, depth: number): Loose {
  if (schema.additionalProperties !== undefined) return randomMap(random, schema.additionalProperties, depth);
  const properties: Readonly<Record<string, Loose>> = schema.properties ?? {};
  const required: readonly string[] = schema.required ?? [];
  const names = Object.keys(properties);
  // A few members beyond the required ones; most of the time one, because many exclude each other.
  const wanted = new Set(random.below(12) === 0 ? [] : required);
  const extra = depth >= depthLimit ? 0 : random.pick([0, 1, 1, 1, 2, 2, 3]);
  for (let n = 0; n < extra && names.length > 0; n += 1) wanted.add(random.pick(names));
  return Object.fromEntries([...wanted].map((name) => [name, randomValue(random, properties[name] ?? {}, depth + 1)]));
}

function randomMap(random: Random, schema: Loose, depth: number): Loose {
  const keys = isQuantity(merged(schema)) ? resourceNames : mapKeys;
  const entries = Array.from({ length: random.pick([0, 1, 1, 2]) }, () => [
    randomKey(random, keys),
    randomValue(random, schema, depth + 1),
  ]);
  return Object.fromEntries(entries) as Loose;
}

const randomKey = (random: Random, keys: readonly string[]): string => random.pick(keys);

/** A key for a map with values of a schema. */
export function newKey(random: Random, schema: Loose): string {
  return random.pick(isQuantity(merged(schema)) ? resourceNames : mapKeys);
}

const isQuantity = ({ oneOf }: Loose): boolean =>
  Array.isArray(oneOf) && oneOf.some((one: Loose) => one.type === "number");

/** A schema with its only reference in place. */
export function merged(schema: Loose): Loose {
  return Array.isArray(schema.allOf) ? { ...schema, ...schema.allOf[0] } : schema;
}
