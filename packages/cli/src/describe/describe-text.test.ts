// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { describeText } from "./describe-command.ts";

const described = (more: JsonObject = {}, metadata: JsonObject = {}): string[] =>
  describeText({ apiVersion: "acme.org/v1", kind: "App", metadata: { name: "shop", ...metadata }, ...more }).split(
    "\n",
  );
/** The lines after the metadata, whose values are aligned with each other. */
const content = (more: JsonObject): string[] => {
  const lines = described(more);
  return lines.slice(lines.findIndex((line) => line.startsWith("Kind:")) + 2, -1);
};

test("an object begins with its name, namespace, labels and annotations", () => {
  assert.deepEqual(described({}, { namespace: "team", labels: { b: "2", a: "1" }, annotations: { y: "z", x: "w" } }), [
    "Name:         shop",
    "Namespace:    team",
    "Labels:       a=1",
    "              b=2",
    "Annotations:  x: w",
    "              y: z",
    "API Version:  acme.org/v1",
    "Kind:         App",
    "Metadata:",
    "",
  ]);
});

test("labels and annotations that are missing are <none>; what kubectl applied last is not shown", () => {
  const lines = described({}, { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } });
  assert.deepEqual(lines.slice(1, 4), ["Namespace:    ", "Labels:       <none>", "Annotations:  <none>"]);
});

test("metadata has no members that are shown above, and no managers", () => {
  const lines = described({}, { uid: "u", generation: 3, managedFields: [{ manager: "x" }], labels: { a: "b" } });
  assert.deepEqual(lines.slice(lines.indexOf("Metadata:")), ["Metadata:", "  Generation:  3", "  UID:         u", ""]);
});

test("a long annotation, and one of several lines, stands below its name", () => {
  const lines = described(
    {},
    { annotations: { a: "1\n2\n", b: "x".repeat(150), c: "y".repeat(137), d: "z".repeat(138) } },
  );
  assert.deepEqual(
    lines.slice(3, 10).map((line) => line.slice("Annotations:  ".length)),
    ["a:", "  1", "  2", "b:", `  ${"x".repeat(140)}...`, `c: ${"y".repeat(137)}`, "d:"],
  );
});

test("fields are titled as by kubectl: words apart, acronyms in capitals, other names as they are", () => {
  const names = {
    observedGeneration: "Observed Generation",
    apiUrl: "API URL",
    podUid: "Pod UID",
    HTTPSPort: "HTTPS Port",
    targetHTTPPort: "Target HTTP Port",
    "foo-bar": "Foo - Bar",
    ipv4Address: "ipv4Address",
    "app.kubernetes.io/name": "app.kubernetes.io/name",
    snake_case: "snake_case",
    größe: "Größe",
  };
  for (const [name, label] of Object.entries(names))
    assert.deepEqual(content({ spec: { [name]: 1 } }).slice(1), [`  ${label}:  1`], name);
});

test("objects, lists and values are indented, and values that follow each other are aligned", () => {
  const spec = {
    ports: [{ name: "a", number: 80 }, { name: "b" }],
    zones: ["x", null, [1, 2]],
    empty: {},
    none: null,
    on: true,
    big: 9007199254740993n,
  };
  assert.deepEqual(content({ spec }), [
    "Spec:",
    "  Big:  9007199254740993",
    "  Empty:",
    "  None:  <nil>",
    "  On:    true",
    "  Ports:",
    "    Name:    a",
    "    Number:  80",
    "    Name:    b",
    "  Zones:",
    "    x",
    "    <nil>",
    "    [1,2]",
  ]);
});

test("characters that a terminal obeys are escaped", () => {
  assert.deepEqual(content({ spec: { a: "x\u001b[2Jy" } }).slice(1), ["  A:  x\\x1b[2Jy"]);
});
