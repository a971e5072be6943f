// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testKind, testKinds } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { typedStrategy } from "./typed-strategy.ts";

test("defaults stand where their type has them", () => {
  const { type, rules = {} } = testKind("apps/v1", "Deployment");
  const strategy = typedStrategy(type, rules, () => new Date(0));
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
  const spec = strategy.decoder.decode(sent).object["spec"] as JsonObject;
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

test("lists and maps that are sent empty are kept where they count, also after defaults", () => {
  const { type, rules = {} } = testKind("v1", "Pod");
  const keepsEmpty = [
    ["spec", "overhead"],
    ["spec", "nodeSelector", "none"],
    ["spec", "containers", "*", "ports"],
  ];
  const strategy = typedStrategy(type, { ...rules, keepsEmpty }, () => new Date(0));
  const containers = [
    { name: "a", image: "i", ports: [] },
    { name: "b", image: "i", ports: [{ containerPort: 1 }], env: [] },
  ];
  const sent: JsonObject = { apiVersion: "v1", kind: "Pod", spec: { overhead: {}, nodeSelector: {}, containers } };
  const spec = strategy.decoder.decode(sent).object["spec"] as JsonObject;
  const [first = {}, second = {}] = spec["containers"] as readonly JsonObject[];
  assert.deepEqual(spec["overhead"], {});
  assert.equal(spec["nodeSelector"], undefined);
  assert.deepEqual([first["ports"], first["terminationMessagePolicy"]], [[], "File"]);
  assert.deepEqual([second["ports"], second["env"]], [[{ containerPort: 1, protocol: "TCP" }], undefined]);
});

const finalized: readonly [group: string, version: string, resource: string, takesAny: boolean][] = [
  ["", "v1", "configmaps", false],
  ["", "v1", "events", true],
  ["", "v1", "endpoints", false],
  ["events.k8s.io", "v1", "events", false],
  ["apps", "v1", "deployments", false],
  ["rbac.authorization.k8s.io", "v1", "clusterroles", false],
  ["discovery.k8s.io", "v1", "endpointslices", false],
  ["coordination.k8s.io", "v1", "leases", true],
  ["admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", true],
  ["admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", true],
  ["apiextensions.k8s.io", "v1", "customresourcedefinitions", true],
];
for (const [group, version, resource, takesAny] of finalized) {
  test(`${resource}.${group} ${takesAny ? "may have any finalizer" : "must say whose a finalizer is"}`, () => {
    const found = testKinds.find(
      ({ type }) => type.group === group && type.version === version && type.resource === resource,
    );
    assert.ok(found);
    const strategy = typedStrategy(
      found.type,
      { acceptsAnyFinalizer: found.rules?.acceptsAnyFinalizer ?? false },
      () => new Date(0),
    );
    const finalizers = ["orphan", "example.org/ask", "customresourcecleanup.apiextensions.k8s.io"];
    const object: JsonObject = { metadata: { name: "x", finalizers } };
    const wrong = takesAny ? [] : ["metadata.finalizers[2]"];
    const fields = (errors: readonly { readonly field: string }[]): string[] => errors.map(({ field }) => field);
    assert.deepEqual(fields(strategy.validator.validate({ object, old: undefined, endpoint: "" }, [])), wrong);
    assert.deepEqual(fields(strategy.validator.validate({ object, old: object, endpoint: "" }, [])), wrong);
  });
}
