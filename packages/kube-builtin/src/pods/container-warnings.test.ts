// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { containerWarnings, portWarnings } from "./container-warnings.ts";

const warningsOf = (spec: JsonObject): string[] => [...containerWarnings({ spec }, ""), ...portWarnings(spec, "spec")];
const port = (containerPort: number, more: JsonObject = {}): JsonObject => ({
  containerPort,
  protocol: "TCP",
  ...more,
});
const withPorts = (...ports: readonly JsonObject[]): JsonObject => ({ containers: [{ ports }] });
const withEnv = (...env: readonly JsonObject[]): JsonObject => ({ containers: [{ env }] });
const at = (index: number): string => `spec.containers[0].ports[${index}]`;

const cases: Readonly<Record<string, { spec: JsonObject; want: readonly string[]; reason: string }>> = {
  Nothing: { spec: {}, want: [], reason: "no containers, nothing to say" },
  OtherProtocol: { spec: withPorts(port(1), port(1, { protocol: "UDP" })), want: [], reason: "these are two ports" },
  Duplicate: {
    spec: withPorts(port(1), port(1)),
    want: [`${at(1)}: duplicate port definition with ${at(0)}`],
    reason: "the same port twice",
  },
  AcrossContainers: {
    spec: { initContainers: [{ ports: [port(1)] }], containers: [{ ports: [port(1)] }] },
    want: ["spec.containers[0].ports[0]: duplicate port definition with spec.initContainers[0].ports[0]"],
    reason: "containers of a Pod share their ports",
  },
  Overlapping: {
    spec: withPorts(port(1), port(1, { hostPort: 5 })),
    want: [`${at(1)}: overlapping port definition with ${at(0)}`],
    reason: "one of them is on the host as well",
  },
  Ambiguous: {
    spec: withPorts(port(1, { hostPort: 5 }), port(1, { hostPort: 5, hostIP: "1.2.3.4" })),
    want: [`${at(1)}: dangerously ambiguous port definition with ${at(0)}`],
    reason: "all addresses and one of them",
  },
  Apart: {
    spec: withPorts(port(1, { hostPort: 5 }), port(1, { hostPort: 6 })),
    want: [],
    reason: "two ports of the host",
  },
  Name: {
    spec: withPorts(port(1, { name: "web" }), port(2, { name: "web" })),
    want: [
      `${at(1)}: duplicate port name "web" with ${at(0)}, services and probes that select ports by name will use ${at(0)}`,
    ],
    reason: "a name means one port",
  },
  Hidden: {
    spec: withEnv({ name: "A", value: "1" }, { name: "A", value: "2" }),
    want: ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
    reason: "the first one is never seen",
  },
  Built: {
    spec: withEnv({ name: "A", value: "1" }, { name: "A", value: "$(A)2" }),
    want: [],
    reason: "the second one builds on the first",
  },
  ItsOwn: {
    spec: withEnv({ name: "A", value: "1" }, { name: "A", value: "$(A)" }),
    want: ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
    reason: "nothing is gained by repeating it",
  },
};

for (const [name, { spec, want, reason }] of Object.entries(cases)) {
  test(`what containers take from each other: ${name}`, () => {
    assert.deepEqual(warningsOf(spec), want, reason);
  });
}

test("thousands of ports are not held against thousands of others", () => {
  const same = withPorts(...Array.from({ length: 20_000 }, () => port(1)));
  const found = warningsOf(same);
  assert.ok(found.length <= 20_000 * 20, `${found.length} warnings`);
  assert.deepEqual(found.slice(0, 3), [
    `${at(1)}: duplicate port definition with ${at(0)}`,
    `${at(2)}: duplicate port definition with ${at(0)}`,
    `${at(2)}: duplicate port definition with ${at(1)}`,
  ]);
  const apart = withPorts(...Array.from({ length: 20_000 }, (_, index) => port(1, { hostPort: index + 1 })));
  assert.deepEqual(warningsOf(apart), [], "on the host they are different ones");
});
