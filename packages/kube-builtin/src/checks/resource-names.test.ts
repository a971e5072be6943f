// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import {
  amountErrors,
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
