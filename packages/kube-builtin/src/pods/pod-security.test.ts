// SPDX-License-Identifier: Apache-2.0
// Security contexts of Pods, what they share with the host, and operating systems. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { eachContainer, hostProcesses, operatingSystem, ownUsers, podSecurity } from "./security.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const ofPod = (spec: JsonObject): string[] => podSecurity(spec, "spec").map(fieldErrorText);
const idText = "must be between 0 and 2147483647, inclusive";
const sysctlText =
  "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const sysctls = (...names: string[]): JsonObject => ({ sysctls: names.map((name) => ({ name, value: "1" })) });

const pods: readonly Case[] = [
  ["no context", {}, []],
  [
    "ids of groups",
    { securityContext: { fsGroup: -1, supplementalGroups: [0, 2147483647, 2147483648, -5] } },
    [
      `spec.securityContext.fsGroup: Invalid value: -1: ${idText}`,
      `spec.securityContext.supplementalGroups[2]: Invalid value: 2147483648: ${idText}`,
      `spec.securityContext.supplementalGroups[3]: Invalid value: -5: ${idText}`,
    ],
  ],
  [
    "one namespace of processes for all containers and that of the host",
    { shareProcessNamespace: true, hostPID: true },
    [
      "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
    ],
  ],
  [
    "names of kernel parameters",
    { securityContext: sysctls("", "kernel.Sem", "a/b.c-d_e", "a/b.c-d_e", `${"a".repeat(254)}`) },
    [
      "spec.securityContext.sysctls[0].name: Required value",
      `spec.securityContext.sysctls[1].name: Invalid value: "kernel.Sem": ${sysctlText}`,
      'spec.securityContext.sysctls[3].name: Duplicate value: "a/b.c-d_e"',
      `spec.securityContext.sysctls[4].name: Invalid value: "${"a".repeat(254)}": ${sysctlText}`,
    ],
  ],
  ["a kernel parameter of 253 characters", { securityContext: sysctls("a".repeat(253)) }, []],
  [
    "kernel parameters of the host's network",
    { hostNetwork: true, hostIPC: true, securityContext: sysctls("net.ipv4.x", "net/ipv4/y", "netx.a", "kernel.a") },
    [
      `spec.securityContext.sysctls[0].name: Invalid value: "net.ipv4.x": may not be specified when 'hostNetwork' is true`,
      `spec.securityContext.sysctls[1].name: Invalid value: "net/ipv4/y": may not be specified when 'hostNetwork' is true`,
    ],
  ],
  [
    "kernel parameters of the host's memory",
    {
      hostIPC: true,
      securityContext: sysctls("kernel.shmmax", "kernel/msgmax", "kernel.sem", "fs.mqueue.a", "kernel.semx"),
    },
    ["kernel.shmmax", "kernel/msgmax", "kernel.sem", "fs.mqueue.a"].map(
      (name, index) =>
        `spec.securityContext.sysctls[${index}].name: Invalid value: "${name}": may not be specified when 'hostIPC' is true`,
    ),
  ],
  ["the same in namespaces of its own", { securityContext: sysctls("net.ipv4.x", "kernel.sem") }, []],
  [
    "policies",
    { securityContext: { fsGroupChangePolicy: "x", supplementalGroupsPolicy: "", seLinuxChangePolicy: "MountOption" } },
    [
      'spec.securityContext.fsGroupChangePolicy: Unsupported value: "x": supported values: "Always", "OnRootMismatch"',
      'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "": supported values: "Merge", "Strict"',
      'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"',
    ],
  ],
  [
    "profiles of the Pod",
    { securityContext: { seccompProfile: {}, appArmorProfile: {}, windowsOptions: { runAsUserName: "" } } },
    [
      "spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set",
      'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string',
      "spec.securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set",
    ],
  ],
];

for (const [name, spec, want] of pods) {
  test(`the security context of a Pod: ${name}`, () => {
    assert.deepEqual(ofPod(spec), want);
  });
}

test("containers are visited with their paths, those that run first before the others", () => {
  const spec = { containers: [{}, {}], initContainers: [{}], ephemeralContainers: [{}] };
  const paths: string[] = [];
  eachContainer(spec, "s", (_one, path) => {
    paths.push(path);
    return [];
  });
  assert.deepEqual(paths, ["s.initContainers[0]", "s.containers[0]", "s.containers[1]", "s.ephemeralContainers[0]"]);
});

const hosted = (hostProcess?: boolean): JsonObject =>
  hostProcess === undefined ? {} : { securityContext: { windowsOptions: { hostProcess } } };
const allOrNone =
  'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers';

const processes: readonly Case[] = [
  ["none", { containers: [{}, hosted(false)] }, []],
  ["all by the Pod", { ...hosted(true), hostNetwork: true, containers: [{}, hosted(true)] }, []],
  ["all by themselves", { hostNetwork: true, containers: [hosted(true)], initContainers: [hosted(true)] }, []],
  ["only some", { hostNetwork: true, containers: [hosted(true), {}] }, [allOrNone]],
  [
    "without the network of the host",
    { containers: [hosted(true)] },
    ["spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"],
  ],
  [
    "other than their Pod",
    { ...hosted(true), hostNetwork: true, containers: [hosted(false), {}] },
    [
      "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true",
      allOrNone,
    ],
  ],
];

for (const [name, spec, want] of processes) {
  test(`containers that are processes of a Windows node: ${name}`, () => {
    assert.deepEqual(hostProcesses(spec, "spec").map(fieldErrorText), want);
  });
}

test("a Pod with users of its own shares nothing with the host, and has no devices", () => {
  const shared = { hostNetwork: true, hostPID: true, hostIPC: true };
  const containers = [{ volumeDevices: [{ name: "v" }] }, { volumeDevices: [] }];
  assert.deepEqual(ownUsers({ hostUsers: false, ...shared, containers }, "spec").map(fieldErrorText), [
    "spec.hostNetwork: Forbidden: when `hostUsers` is false",
    "spec.HostPID: Forbidden: when `hostUsers` is false",
    "spec.HostIPC: Forbidden: when `hostUsers` is false",
    "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false",
  ]);
  assert.deepEqual(ownUsers({ hostUsers: true, ...shared, containers }, "spec"), []);
  assert.deepEqual(ownUsers({ ...shared, containers }, "spec"), []);
});

const windowsOf = (members: readonly string[]): string[] =>
  members.map((member) => `spec.${member}: Forbidden: cannot be set for a windows pod`);
const context = (names: readonly string[]): string[] => names.map((name) => `securityContext.${name}`);

const systems: readonly Case[] = [
  ["no system", {}, []],
  ["no name", { os: {} }, ["spec.os.name: Required value"]],
  [
    "an unknown one",
    { os: { name: "plan9" } },
    ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
  ],
  [
    "Linux without options of Windows",
    {
      os: { name: "linux" },
      securityContext: { windowsOptions: {} },
      containers: [{ securityContext: { windowsOptions: {} } }, { securityContext: { runAsUser: 1 } }],
    },
    [
      "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
      "spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
    ],
  ],
  [
    "Windows without options of Linux",
    {
      os: { name: "windows" },
      hostUsers: false,
      hostPID: true,
      hostIPC: true,
      shareProcessNamespace: false,
      securityContext: {
        appArmorProfile: {},
        seLinuxOptions: {},
        seccompProfile: {},
        fsGroup: 0,
        fsGroupChangePolicy: "Always",
        sysctls: [{ name: "a" }],
        runAsUser: 0,
        runAsGroup: 0,
        supplementalGroups: [1],
        supplementalGroupsPolicy: "Merge",
        seLinuxChangePolicy: "Recursive",
      },
    },
    windowsOf([
      ...context(["appArmorProfile", "seLinuxOptions"]),
      ...["hostUsers", "hostPID", "hostIPC"],
      ...context(["seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"]),
      "shareProcessNamespace",
      ...context(["runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"]),
    ]),
  ],
  [
    "Windows with empty fields",
    {
      os: { name: "windows" },
      hostPID: false,
      hostIPC: false,
      securityContext: { sysctls: [], supplementalGroups: [] },
    },
    [],
  ],
  [
    "containers on Windows",
    {
      os: { name: "windows" },
      containers: [
        { securityContext: { privileged: false, capabilities: {}, procMount: "Default", windowsOptions: {} } },
      ],
    },
    windowsOf(["capabilities", "privileged", "procMount"].map((name) => `containers[0].securityContext.${name}`)),
  ],
];

for (const [name, spec, want] of systems) {
  test(`the operating system of a Pod: ${name}`, () => {
    assert.deepEqual(operatingSystem(spec, "spec").map(fieldErrorText), want);
  });
}
