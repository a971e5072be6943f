// SPDX-License-Identifier: Apache-2.0
// New Pods, and changes of Pods outside the status and the subresources. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { Endpoint } from "@purlin/kube-apiserver/kinds";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { podRules } from "./pod-rules.ts";

const rules = podRules(() => new Date("2026-01-02T03:04:05.678Z"));
const main = { name: "c", image: "i" };
const podOf = (spec: JsonObject): JsonObject => ({ metadata: { name: "p" }, spec: { containers: [main], ...spec } });

function changeErrors(before: JsonObject, now: JsonObject): string[] {
  return (rules.validateChange?.(podOf(now), podOf(before), "") ?? []).map(fieldErrorText);
}

const gates = (...names: string[]): JsonObject => ({ schedulingGates: names.map((name) => ({ name })) });
const allowed =
  "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const refused = (...lines: string[]): string => `${allowed}\n${lines.join("\n")}\n`;
const expression = (key: string): JsonObject => ({ key, operator: "Exists" });
const terms = (...nodeSelectorTerms: JsonObject[]): JsonObject => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const term = (...keys: string[]): JsonObject => ({ matchExpressions: keys.map(expression) });
const printed = (key: string): string => `{"Key":"${key}","Operator":"Exists","Values":null}`;
const termsPath = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

interface ChangeCase {
  readonly before: JsonObject;
  readonly now: JsonObject;
  readonly want: readonly string[];
}

const changes: Record<string, ChangeCase> = {
  "nothing changes": { before: {}, now: {}, want: [] },
  "images of containers and init containers may change": {
    before: { initContainers: [{ name: "i", image: "a" }] },
    now: { containers: [{ name: "c", image: "j" }], initContainers: [{ name: "i", image: "b" }] },
    want: [],
  },
  "another member of a container may not": {
    before: {},
    now: { containers: [{ ...main, command: ["sh"] }] },
    want: [
      refused(
        '- "containers": [{"name":"c","image":"i"}]',
        '+ "containers": [{"name":"c","image":"i","command":["sh"]}]',
      ),
    ],
  },
  "a container cannot be added, and nothing else is checked then": {
    before: {},
    now: { containers: [main, { name: "d", image: "i" }], nodeName: "n" },
    want: ["spec.containers: Forbidden: pod updates may not add or remove containers"],
  },
  "an init container cannot be removed": {
    before: { initContainers: [{ name: "i", image: "a" }] },
    now: {},
    want: ["spec.initContainers: Forbidden: pod updates may not add or remove containers"],
  },
  "a deadline can be set": { before: {}, now: { activeDeadlineSeconds: 10 }, want: [] },
  "a deadline can stay": { before: { activeDeadlineSeconds: 10 }, now: { activeDeadlineSeconds: 10 }, want: [] },
  "a deadline can come nearer": { before: { activeDeadlineSeconds: 10 }, now: { activeDeadlineSeconds: 9 }, want: [] },
  "a later deadline ends the checks": {
    before: { activeDeadlineSeconds: 10 },
    now: { activeDeadlineSeconds: 11, nodeName: "n" },
    want: ["spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"],
  },
  "a removed deadline does not end them": {
    before: { activeDeadlineSeconds: 10 },
    now: { nodeName: "n" },
    want: [
      "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
      refused('+ "nodeName": "n"'),
    ],
  },
  "deadlines beyond 2^53 are compared exactly": {
    before: { activeDeadlineSeconds: 9007199254740992n },
    now: { activeDeadlineSeconds: 9007199254740993n },
    want: ["spec.activeDeadlineSeconds: Invalid value: 9007199254740993: must be less than or equal to previous value"],
  },
  "a toleration can be added, and another time given": {
    before: { tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }] },
    now: {
      tolerations: [
        { key: "b", operator: "Exists" },
        { effect: "NoExecute", operator: "Exists", key: "a", tolerationSeconds: 7 },
      ],
    },
    want: [],
  },
  "a toleration cannot get another effect": {
    before: { tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute" }] },
    now: { tolerations: [{ key: "a", operator: "Exists", effect: "NoSchedule" }] },
    want: ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
  },
  "a negative grace period may become one second": {
    before: { terminationGracePeriodSeconds: -3 },
    now: { terminationGracePeriodSeconds: 1 },
    want: [],
  },
  "but not two": {
    before: { terminationGracePeriodSeconds: -3 },
    now: { terminationGracePeriodSeconds: 2 },
    want: [refused('- "terminationGracePeriodSeconds": -3', '+ "terminationGracePeriodSeconds": 2')],
  },
  "a positive grace period stays": {
    before: { terminationGracePeriodSeconds: 3 },
    now: { terminationGracePeriodSeconds: 1 },
    want: [refused('- "terminationGracePeriodSeconds": 3', '+ "terminationGracePeriodSeconds": 1')],
  },
  "a grace period of zero stays": {
    before: { terminationGracePeriodSeconds: 0 },
    now: { terminationGracePeriodSeconds: 1 },
    want: [refused('- "terminationGracePeriodSeconds": 0', '+ "terminationGracePeriodSeconds": 1')],
  },
  "a deadline that stays does not end the checks": {
    before: { activeDeadlineSeconds: 10 },
    now: { activeDeadlineSeconds: 10, nodeName: "n" },
    want: [refused('+ "nodeName": "n"')],
  },
  "scheduling gates can be removed one by one": { before: gates("a", "b"), now: gates("b"), want: [] },
  "the last scheduling gate can be removed": { before: gates("a"), now: {}, want: [] },
  "scheduling gates cannot be added": {
    before: gates("a"),
    now: gates("a", "b"),
    want: ["spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'"],
  },
  "nor to a Pod that had none": {
    before: {},
    now: gates("a"),
    want: ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'"],
  },
  "the node selector of a gated Pod can get more labels": {
    before: { ...gates("a"), nodeSelector: { x: "1" } },
    now: { nodeSelector: { x: "1", y: "2" } },
    want: [],
  },
  "but not lose one": {
    before: { ...gates("a"), nodeSelector: { x: "1" } },
    now: { ...gates("a"), nodeSelector: { y: "2" } },
    want: [
      'spec.nodeSelector: Invalid value: {"y":"2"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    ],
  },
  "nor be removed": {
    before: { ...gates("a"), nodeSelector: { x: "1" } },
    now: gates("a"),
    want: [
      "spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)",
    ],
  },
  "the node selector of a Pod without gates stays": {
    before: {},
    now: { nodeSelector: { y: "2" } },
    want: [refused('+ "nodeSelector": {"y":"2"}')],
  },
  "a gated Pod can get an affinity to nodes": { before: gates("a"), now: terms(term("x")), want: [] },
  "a Pod without gates cannot": {
    before: {},
    now: { affinity: { nodeAffinity: {} } },
    want: [refused('+ "affinity": {"nodeAffinity":{}}')],
  },
  "a term can get more requirements at its end": {
    before: { ...gates("a"), ...terms(term("x")) },
    now: { ...gates("a"), ...terms({ ...term("x", "y"), matchFields: [expression("metadata.name")] }) },
    want: [],
  },
  "a term keeps the requirements that it has": {
    before: { ...gates("a"), ...terms(term("x")) },
    now: { ...gates("a"), ...terms(term("y", "x")) },
    want: [
      `${termsPath}[0]: Invalid value: {"MatchExpressions":[${printed("y")},${printed("x")}],"MatchFields":null}: only additions are allowed (no mutations or deletions)`,
    ],
  },
  "a term that matches nothing stays so": {
    before: { ...gates("a"), ...terms({}) },
    now: { ...gates("a"), ...terms(term("y")) },
    want: [
      `${termsPath}[0]: Invalid value: {"MatchExpressions":[${printed("y")}],"MatchFields":null}: only additions are allowed (no mutations or deletions)`,
    ],
  },
  "terms cannot be added to others": {
    before: { ...gates("a"), ...terms(term("x")) },
    now: { ...gates("a"), ...terms(term("x"), term("y")) },
    want: [
      `${termsPath}: Invalid value: [{"MatchExpressions":[${printed("x")}],"MatchFields":null},{"MatchExpressions":[${printed("y")}],"MatchFields":null}]: no additions/deletions to non-empty NodeSelectorTerms list are allowed`,
    ],
  },
  "nor all be removed": {
    before: { ...gates("a"), ...terms(term("x")) },
    now: gates("a"),
    want: [`${termsPath}: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed`],
  },
  "what is only preferred may change": {
    before: { ...gates("a"), affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } },
    now: gates("a"),
    want: [],
  },
  "the affinity of a gated Pod to other Pods stays": {
    before: { ...gates("a"), affinity: { podAffinity: {} } },
    now: { ...gates("a"), affinity: { podAntiAffinity: {} } },
    want: [refused('- "affinity": {"podAffinity":{}}', '+ "affinity": {"podAntiAffinity":{}}')],
  },
};

for (const [name, { before, now, want }] of Object.entries(changes)) {
  test(`a change of a Pod: ${name}`, () => {
    assert.deepEqual(changeErrors(before, now), want);
  });
}

test("a new Pod is pending, and has the class of service of its containers", () => {
  assert.deepEqual(rules.prepareCreate?.(podOf({}))["status"], { phase: "Pending", qosClass: "BestEffort" });
});

test("a new Pod with gates says that it is not scheduled, and since when", () => {
  assert.deepEqual(rules.prepareCreate?.(podOf(gates("a")))["status"], {
    phase: "Pending",
    conditions: [
      {
        type: "PodScheduled",
        status: "False",
        lastProbeTime: null,
        lastTransitionTime: "2026-01-02T03:04:05Z",
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      },
    ],
    qosClass: "BestEffort",
  });
});

test("a negative grace period of a new Pod becomes one second, others stay", () => {
  const grace = (seconds: JsonValue): unknown =>
    rules.prepareCreate?.({ spec: { terminationGracePeriodSeconds: seconds } })["spec"];
  assert.deepEqual(
    [-1, -(2n ** 63n), 0, 30].map(grace),
    [1, 1, 0, 30].map((terminationGracePeriodSeconds) => ({ terminationGracePeriodSeconds })),
  );
});

test("a new Pod has no ephemeral containers, and no node as long as it has gates", () => {
  const errors = (spec: JsonObject): string[] => (rules.validateNew?.(podOf(spec)) ?? []).map(fieldErrorText);
  assert.deepEqual(errors({ ephemeralContainers: [{ name: "d" }], nodeName: "n", ...gates("a") }), [
    "spec.ephemeralContainers: Forbidden: cannot be set on create",
    "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
  ]);
  assert.deepEqual(errors({ nodeName: "n" }), []);
  assert.deepEqual(errors(gates("a")), []);
});

test("a Pod with a token but without an account, and with spaces around an image, is refused", () => {
  const errors = (spec: JsonObject): string[] => {
    const checking = rules.validatingRest?.(podOf({ restartPolicy: "Always", dnsPolicy: "Default", ...spec }));
    assert.ok(checking !== undefined);
    return finish(checking).map(fieldErrorText);
  };
  const token = { serviceAccountToken: { path: "t", expirationSeconds: 600 } };
  const volumes = [{ name: "v", projected: { sources: [token] } }];
  assert.deepEqual(errors({ volumes }), [
    "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
  ]);
  assert.deepEqual(errors({ volumes, serviceAccountName: "a" }), []);
  assert.deepEqual(
    errors({ containers: [{ name: "c", image: " i" }], initContainers: [{ name: "d", image: "i\n" }] }),
    [
      'spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
      'spec.initContainers[0].image: Invalid value: "i\\n": must not have leading or trailing whitespace',
    ],
  );
});

test("the fields by which Pods can be selected", () => {
  const read = (pod: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(rules.fields ?? {}).map(([name, field]) => [name, field(pod)]));
  const pod = { spec: { nodeName: "n", hostNetwork: true }, status: { phase: "Running", podIPs: [{ ip: "1.2.3.4" }] } };
  assert.deepEqual(read(pod), {
    "spec.nodeName": "n",
    "spec.restartPolicy": "",
    "spec.schedulerName": "",
    "spec.serviceAccountName": "",
    "spec.hostNetwork": "true",
    "status.phase": "Running",
    "status.nominatedNodeName": "",
    "status.podIP": "1.2.3.4",
    "status.podIPs": "",
  });
  const { "spec.hostNetwork": network, "status.podIP": address } = read({ status: { podIP: "::1", podIPs: [] } });
  assert.deepEqual([network, address], ["false", "::1"]);
});

test("each endpoint of a Pod has its own rules", () => {
  const debug = { name: "d", image: "i" };
  const old = { ...podOf({ ephemeralContainers: [debug] }), status: { qosClass: "BestEffort" } };
  const errors = (endpoint: Endpoint): string[] =>
    (
      rules.validateChange?.({ ...podOf({ nodeName: "n" }), status: { qosClass: "Burstable" } }, old, endpoint) ?? []
    ).map(({ field }) => field);
  assert.deepEqual(errors("ephemeralcontainers"), ["spec.ephemeralContainers"]);
  assert.deepEqual(errors("status"), ["status.qosClass"]);
  assert.deepEqual(errors("resize"), []);
  assert.deepEqual(errors(""), ["spec"]);
});

test("a write to an endpoint changes its own part of a Pod", () => {
  const old = {
    ...podOf({ nodeName: "n" }),
    metadata: { name: "p", ownerReferences: [{ uid: "u" }] },
  } as unknown as JsonObject;
  const sent = podOf({ nodeName: "m", ephemeralContainers: [{ name: "d" }], containers: [{ ...main, image: "j" }] });
  const spec = (endpoint: Endpoint): unknown => rules.prepareUpdate?.(sent, old, endpoint)["spec"];
  assert.deepEqual(spec("ephemeralcontainers"), {
    containers: [main],
    nodeName: "n",
    ephemeralContainers: [{ name: "d" }],
  });
  assert.deepEqual(spec("resize"), { containers: [main], nodeName: "n" });
  const written = rules.prepareUpdate?.({ ...sent, status: {} }, old, "status");
  assert.deepEqual(written?.["metadata"], old["metadata"], "a kubelet does not change owners");
  assert.deepEqual(rules.prepareUpdate?.(podOf({ overhead: {} }), old, ""), podOf({}), "no overhead at all");
  const kept = podOf({ overhead: { cpu: "1" } });
  assert.equal(rules.prepareUpdate?.(kept, old, ""), kept);
});
