// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, Requirements, RunFunctionRequest } from "@purlin/function-protocol";
import { answersText, requirementsText } from "./render-scenario.ts";

const requirements = fromJson(Requirements, {
  resources: {
    a: { apiVersion: "v1", kind: "Secret", matchName: "s" },
    b: { apiVersion: "v1", kind: "Pod", matchLabels: { labels: { app: "x", tier: "y" } } },
    c: { apiVersion: "v1", kind: "Node" },
    d: { apiVersion: "v1", kind: "Event", matchLabels: {} },
  },
  extraResources: { e: { apiVersion: "v1", kind: "Service", matchName: "web" } },
  schemas: { f: { apiVersion: "apps/v1", kind: "Deployment" }, g: { apiVersion: "a/v1", kind: "B" } },
});

test("requirements in words", () => {
  assert.equal(
    requirementsText(requirements),
    'Secret "s", every Pod with app=x,tier=y, every Node, every Event, Service "web", the schema of apps/v1 Deployment, the schema of a/v1 B',
  );
  assert.equal(requirementsText(fromJson(Requirements, {})), undefined);
  assert.equal(requirementsText(undefined), undefined);
});

test("answers in words: found, looked for in vain, and not answered", () => {
  const request = fromJson(RunFunctionRequest, {
    requiredResources: { a: { items: [{}] }, b: {}, stranger: {} },
    extraResources: { e: { items: [{}] } },
    requiredSchemas: { f: { openapiV3: { type: "object" } }, g: {} },
  });
  assert.equal(
    answersText(requirements, request),
    'Secret "s", no Pod with app=x,tier=y, Service "web", the schema of apps/v1 Deployment (1 KiB), no schema of a/v1 B',
  );
  assert.equal(answersText(undefined, request), undefined);
  assert.equal(answersText(requirements, fromJson(RunFunctionRequest, {})), undefined);
});
