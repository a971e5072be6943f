// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { ResourceType, WriteRules } from "../registry/registry.ts";
import { nextGeneration } from "./generation.ts";

const [template] = testTypes as readonly [ResourceType];
const typeOf = (generation: WriteRules["generation"], hasStatus: boolean): ResourceType => ({
  ...template,
  subresources: hasStatus ? [{ name: "status", verbs: [] }] : [],
  rules: { ...template.rules, generation },
});
const old: JsonObject = {
  metadata: { generation: 4, annotations: { a: "1" } },
  spec: { x: 1 },
  status: { s: 1 },
  extra: 1,
};

const cases: Record<
  string,
  {
    reason: string;
    rule: WriteRules["generation"];
    hasStatus?: boolean;
    endpoint?: string;
    change: JsonObject;
    want: number | undefined;
  }
> = {
  Same: { reason: "nothing changed", rule: "spec", change: {}, want: 4 },
  Spec: { reason: "the specification", rule: "spec", change: { spec: { x: 2 } }, want: 5 },
  SpecGone: { reason: "specification removed", rule: "spec", change: { spec: null }, want: 5 },
  Extra: { reason: "only the specification counts", rule: "spec", change: { extra: 2 }, want: 4 },
  Annotation: {
    reason: "not for most",
    rule: "spec",
    change: { metadata: { generation: 4, annotations: { a: "2" } } },
    want: 4,
  },
  DeploymentAnnotation: {
    reason: "annotations of deployments",
    rule: "spec-and-annotations",
    change: { metadata: { generation: 4, annotations: { a: "2" } } },
    want: 5,
  },
  CustomExtra: { reason: "everything outside metadata", rule: "outside-metadata", change: { extra: 2 }, want: 5 },
  CustomLabel: {
    reason: "but not metadata",
    rule: "outside-metadata",
    change: { metadata: { generation: 4, labels: {} } },
    want: 4,
  },
  CustomStatus: {
    reason: "a status of its own does not count",
    rule: "outside-metadata",
    hasStatus: true,
    change: { status: { s: 2 } },
    want: 4,
  },
  CustomPlainStatus: {
    reason: "a status like any field does",
    rule: "outside-metadata",
    change: { status: { s: 2 } },
    want: 5,
  },
  StatusOfDeployment: {
    reason: "annotations that are written with the status do not count",
    rule: "spec-and-annotations",
    hasStatus: true,
    endpoint: "status",
    change: { metadata: { generation: 4, annotations: { a: "2" } } },
    want: 4,
  },
  None: {
    reason: "types without one keep what they are given",
    rule: undefined,
    change: { metadata: { generation: 9 }, spec: { x: 2 } },
    want: 9,
  },
};

for (const [name, { reason, rule, hasStatus = false, endpoint = "", change, want }] of Object.entries(cases)) {
  test(`generation: ${name}`, () => {
    assert.equal(nextGeneration(typeOf(rule, hasStatus), { next: { ...old, ...change }, old, endpoint }), want, reason);
  });
}
