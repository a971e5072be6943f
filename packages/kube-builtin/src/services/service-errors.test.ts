// SPDX-License-Identifier: Apache-2.0
// The specs of Services. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems, labelKeyProblems } from "@purlin/kube-objects/metadata";
import { clusterAddressErrors, serviceErrors } from "./service-errors.ts";

type Case = readonly [name: string, spec: JsonObject, want: readonly string[]];

const keyText = String(labelKeyProblems("a b"));
const portText = "must be between 1 and 65535, inclusive";
const port = (more: JsonObject = {}): JsonObject => ({ port: 80, protocol: "TCP", targetPort: 80, ...more });
const base = { type: "ClusterIP", sessionAffinity: "None", ports: [port()] };
const errorsOf = (spec: JsonObject): string[] => serviceErrors({ spec: { ...base, ...spec } }).map(fieldErrorText);
const balancer = (more: JsonObject): JsonObject => ({ type: "LoadBalancer", ...more });
const named = (...ports: JsonObject[]): JsonObject => ({
  ports: ports.map((one, index) => port({ name: `p${index}`, port: index + 1, ...one })),
});
const shown = (number: number): string =>
  `{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":${number},"TargetPort":0,"NodePort":0}`;

const specs: readonly Case[] = [
  ["a plain one", {}, []],
  [
    "an unknown type",
    { type: "x" },
    ['spec.type: Unsupported value: "x": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'],
  ],
  ["no ports", { ports: [] }, ["spec.ports: Required value"]],
  ["no ports without an address", { ports: [], clusterIP: "None" }, []],
  [
    "a balancer without an address",
    balancer({ clusterIPs: ["None"] }),
    ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer services"],
  ],
  ["a name outside", { type: "ExternalName", externalName: "a.example.org.", ports: [] }, []],
  [
    "no name outside",
    { type: "ExternalName", ports: [], clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
    [
      ...["clusterIPs", "ipFamilies", "ipFamilyPolicy"].map(
        (name) => `spec.${name}: Forbidden: may not be set for ExternalName services`,
      ),
      "spec.externalName: Required value",
    ],
  ],
  [
    "an invalid name outside",
    { type: "ExternalName", ports: [], externalName: "A" },
    [`spec.externalName: Invalid value: "A": ${String(dns1123SubdomainProblems("A"))}`],
  ],
  ["an invalid selector", { selector: { "a b": "c" } }, [`spec.selector: Invalid value: "a b": ${keyText}`]],
  [
    "an unknown affinity",
    { sessionAffinity: "x" },
    ['spec.sessionAffinity: Unsupported value: "x": supported values: "ClientIP", "None"'],
  ],
  ...[
    [1, true],
    [86_400, true],
    [0, false],
    [86_401, false],
  ].map(
    ([seconds, isValid]): Case => [
      `an affinity for ${String(seconds)} seconds`,
      { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: Number(seconds) } } },
      isValid
        ? []
        : [
            `spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: ${String(seconds)}: must be greater than 0 and less than 86400`,
          ],
    ],
  ),
  [
    "addresses outside",
    { externalIPs: ["1.2.3.4", "127.0.0.1", "x"] },
    [
      'spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      'spec.externalIPs[2]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  ],
  [
    "ranges of a balancer",
    balancer({ loadBalancerSourceRanges: [" 10.0.0.0/8 ", "x"] }),
    [
      'spec.LoadBalancerSourceRanges[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  ],
  [
    "members of a balancer",
    { loadBalancerSourceRanges: ["10.0.0.0/8"], allocateLoadBalancerNodePorts: false, loadBalancerClass: "c" },
    [
      "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
      "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
      "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
  ],
  [
    "an invalid class",
    balancer({ loadBalancerClass: "a b" }),
    [`spec.loadBalancerClass: Invalid value: "a b": ${keyText}`],
  ],
  [
    "an unknown distribution",
    { trafficDistribution: "x" },
    [
      'spec.trafficDistribution: Unsupported value: "x": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ],
  ],
  [
    "a policy for traffic that cannot come",
    { externalTrafficPolicy: "Local" },
    ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
  ],
  ["a policy for addresses outside", { externalTrafficPolicy: "Local", externalIPs: ["1.2.3.4"] }, []],
  [
    "an unknown policy",
    balancer({ externalTrafficPolicy: "x", internalTrafficPolicy: "y" }),
    [
      'spec.externalTrafficPolicy: Unsupported value: "x": supported values: "Cluster", "Local"',
      'spec.internalTrafficPolicy: Unsupported value: "y": supported values: "Cluster", "Local"',
    ],
  ],
  ["a port for health", balancer({ externalTrafficPolicy: "Local", healthCheckNodePort: 30_000 }), []],
  [
    "a port for health out of range",
    balancer({ externalTrafficPolicy: "Local", healthCheckNodePort: 65_536 }),
    [`spec.healthCheckNodePort: Invalid value: 65536: ${portText}`],
  ],
  [
    "a port for health of another Service",
    { healthCheckNodePort: 30_000 },
    [
      "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ],
  ],
  ["one port without a name", { ports: [port()] }, []],
  [
    "two ports without names",
    { ports: [port(), port({ port: 81 })] },
    ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
  ],
  [
    "names of ports",
    named({ name: "a" }, { name: "a" }, { name: "A" }),
    [
      'spec.ports[1].name: Duplicate value: "a"',
      `spec.ports[2].name: Invalid value: "A": ${String(dns1123LabelProblems("A"))}`,
    ],
  ],
  [
    "an invalid port",
    { ports: [port({ port: 0, protocol: "x", targetPort: "A", appProtocol: "a b" })] },
    [
      `spec.ports[0].port: Invalid value: 0: ${portText}`,
      'spec.ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
      'spec.ports[0].targetPort: Invalid value: "A": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'spec.ports[0].targetPort: Invalid value: "A": must contain at least one letter (a-z)',
      `spec.ports[0].appProtocol: Invalid value: "a b": ${keyText}`,
    ],
  ],
  [
    "a port of nodes",
    { ports: [port({ nodePort: 30_000 })] },
    ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  ],
  [
    "a port of nodes twice",
    { type: "NodePort", ...named({ nodePort: 30_000 }, { nodePort: 30_000 }) },
    ["spec.ports[1].nodePort: Duplicate value: 30000"],
  ],
  [
    "a port of nodes for two protocols",
    { type: "NodePort", ...named({ nodePort: 30_000 }, { nodePort: 30_000, protocol: "UDP" }) },
    [],
  ],
  ["a number twice", named({ port: 80 }, { port: 80 }), [`spec.ports[1]: Duplicate value: ${shown(80)}`]],
  ["a number for two protocols", named({ port: 80 }, { port: 80, protocol: "UDP" }), []],
];

for (const [name, spec, want] of specs) {
  test(`a Service: ${name}`, () => {
    assert.deepEqual(errorsOf(spec), want);
  });
}

const one = "10.0.0.1";
const invalid = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const v6 = "fd00::1";

const addresses: readonly Case[] = [
  ["none", {}, []],
  ["one", { clusterIP: one, clusterIPs: [one], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" }, []],
  ["none wanted", { clusterIP: "None", clusterIPs: ["None"], ipFamilies: ["IPv4"] }, []],
  ["a name outside is not looked at", { type: "ExternalName", clusterIPs: ["x"] }, []],
  ["no list", { clusterIP: one }, ["spec.clusterIPs: Required value"]],
  [
    "another list",
    { clusterIP: one, clusterIPs: ["10.0.0.2"] },
    ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`'],
  ],
  [
    "only a list",
    { clusterIPs: [one] },
    [`spec.clusterIPs: Invalid value: ["${one}"]: must be empty when \`clusterIP\` is not specified`],
  ],
  ["an invalid one", { clusterIP: "x", clusterIPs: ["x"] }, [`spec.clusterIPs[0]: Invalid value: "x": ${invalid}`]],
  [
    "none wanted beside one",
    { clusterIP: "None", clusterIPs: ["None", one] },
    [`spec.clusterIPs: Invalid value: ["None","${one}"]: 'None' must be the first and only value`],
  ],
  [
    "three",
    { clusterIP: one, clusterIPs: [one, v6, "10.0.0.2"], ipFamilyPolicy: "PreferDualStack" },
    [`spec.clusterIPs: Invalid value: ["${one}","${v6}","10.0.0.2"]: may only hold up to 2 values`],
  ],
  [
    "two of one family",
    { clusterIP: one, clusterIPs: [one, "10.0.0.2"] },
    [`spec.clusterIPs: Invalid value: ["${one}","10.0.0.2"]: may specify no more than one IP for each IP family`],
  ],
  [
    "another family than wanted",
    { clusterIP: one, clusterIPs: [one], ipFamilies: ["IPv6"] },
    [`spec.clusterIPs[0]: Invalid value: "${one}": expected an IPv6 value as indicated by \`ipFamilies[0]\``],
  ],
  [
    "invalid families",
    { ipFamilies: ["x", "IPv4", "IPv4"] },
    [
      'spec.ipFamilies[0]: Unsupported value: "x": supported values: "IPv4", "IPv6"',
      'spec.ipFamilies[2]: Duplicate value: "IPv4"',
    ],
  ],
  [
    "an unknown policy",
    { ipFamilyPolicy: "x" },
    [
      'spec.ipFamilyPolicy: Unsupported value: "x": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    ],
  ],
  [
    "one family for two addresses",
    { clusterIP: one, clusterIPs: [one, v6], ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "SingleStack" },
    [
      "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified",
      "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
    ],
  ],
  [
    "an address of the family that is not there",
    { clusterIP: v6, clusterIPs: [v6] },
    [`spec.clusterIPs[0]: Invalid value: ["${v6}"]: IPv6 is not configured on this cluster`],
  ],
  [
    "both families required",
    { ipFamilyPolicy: "RequireDualStack" },
    ['spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services'],
  ],
  ["both families preferred", { ipFamilyPolicy: "PreferDualStack" }, []],
  [
    "the family that is not there",
    { ipFamilies: ["IPv6"] },
    ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
  ],
  [
    "both families without an address and a selector",
    { clusterIP: "None", clusterIPs: ["None"], ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" },
    [],
  ],
];

for (const [name, spec, want] of addresses) {
  test(`the addresses of a Service: ${name}`, () => {
    assert.deepEqual(clusterAddressErrors(spec).map(fieldErrorText), want);
  });
}

test("an invalid address that the Service had can stay", () => {
  const spec = { clusterIP: "010.0.0.1", clusterIPs: ["010.0.0.1"] };
  assert.equal(clusterAddressErrors(spec).length, 1);
  assert.deepEqual(clusterAddressErrors(spec, spec), []);
});
