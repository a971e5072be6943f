// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects";
import { BUILTIN_RESOURCES } from "../registry/builtin-resources.ts";
import { Registry } from "../registry/registry.ts";
import { builtinStrategy } from "./builtin-strategy.ts";

test("defaults stand where their type has them", () => {
  const type = new Registry(BUILTIN_RESOURCES).catalog.find("apps", "v1", "deployments");
  assert.ok(type);
  const strategy = builtinStrategy(type, {}, () => new Date(0));
  const sent: JsonObject = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d" },
    spec: {
      strategy: { type: "Recreate" },
      template: { spec: { schedulerName: "mine", containers: [{ image: "main:1", name: "main" }] } },
      selector: { matchLabels: { app: "d" } },
    },
  };
  const spec = strategy.decode(sent).object["spec"] as JsonObject;
  assert.deepEqual(Object.keys(spec), [
    ...["replicas", "selector", "template", "strategy", "revisionHistoryLimit", "progressDeadlineSeconds"],
  ]);
  const pod = (spec["template"] as JsonObject)["spec"] as JsonObject;
  assert.deepEqual(Object.keys(pod), [
    ...[
      "containers",
      "restartPolicy",
      "terminationGracePeriodSeconds",
      "dnsPolicy",
      "securityContext",
      "schedulerName",
    ],
  ]);
});
