// SPDX-License-Identifier: Apache-2.0
// The specs of Pods and of templates, apart from their containers and volumes. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems, labelKeyProblems } from "@purlin/kube-objects/metadata";
import { checkingPodSpec } from "./pod-spec.ts";

type Case = readonly [name: string, spec: JsonObject, want: readonly string[]];

const [labelText, subdomainText] = [String(dns1123LabelProblems("A")), String(dns1123SubdomainProblems("A"))];
const keyText = String(labelKeyProblems("a b"));
const addressText = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const base = { restartPolicy: "Always", dnsPolicy: "ClusterFirst", containers: [{ name: "c", image: "i" }] };
const errorsOf = (spec: JsonObject, podName?: string): string[] =>
  finish(checkingPodSpec({ ...base, ...spec }, "s", podName)).map(fieldErrorText);
const dns = (dnsConfig: JsonObject, dnsPolicy = "ClusterFirst"): JsonObject => ({ dnsPolicy, dnsConfig });
const searches = (...list: string[]): JsonObject => dns({ searches: list });
const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `d${index}.org`);

const specs: readonly Case[] = [
  ["a plain one", {}, []],
  [
    "unknown policies",
    { restartPolicy: "x", dnsPolicy: "y" },
    [
      's.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"',
      's.dnsPolicy: Unsupported value: "y": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ],
  ],
  ["labels of nodes", { nodeSelector: { "a b": "c" } }, [`s.nodeSelector: Invalid value: "a b": ${keyText}`]],
  [
    "names",
    {
      serviceAccountName: "A",
      nodeName: "A",
      hostname: "A",
      subdomain: "A",
      priorityClassName: "A",
      runtimeClassName: "A",
    },
    [
      `s.serviceAccountName: Invalid value: "A": ${subdomainText}`,
      `s.nodeName: Invalid value: "A": ${subdomainText}`,
      `s.hostname: Invalid value: "A": ${labelText}`,
      `s.subdomain: Invalid value: "A": ${labelText}`,
      `s.priorityClassName: Invalid value: "A": ${subdomainText}`,
      `s.runtimeClassName: Invalid value: "A": ${subdomainText}`,
    ],
  ],
  [
    "an empty name of a runtime class",
    { runtimeClassName: "" },
    [`s.runtimeClassName: Invalid value: "": ${String(dns1123SubdomainProblems(""))}`],
  ],
  ["the shortest and the longest deadline", { activeDeadlineSeconds: 2_147_483_647 }, []],
  [
    "no deadline at all",
    { activeDeadlineSeconds: 0 },
    ["s.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
  ],
  [
    "gates of readiness",
    { readinessGates: [{ conditionType: "a.b/C" }, { conditionType: "a b" }] },
    [`s.readinessGates[1].conditionType: Invalid value: "a b": ${keyText}`],
  ],
  [
    "names of hosts",
    { hostAliases: [{ ip: "x", hostnames: ["a", "B"] }] },
    [
      `s.hostAliases[0].ip: Invalid value: "x": ${addressText}`,
      `s.hostAliases[0].hostnames[1]: Invalid value: "B": ${subdomainText}`,
    ],
  ],
  ["no policy for preemption", { preemptionPolicy: "" }, ["s.preemptionPolicy: Required value"]],
  [
    "an unknown policy for preemption",
    { preemptionPolicy: "x" },
    ['s.preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"'],
  ],
  [
    "overhead",
    { overhead: { cpu: "-1" } },
    ['s.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
  ],
  ["a name in the place of the hostname", { hostnameOverride: "a.b" }, []],
  [
    "an invalid name in the place of the hostname",
    { hostnameOverride: "A".repeat(65), hostNetwork: true, setHostnameAsFQDN: true },
    [
      "s.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
      "s.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
      "s.hostnameOverride: Too long: may not be more than 64 bytes",
      `s.hostnameOverride: Invalid value: "${"A".repeat(65)}": ${subdomainText}`,
    ],
  ],
  [
    "DNS of its own",
    dns(
      {
        nameservers: ["10.0.0.1", "fd00::1", "1.1.1.1"],
        searches: ["a.org.", ".", "_x.org"],
        options: [{ name: "ndots" }],
      },
      "None",
    ),
    [],
  ],
  [
    "no DNS of its own",
    { dnsPolicy: "None" },
    ["s.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
  ],
  [
    "DNS of its own without a server",
    dns({}, "None"),
    ["s.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"],
  ],
  [
    "four servers",
    dns({ nameservers: ["1.1.1.1", "1.1.1.2", "1.1.1.3", "x"] }),
    [
      's.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","x"]: must not have more than 3 nameservers',
      `s.dnsConfig.nameservers[3]: Invalid value: "x": ${addressText}`,
    ],
  ],
  ["32 domains", searches(...many(32)), []],
  [
    "33 domains",
    searches(...many(33)),
    [`s.dnsConfig.searches: Invalid value: ${JSON.stringify(many(33))}: must not have more than 32 search paths`],
  ],
  [
    "an option without a name",
    dns({ options: [{ value: "1" }] }),
    ["s.dnsConfig.options[0]: Required value: must not be empty"],
  ],
  ["resources of the whole Pod", { resources: { requests: { cpu: "1" }, limits: { cpu: "2", memory: "1Gi" } } }, []],
  [
    "invalid resources of the whole Pod",
    { resources: { claims: [], requests: { "a.b/c": "1" } } },
    [
      "s.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
      's.resources.requests[a.b/c]: Unsupported value: "a.b/c": supported values: "cpu", "hugepages-", "memory"',
      "s.resources.limits: Required value: Limit must be set for non overcommitable resources",
    ],
  ],
  [
    "resources of a whole Pod on Windows",
    { os: { name: "windows" }, resources: {} },
    ["s.resources: Forbidden: may not be set for a windows pod"],
  ],
];

for (const [name, spec, want] of specs) {
  test(`the spec of a Pod: ${name}`, () => {
    assert.deepEqual(errorsOf(spec, "p"), want);
    assert.deepEqual(errorsOf(spec), want, "a template has the same rules");
  });
}

test("each list has at most 4,096 containers; the other rules are not checked for more", () => {
  const containers = (length: number): JsonObject[] =>
    Array.from({ length }, (_, index) => ({ name: `c${index}`, image: "i" }));
  assert.deepEqual(errorsOf({ containers: containers(4096) }), []);
  const spec = { dnsPolicy: "y", containers: containers(4097), initContainers: containers(5000) };
  assert.deepEqual(errorsOf(spec), [
    "s.containers: Too many: 4097: must have at most 4096 items",
    "s.initContainers: Too many: 5000: must have at most 4096 items",
  ]);
});

test("amounts of the whole Pod are compared with those of containers of the same name only", () => {
  const spec = (own: JsonObject, ofContainer: JsonObject): string[] =>
    errorsOf({ resources: own, containers: [{ name: "c", image: "i", resources: ofContainer }] });
  assert.deepEqual(spec({ limits: { cpu: "1" } }, { limits: { cpu: "2" } }), [
    's.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
  ]);
  assert.deepEqual(spec({ requests: { cpu: "1" } }, { requests: { cpu: "2" } }), [
    's.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
  ]);
  const strange = { constructor: "1" };
  for (const member of ["limits", "requests"]) {
    const text = `s.containers[0].resources.${member}[constructor]`;
    const errors = spec({ [member]: { cpu: "1" } }, { [member]: strange });
    assert.ok(errors.length > 0 && errors.every((error) => error.startsWith(text)), String(errors));
  }
  const two = ["a", "b"].map((name) => ({ name, image: "i", resources: { requests: strange } }));
  const unknown = errorsOf({ resources: { requests: { cpu: "1" } }, containers: [...two, { name: "c", image: "i" }] });
  assert.equal(unknown.length, 4, String(unknown));
});

test("search domains have 2048 characters together, with the spaces between them", () => {
  const domain = (length: number): string =>
    `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(length - 183)}`;
  const exact = [...Array<string>(8).fill(domain(240)), domain(240).slice(0, 2048 - 8 * 241)];
  assert.deepEqual(errorsOf(searches(...exact)), []);
  const [error] = errorsOf(searches(...exact.slice(0, 8), `${exact[8]}x`));
  assert.ok(
    error?.endsWith(": must not have more than 2048 characters (including spaces) in the search list"),
    String(error),
  );
});

test("ports of a Pod on the network of its host are those of the host; a template may leave them out", () => {
  const spec = (port: JsonObject): JsonObject => ({
    hostNetwork: true,
    containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, ...port }] }],
  });
  const why = "must match `containerPort` when `hostNetwork` is true";
  assert.deepEqual(errorsOf(spec({ hostPort: 80 }), "p"), []);
  assert.deepEqual(errorsOf(spec({ hostPort: 81 })), [`s.containers[0].ports[0].hostPort: Invalid value: 81: ${why}`]);
  assert.deepEqual(errorsOf(spec({}), "p"), [`s.containers[0].ports[0].hostPort: Invalid value: 0: ${why}`]);
  assert.deepEqual(errorsOf(spec({})), []);
});

test("variables come from files of volumes that start empty", () => {
  const variable = (volumeName: string): JsonObject => ({
    name: "V",
    valueFrom: { fileKeyRef: { key: "K", volumeName, path: "f" } },
  });
  const spec = (volumeName: string): string[] =>
    errorsOf({
      volumes: [
        { name: "e", emptyDir: {} },
        { name: "h", hostPath: { path: "/a" } },
      ],
      containers: [{ name: "c", image: "i", env: [variable(volumeName)] }],
    });
  const at = "s.containers[0].env[0].valueFrom.fileKeyRef.volumeName";
  assert.deepEqual(spec("e"), []);
  assert.deepEqual(spec("h"), [`${at}: Invalid value: "h": referenced volume must be of type emptyDir`]);
  assert.deepEqual(spec("x"), [`${at}: Not found: "x"`]);
});

test("errors are in the order of the reference: volumes, claims, containers, then the rest", () => {
  const errors = errorsOf({
    hostname: "A",
    containers: [],
    resourceClaims: [{}],
    volumes: [{ name: "v" }],
    dnsPolicy: "x",
  });
  assert.deepEqual(
    errors.map((text) => text.split(":")[0]),
    ["s.volumes[0]", "s.resourceClaims[0].name", "s.resourceClaims[0]", "s.containers", "s.dnsPolicy", "s.hostname"],
  );
});

test("a container names the claims of its Pod, once each", () => {
  const of = (...claims: JsonObject[]): string[] =>
    errorsOf({
      containers: [{ name: "c", image: "i", resources: { claims: [{ name: "d" }] } }],
      resourceClaims: claims.map((claim) => ({ resourceClaimName: "x", ...claim })),
    }).filter((text) => text.includes("Not found"));
  const text =
    's.containers[0].resources.claims[0]: Not found: "d": must be one of the names in pod.spec.resourceClaims';
  assert.deepEqual(of({}), [`${text} which is empty`]);
  assert.deepEqual(of({ name: "b" }, {}, { name: "b" }), [`${text}: b`]);
});

test("an init container without a name is not a duplicate of another one", () => {
  const unnamed = { image: "i" };
  const doubled = (spec: JsonObject): string[] => errorsOf(spec).filter((text) => text.includes("Duplicate"));
  assert.deepEqual(doubled({ initContainers: [unnamed, unnamed] }), []);
  assert.deepEqual(doubled({ containers: [unnamed, unnamed], initContainers: [unnamed] }), [
    's.containers[1].name: Duplicate value: ""',
    's.initContainers[0].name: Duplicate value: ""',
  ]);
});
