// SPDX-License-Identifier: Apache-2.0
// Writes to the status of a Pod. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { podStatusErrors, withQuality } from "./pod-status.ts";

interface StatusCase {
  readonly spec?: JsonObject;
  readonly before?: JsonObject;
  readonly now: JsonObject;
  readonly want: readonly string[];
}

const ips = (...list: string[]): JsonObject[] => list.map((ip) => ({ ip }));
const ended = (name: string, exitCode = 0): JsonObject => ({ name, state: { terminated: { exitCode } } });
const waiting = (name: string): JsonObject => ({ name, state: { waiting: {} } });
const stays = (list: string, index = 0): string =>
  `status.${list}[${index}].state: Forbidden: may not be transitioned to non-terminated state`;
const labelText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const rule = (action: string, operator: string, ...values: number[]): JsonObject => ({
  action,
  exitCodes: { operator, values },
});
const one = (more: JsonObject): JsonObject => ({ restartPolicy: "Never", containers: [{ name: "c", ...more }] });
const leaves = (exitCode: number): Pick<StatusCase, "before" | "now"> => ({
  before: { containerStatuses: [ended("c", exitCode)] },
  now: { containerStatuses: [waiting("c")] },
});

const cases: Record<string, StatusCase> = {
  "an empty status is valid": { now: {}, want: [] },
  "the conditions of Kubernetes need no further check": {
    now: { conditions: [{ type: "Ready" }, { type: "PodScheduled" }, { type: "Initialized", observedGeneration: 0 }] },
    want: [],
  },
  "other conditions are qualified names": {
    now: { conditions: [{ type: "example.org/ok" }, { type: "a b", observedGeneration: -1 }] },
    want: [
      "status.conditions[1].observedGeneration: Invalid value: -1: must be a non-negative integer",
      `status.conditions[1].Type: Invalid value: "a b": ${labelText}`,
    ],
  },
  "a generation is not negative": {
    now: { observedGeneration: -1 },
    want: ["status.observedGeneration: Invalid value: -1: must be a non-negative integer"],
  },
  "a nominated node has the name of a node": {
    now: { nominatedNodeName: "N" },
    want: [`status.nominatedNodeName: Invalid value: "N": ${subdomainText}`],
  },
  "an invalid nomination can stay": { before: { nominatedNodeName: "N" }, now: { nominatedNodeName: "N" }, want: [] },
  "a nomination can be removed": { spec: { nodeName: "n" }, before: { nominatedNodeName: "m" }, now: {}, want: [] },
  "a Pod on a node gets no nomination": {
    spec: { nodeName: "n" },
    now: { nominatedNodeName: "m" },
    want: ["status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"],
  },
  "the class of service stays": {
    before: { qosClass: "BestEffort" },
    now: { qosClass: "Burstable" },
    want: ['status.qosClass: Invalid value: "Burstable": field is immutable'],
  },
  "a container that ended stays so when its Pod never restarts": {
    spec: one({}),
    ...leaves(1),
    want: [stays("containerStatuses")],
  },
  "a status that ended again, or is gone, is accepted": {
    spec: { restartPolicy: "Never", containers: [{ name: "c" }, { name: "d" }] },
    before: { containerStatuses: [ended("c"), ended("d")] },
    now: { containerStatuses: [ended("d", 3)] },
    want: [],
  },
  "a container restarts when its Pod always restarts": {
    spec: { ...one({}), restartPolicy: "Always" },
    ...leaves(0),
    want: [],
  },
  "a failed container restarts with OnFailure": {
    spec: { ...one({}), restartPolicy: "OnFailure" },
    ...leaves(1),
    want: [],
  },
  "one that succeeded does not": {
    spec: { ...one({}), restartPolicy: "OnFailure" },
    ...leaves(0),
    want: [stays("containerStatuses")],
  },
  "the policy of the container counts before that of the Pod": {
    spec: { restartPolicy: "Always", containers: [{ name: "c", restartPolicy: "Never" }] },
    ...leaves(1),
    want: [stays("containerStatuses")],
  },
  "a rule for the exit code restarts a container": {
    spec: one({ restartPolicy: "Never", restartPolicyRules: [rule("Restart", "In", 41, 42)] }),
    ...leaves(42),
    want: [],
  },
  "a rule for another exit code does not": {
    spec: one({ restartPolicy: "Never", restartPolicyRules: [rule("Restart", "In", 41)] }),
    ...leaves(42),
    want: [stays("containerStatuses")],
  },
  "a rule for all exit codes but some restarts a container": {
    spec: one({ restartPolicy: "Never", restartPolicyRules: [rule("Restart", "NotIn", 41)] }),
    ...leaves(42),
    want: [],
  },
  "and not for those": {
    spec: one({ restartPolicy: "Never", restartPolicyRules: [rule("Restart", "NotIn", 42)] }),
    ...leaves(42),
    want: [stays("containerStatuses")],
  },
  "rules without a policy of the container do not count": {
    spec: one({ restartPolicyRules: [rule("Restart", "In", 42)] }),
    ...leaves(42),
    want: [stays("containerStatuses")],
  },
  "a rule that restarts all containers lets all of them continue": {
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "c" }],
      initContainers: [
        { name: "i", restartPolicy: "Never", restartPolicyRules: [rule("RestartAllContainers", "In", 7)] },
      ],
    },
    before: { containerStatuses: [ended("c", 1)], initContainerStatuses: [ended("i", 1)] },
    now: { containerStatuses: [waiting("c")], initContainerStatuses: [waiting("i")] },
    want: [],
  },
  "but not an ephemeral one": {
    spec: one({ restartPolicy: "Never", restartPolicyRules: [rule("RestartAllContainers", "In", 7)] }),
    before: { ephemeralContainerStatuses: [ended("d")] },
    now: { ephemeralContainerStatuses: [waiting("d")] },
    want: [stays("ephemeralContainerStatuses")],
  },
  "a sidecar restarts, another init container does not": {
    spec: { restartPolicy: "Never", initContainers: [{ name: "a", restartPolicy: "Always" }, { name: "b" }] },
    before: { initContainerStatuses: [ended("a"), ended("b", 1)] },
    now: { initContainerStatuses: [waiting("a"), waiting("b")] },
    want: [stays("initContainerStatuses", 1)],
  },
  "a container that the spec does not have stays ended": {
    spec: { restartPolicy: "Always", containers: [] },
    ...leaves(1),
    want: [stays("containerStatuses")],
  },
  "a Pod has an address of each family": { now: { podIPs: ips("10.0.0.1", "fd00::1") }, want: [] },
  "and not two of one": {
    now: { podIPs: ips("10.0.0.1", "10.0.0.2") },
    want: [
      'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP family',
    ],
  },
  "nor three": {
    now: { podIPs: ips("10.0.0.1", "fd00::1", "fd00::2") },
    want: [
      'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"fd00::1"},{"IP":"fd00::2"}]: may specify no more than one IP for each IP family',
    ],
  },
  "an address that cannot be read": {
    now: { podIPs: ips("10.0.0.1", "x") },
    want: [
      'status.podIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      "status.podIPs: Internal error: failed to check for dual stack with error:invalid IP: x",
      'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"x"}]: may specify no more than one IP for each IP family',
    ],
  },
  "an invalid address that the status had can stay": {
    before: { podIPs: ips("01.2.3.4") },
    now: { podIPs: ips("01.2.3.4") },
    want: [],
  },
  "a new address has no leading zeros": {
    now: { podIPs: ips("01.2.3.4") },
    want: ['status.podIPs[0]: Invalid value: "01.2.3.4": must not have leading 0s'],
  },
  "the first address of the host is its main one": {
    now: { hostIP: "10.0.0.1", hostIPs: ips("10.0.0.2") },
    want: ['status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`'],
  },
  "a host has one address of each family": {
    now: { hostIP: "fd00::1", hostIPs: ips("fd00::1", "fd00::2") },
    want: [
      'status.hostIPs: Invalid value: [{"IP":"fd00::1"},{"IP":"fd00::2"}]: may specify no more than one IP for each IP family',
    ],
  },
  "claims are those of the spec, each once": {
    spec: { resourceClaims: [{ name: "a" }] },
    now: {
      resourceClaimStatuses: [
        { name: "a", resourceClaimName: "x" },
        { name: "a" },
        { name: "b", resourceClaimName: "X" },
      ],
    },
    want: [
      'status.resourceClaimStatuses[1].name: Duplicate value: "a"',
      'status.resourceClaimStatuses[2].name: Invalid value: "b": must match the name of an entry in `spec.resourceClaims`',
      `status.resourceClaimStatuses[2].resourceClaimName: Invalid value: "X": ${subdomainText}`,
    ],
  },
};

for (const [name, { spec = {}, before = {}, now, want }] of Object.entries(cases)) {
  test(`the status of a Pod: ${name}`, () => {
    const errors = podStatusErrors({ spec, status: now }, { spec, status: before });
    assert.deepEqual(errors.map(fieldErrorText), want);
  });
}

test("a status without a class of service keeps the one that it had", () => {
  const old = { status: { qosClass: "Burstable" } };
  assert.deepEqual(withQuality({ status: { phase: "Running" } }, old), {
    status: { phase: "Running", qosClass: "Burstable" },
  });
  const given = { status: { qosClass: "Guaranteed" } };
  assert.equal(withQuality(given, old), given);
});
