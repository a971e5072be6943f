// SPDX-License-Identifier: Apache-2.0
import type { Chance } from "./chance.ts";

/** A hostile request. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
}

const namespaced = "/api/v1/namespaces/default";

const paths: readonly string[] = [
  `${namespaced}/configmaps`,
  `${namespaced}/pods`,
  `${namespaced}/services`,
  `${namespaced}/secrets`,
  `${namespaced}/events`,
  "/apis/apps/v1/namespaces/default/deployments",
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  "/apis/fuzz.example.org/v1/namespaces/default/fuzzies",
  "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
];

const writes = [
  { method: "POST", types: ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] },
  { method: "PUT", types: ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] },
  {
    method: "PATCH",
    types: [
      "application/merge-patch+json",
      "application/json-patch+json",
      "application/strategic-merge-patch+json",
      "application/apply-patch+yaml",
    ],
  },
  { method: "DELETE", types: ["application/json"] },
] as const;

/** Makes a request that is wrong somewhere, or only odd. */
export function hostileRequest(chance: Chance): HostileRequest {
  const { method, types } = chance.pick(writes);
  const collection = chance.pick(paths);
  const path = method === "POST" ? collection : `${collection}/target?fieldManager=fuzz&force=true`;
  // Now and then the body is not what it says it is.
  const contentType =
    chance.next() < 0.9 ? chance.pick<string>(types) : chance.pick(["text/html", "application/json; charset=x", "*/*"]);
  return { method, path, contentType, body: hostileBody(chance, contentType) };
}

function hostileBody(chance: Chance, contentType: string): Buffer {
  if (chance.next() < 0.1) return chance.bytes(chance.below(2000));
  if (contentType.includes("protobuf")) return Buffer.concat([Buffer.from("k8s\0"), chance.bytes(chance.below(500))]);
  const text = contentType.includes("yaml") && chance.next() < 0.5 ? yamlText(chance) : jsonText(chance);
  return chance.next() < 0.3 ? mangled(chance, Buffer.from(text)) : Buffer.from(text);
}

function yamlText(chance: Chance): string {
  const aliases = Array.from({ length: 12 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`).join("\n");
  return chance.pick([
    `a-1: &a-1 [x]\n${aliases}\n`,
    `${"- ".repeat(5000)}x`,
    "metadata: !!js/function 'function () { return 1 }'\n",
    "a: &a {b: *a}\n",
    `? ${"[".repeat(3000)}\n: x\n`,
    "---\nkind: ConfigMap\n---\nkind: Secret\n",
    `data:\n${"  k: v\n".repeat(2000)}`,
    jsonText(chance),
  ]);
}

function jsonText(chance: Chance): string {
  return chance.pick<() => string>([
    () => "[".repeat(100_000),
    () => `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
    () => `{"metadata":{"name":"x","labels":{${'"a":"b",'.repeat(20_000)}"z":"z"}}}`,
    () => `{"metadata":{"name":${"9".repeat(5000)}}}`,
    () => '{"metadata":{"name":"target"},"metadata":{"name":"again"}}',
    () => '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"metadata":{"name":"x"}}',
    () => JSON.stringify(randomPatch(chance)),
    () => JSON.stringify(objectLike(chance)),
    () => `"${"\\ud800".repeat(1000)}"`,
    () => "",
    () => "null",
  ])();
}

/** Something like an object, with wrong things in right places. */
function objectLike(chance: Chance): unknown {
  const metadata = {
    name: chance.pick<unknown>(["target", "", "UPPER", "a/b", "..", 7, null, "x".repeat(300), "%2e%2e"]),
    namespace: chance.pick<unknown>(["default", "other", 1, "", null]),
    labels: chance.pick<unknown>([{ a: "b" }, { "": "" }, [], "x", null, { ["k".repeat(400)]: "v" }]),
    ownerReferences: chance.pick<unknown>([[], [{}], [{ apiVersion: "v1", kind: "X", name: "y", uid: "z" }], "x"]),
    managedFields: chance.pick<unknown>([
      [],
      [{ manager: "x", operation: "Apply", fieldsV1: { "f:": { ".": 1 } } }],
      [1],
    ]),
    finalizers: chance.pick<unknown>([[], [""], ["a b"], ["example.org/x"]]),
    resourceVersion: chance.pick<unknown>(["", "0", "1", "-1", "x", "99999999999999999999", 5]),
  };
  const known = {
    apiVersion: chance.pick<unknown>(["v1", "apps/v1", "fuzz.example.org/v1", "apiextensions.k8s.io/v1", "", 1, null]),
    kind: chance.pick<unknown>(["ConfigMap", "Pod", "Deployment", "Fuzzy", "CustomResourceDefinition", "List", {}, ""]),
    metadata: chance.next() < 0.9 ? metadata : chance.pick<unknown>([null, [], "x", 1]),
  };
  return { ...known, data: randomValue(chance, 3), spec: randomValue(chance, 4), status: randomValue(chance, 2) };
}

function randomPatch(chance: Chance): unknown {
  const operation = (): unknown => ({
    op: chance.pick<unknown>(["add", "remove", "replace", "move", "copy", "test", "nonsense", 1]),
    path: chance.pick<unknown>(["/metadata/labels", "/data/a", "/", "", "/spec/~2", "/-", "/metadata/name/x/y", 1]),
    from: chance.pick<unknown>(["/data", "/spec", "", "/metadata", "/nowhere"]),
    value: randomValue(chance, 3),
  });
  return Array.from({ length: 1 + chance.below(20) }, operation);
}

const names = ["a", "spec", "name", "$patch", "$retainKeys", "containers", "template", "__proto__", "ports", "", "é"];

function randomValue(chance: Chance, depth: number): unknown {
  const leaf = (): unknown =>
    chance.pick<unknown>([null, true, 0, -1, 1e308, 2 ** 53, "", "x", "\u0000", "9".repeat(100), "replace", [], {}]);
  if (depth === 0 || chance.next() < 0.3) return leaf();
  const length = chance.below(5);
  if (chance.next() < 0.4) return Array.from({ length }, () => randomValue(chance, depth - 1));
  return Object.fromEntries(Array.from({ length }, () => [chance.pick(names), randomValue(chance, depth - 1)]));
}

/** Cuts, doubles or changes bytes. */
function mangled(chance: Chance, bytes: Buffer): Buffer {
  const at = chance.below(bytes.length + 1);
  return chance.pick([
    bytes.subarray(0, at),
    Buffer.concat([bytes, bytes.subarray(at)]),
    Buffer.concat([bytes.subarray(0, at), chance.bytes(1 + chance.below(8)), bytes.subarray(at)]),
  ]);
}
