// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  amountErrors,
  containerAmounts,
  containerResourceErrors,
  hugePageErrors,
  isExtended,
  isNative,
  podResourceErrors,
} from "./resource-names.ts";

test("names of resources", () => {
  const bodies = (name: string): string[] =>
    containerResourceErrors(name, "p").map(({ body }) => body.replace(`Invalid value: "${name}": `, ""));
  assert.deepEqual(
    [bodies("cpu"), bodies("hugepages-1Gi"), bodies("example.org/gpu"), bodies("kubernetes.io/x")],
    [[], [], [], []],
  );
  assert.deepEqual(bodies("gpu"), [
    "must be a standard resource type or fully qualified",
    "must be a standard resource for containers",
  ]);
  assert.deepEqual(bodies("requests.example.org/gpu"), ["doesn't follow extended resource name standard"]);
  assert.deepEqual(["cpu", "kubernetes.io/x", "a.kubernetes.io/x", "example.org/x"].map(isNative), [
    true,
    true,
    true,
    false,
  ]);
  assert.deepEqual(["example.org/x", "cpu", "requests.example.org/x", `${"a".repeat(250)}.b/x`].map(isExtended), [
    true,
    false,
    false,
    false,
  ]);
  assert.deepEqual(podResourceErrors("memory", "p"), []);
  assert.deepEqual(podResourceErrors("example.org/x", "p").map(fieldErrorText), [
    'p: Unsupported value: "example.org/x": supported values: "cpu", "hugepages-", "memory"',
  ]);
});

test("amounts of resources", () => {
  const bodies = (name: string, amount: string): string[] => amountErrors(name, amount, "p").map(({ body }) => body);
  assert.deepEqual([bodies("cpu", "0"), bodies("cpu", "1m"), bodies("example.org/x", "2k")], [[], [], []]);
  assert.deepEqual(bodies("example.org/x", "1500m"), ['Invalid value: "1500m": must be an integer']);
  assert.deepEqual(bodies("pods", "-1500m"), [
    'Invalid value: "-1500m": must be greater than or equal to 0',
    'Invalid value: "-1500m": must be an integer',
  ]);
  const pages = (name: string, amount: string): string[] => hugePageErrors(name, amount, "p").map(({ body }) => body);
  assert.deepEqual([pages("cpu", "1"), pages("hugepages-2Mi", "4Mi"), pages("hugepages-2Mi", "0")], [[], [], []]);
  assert.deepEqual(pages("hugepages-2Mi", "3Mi"), [
    'Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
  ]);
  assert.deepEqual(pages("hugepages-x", "3Mi"), [
    'Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-x',
  ]);
});

const requesting = (requests: Record<string, string>, more: JsonObject = {}): JsonObject => ({
  resources: { requests },
  ...more,
});
const sidecar = { restartPolicy: "Always" };

const sums: readonly (readonly [name: string, spec: JsonObject, want: Record<string, string>])[] = [
  ["nothing", {}, {}],
  ["one container, as it is written", { containers: [requesting({ cpu: "1000m" })] }, { cpu: "1000m" }],
  [
    "several containers, in the format of the first",
    { containers: [requesting({ cpu: "500m", memory: "1Gi" }), requesting({ cpu: "1", memory: "1024Mi" }), {}] },
    { cpu: "1500m", memory: "2Gi" },
  ],
  [
    "a sum between that is not a multiple of 1024",
    { containers: [requesting({ memory: "1Ki" }), requesting({ memory: "1" }), requesting({ memory: "1023" })] },
    { memory: "2Ki" },
  ],
  [
    "the largest init container, where it is larger",
    {
      containers: [requesting({ cpu: "2", memory: "1Gi" })],
      initContainers: [requesting({ cpu: "3" }), requesting({ cpu: "1", memory: "512Mi", "example.org/d": "1" })],
    },
    { cpu: "3", memory: "1Gi", "example.org/d": "1" },
  ],
  [
    "an init container with the sidecars before it",
    {
      containers: [requesting({ cpu: "1" })],
      initContainers: [
        requesting({ cpu: "4" }),
        requesting({ cpu: "2", memory: "1Gi" }, sidecar),
        requesting({ cpu: "3" }),
        requesting({ cpu: "1" }, sidecar),
      ],
    },
    { cpu: "5", memory: "1Gi" },
  ],
  [
    "sidecars count with the containers",
    { containers: [requesting({ cpu: "1" })], initContainers: [requesting({ cpu: "500m" }, sidecar)] },
    { cpu: "1500m" },
  ],
];

for (const [name, spec, want] of sums) {
  test(`what the containers of a Pod request together: ${name}`, () => {
    assert.deepEqual(containerAmounts(spec, "requests"), want);
    assert.deepEqual(containerAmounts(spec, "limits"), {});
  });
}

test("the sum of 20,000 containers that request different resources", () => {
  const containers = Array.from({ length: 20_000 }, (_, index) => requesting({ [`example.org/d${index}`]: "1" }));
  assert.equal(Object.keys(containerAmounts({ containers }, "requests")).length, 20_000);
});
