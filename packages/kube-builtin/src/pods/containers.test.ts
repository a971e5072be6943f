// SPDX-License-Identifier: Apache-2.0
// The containers of Pods: resources, ports, restarts and debugging. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { containerResourceErrors } from "../checks/resource-names.ts";
import { resources } from "./container-resources.ts";
import { checkingContainers, overheadErrors, trimmedImage } from "./containers.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const labelText = String(dns1123LabelProblems("A"));
const main = (more: JsonObject = {}): JsonObject => ({ name: "c", image: "i", ...more });
const errorsOf = (spec: JsonObject): string[] => finish(checkingContainers(spec, "s", new Map())).map(fieldErrorText);
const portText = "must be between 1 and 65535, inclusive";

const mains: readonly Case[] = [
  ["a plain one", {}, []],
  ["no name and no image", { name: "", image: "" }, ["c.name: Required value", "c.image: Required value"]],
  ["an invalid name", { name: "A" }, [`c.name: Invalid value: "A": ${labelText}`]],
  [
    "unknown policies",
    { terminationMessagePolicy: "x", imagePullPolicy: "y" },
    [
      'c.terminationMessagePolicy: Unsupported value: "x": supported values: "File", "FallbackToLogsOnError"',
      'c.imagePullPolicy: Unsupported value: "y": supported values: "Always", "IfNotPresent", "Never"',
    ],
  ],
  [
    "ports",
    {
      ports: [
        { containerPort: 1, name: "a", protocol: "SCTP" },
        { containerPort: 65_535, hostPort: 1 },
      ],
    },
    [],
  ],
  ["a port without a number", { ports: [{}] }, ["c.ports[0].containerPort: Required value"]],
  [
    "invalid ports",
    { ports: [{ containerPort: 65_536, hostPort: -1, protocol: "x", name: "UPPER" }] },
    [
      'c.ports[0].name: Invalid value: "UPPER": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'c.ports[0].name: Invalid value: "UPPER": must contain at least one letter (a-z)',
      `c.ports[0].containerPort: Invalid value: 65536: ${portText}`,
      `c.ports[0].hostPort: Invalid value: -1: ${portText}`,
      'c.ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
    ],
  ],
  [
    "a name of a port twice",
    {
      ports: [
        { containerPort: 1, name: "a" },
        { containerPort: 2, name: "a" },
      ],
    },
    ['c.ports[1].name: Duplicate value: "a"'],
  ],
  [
    "a port of the host twice",
    {
      ports: [
        { containerPort: 1, hostPort: 5, protocol: "TCP" },
        { containerPort: 2, hostPort: 5, protocol: "TCP" },
        { containerPort: 3, hostPort: 5, protocol: "UDP" },
      ],
    },
    ['s.containers[0].ports[1].hostPort: Duplicate value: "TCP//5"'],
  ],
  [
    "policies of a resize",
    {
      resizePolicy: [
        { resourceName: "cpu", restartPolicy: "NotRequired" },
        { resourceName: "memory", restartPolicy: "RestartContainer" },
      ],
    },
    [],
  ],
  [
    "invalid policies of a resize",
    {
      resizePolicy: [
        { resourceName: "cpu", restartPolicy: "NotRequired" },
        { resourceName: "cpu", restartPolicy: "x" },
        {},
      ],
    },
    [
      'c.resizePolicy[1]: Duplicate value: "cpu"',
      'c.resizePolicy: Unsupported value: "x": supported values: "NotRequired", "RestartContainer"',
      "c.resizePolicy: Required value",
      "c.resizePolicy: Required value",
    ],
  ],
  ["a policy for restarts", { restartPolicy: "OnFailure" }, []],
  [
    "an unknown policy for restarts",
    { restartPolicy: "x" },
    ['c.restartPolicy: Unsupported value: "x": supported values: "Always", "Never", "OnFailure"'],
  ],
  [
    "rules for restarts",
    { restartPolicy: "Never", restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [1] } }] },
    [],
  ],
  [
    "rules without a policy",
    { restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In" } }] },
    ["c.restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
  ],
  [
    "an invalid rule",
    { restartPolicy: "Never", restartPolicyRules: [{}] },
    [
      'c.restartPolicyRules[0].action: Unsupported value: "": supported values: "Restart", "RestartAllContainers"',
      "c.restartPolicyRules[0].exitCodes: Required value: must be specified",
    ],
  ],
  [
    "a rule with many exit codes",
    {
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "x", values: Array(256).fill(1) } }],
    },
    [
      'c.restartPolicyRules[0].exitCodes.operator: Unsupported value: "x": supported values: "In", "NotIn"',
      "c.restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items",
    ],
  ],
  [
    "21 rules",
    {
      restartPolicy: "Never",
      restartPolicyRules: Array<JsonObject>(21).fill({ action: "Restart", exitCodes: { operator: "In" } }),
    },
    ["c.restartPolicyRules: Too many: 21: must have at most 20 items"],
  ],
];

for (const [name, more, want] of mains) {
  test(`a container: ${name}`, () => {
    assert.deepEqual(
      errorsOf({ containers: [main(more)] }).map((text) =>
        text.replace(/^s\.containers\[0\]\.(?!ports\[1\]\.hostPort)/, "c."),
      ),
      want,
    );
  });
}

test("a Pod has containers, and each name once in all lists", () => {
  assert.deepEqual(errorsOf({}), ["s.containers: Required value"]);
  const spec = { containers: [main(), main()], initContainers: [main()], ephemeralContainers: [main()] };
  assert.deepEqual(
    errorsOf(spec),
    ["containers[1]", "initContainers[0]", "ephemeralContainers[0]"].map((at) => `s.${at}.name: Duplicate value: "c"`),
  );
});

test("a Pod that never restarts does not restart containers for a resize", () => {
  const spec = {
    restartPolicy: "Never",
    containers: [main({ resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] })],
  };
  assert.deepEqual(errorsOf(spec), [
    "s.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
  ]);
});

test("an init container has no probes and does not restart for a resize, a sidecar may", () => {
  const more = {
    name: "i",
    readinessProbe: { exec: { command: ["a"] } },
    resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }],
  };
  const init = (extra: JsonObject): string[] =>
    errorsOf({ containers: [main()], initContainers: [main({ ...more, ...extra })] });
  assert.deepEqual(init({}), [
    "s.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
    "s.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar initContainers",
  ]);
  assert.deepEqual(init({ restartPolicy: "Always" }), []);
});

test("a container for debugging has no lifecycle and no resources of its own", () => {
  const ephemeral = (more: JsonObject): string[] =>
    errorsOf({ containers: [main()], ephemeralContainers: [main({ name: "d", ...more })] }).map((text) =>
      text.replace("s.ephemeralContainers[0]", "e"),
    );
  const forbidden = (name: string): string => `e.${name}: Forbidden: cannot be set for an Ephemeral Container`;
  assert.deepEqual(ephemeral({ targetContainerName: "c", resources: {} }), []);
  assert.deepEqual(ephemeral({ ports: [] }), [forbidden("ports")], "an empty list is one that was sent");
  assert.deepEqual(ephemeral({ targetContainerName: "x" }), ['e.targetContainerName: Not found: "x"']);
  assert.deepEqual(ephemeral({ image: "i ", livenessProbe: {}, lifecycle: {}, restartPolicy: "Always" }), [
    'e.image: Invalid value: "i ": must not have leading or trailing whitespace',
    ...["restartPolicy", "livenessProbe", "lifecycle"].map(forbidden),
  ]);
  assert.deepEqual(ephemeral({ ports: [{ containerPort: 1 }], resources: { limits: { cpu: "1" } } }), [
    forbidden("ports"),
    forbidden("resources"),
  ]);
  const mounts = [{ name: "v", mountPath: "/a", subPath: "x", subPathExpr: "y" }];
  assert.deepEqual(
    ephemeral({ volumeMounts: mounts }).filter((text) => text.includes("Forbidden")),
    [forbidden("volumeMounts[0].subPath"), forbidden("volumeMounts[0].subPathExpr")],
  );
});

const amounts: readonly Case[] = [
  ["none", {}, []],
  ["less than may be used", { requests: { cpu: "1" }, limits: { cpu: "2" } }, []],
  ["as much as may be used, in other words", { requests: { cpu: "1000m" }, limits: { cpu: "1" } }, []],
  [
    "more than may be used",
    { requests: { cpu: "2" }, limits: { cpu: "1" } },
    ['r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
  ],
  [
    "negative amounts",
    { limits: { memory: "-1" } },
    ['r.limits[memory]: Invalid value: "-1": must be greater than or equal to 0'],
  ],
  [
    "unknown resources",
    { requests: { gpu: "1" } },
    [
      'r.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
      'r.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
    ],
  ],
  ["devices", { requests: { "a.b/c": "1" }, limits: { "a.b/c": "1" } }, []],
  [
    "devices without a limit",
    { requests: { "a.b/c": "1" } },
    ["r.limits: Required value: Limit must be set for non overcommitable resources"],
  ],
  [
    "fewer devices than the limit",
    { requests: { "a.b/c": "1" }, limits: { "a.b/c": "2" } },
    ['r.requests: Invalid value: "1": must be equal to a.b/c limit of 2'],
  ],
  ["parts of devices", { limits: { "a.b/c": "500m" } }, ['r.limits[a.b/c]: Invalid value: "500m": must be an integer']],
  ["huge pages alone", { limits: { "hugepages-2Mi": "2Mi" } }, ["r: Forbidden: HugePages require cpu or memory"]],
  [
    "parts of huge pages",
    { limits: { cpu: "1", "hugepages-2Mi": "3Mi" } },
    ['r.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi'],
  ],
];

for (const [name, own, want] of amounts) {
  test(`the resources of a container: ${name}`, () => {
    const errors = resources(containerResourceErrors, [])({ resources: own }, "c");
    assert.deepEqual(
      errors.map((error) => fieldErrorText(error).replace("c.resources", "r")),
      want,
    );
  });
}

test("a container uses claims of its Pod, each part once", () => {
  const claims = (known: readonly string[], ...list: JsonObject[]): string[] =>
    resources(containerResourceErrors, known)({ resources: { claims: list } }, "c").map((error) =>
      fieldErrorText(error).replace("c.resources.claims", "k"),
    );
  assert.deepEqual(claims(["a", "b"], { name: "a" }, { name: "b", request: "x" }, { name: "b", request: "y" }), []);
  assert.deepEqual(claims([], { name: "a" }), [
    'k[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty',
  ]);
  assert.deepEqual(claims(["b", "a"], { name: "c" }, {}), [
    'k[0]: Not found: "c": must be one of the names in pod.spec.resourceClaims: a, b',
    "k[1]: Required value",
  ]);
  assert.deepEqual(claims(["a"], { name: "a" }, { name: "a" }, { name: "a", request: "x" }), [
    'k[1]: Duplicate value: "a"',
    'k[2]: Duplicate value: "a"',
  ]);
  assert.deepEqual(claims(["a"], { name: "a", request: "x" }, { name: "a", request: "x" }, { name: "a" }), [
    'k[1]: Duplicate value: "a/x"',
    'k[2]: Duplicate value: "a"',
  ]);
  assert.deepEqual(claims(["a"], { name: "a", request: "X" }), [`k[0].request: Invalid value: "X": ${labelText}`]);
});

test("images have no space around them, and overhead is checked as limits are", () => {
  assert.deepEqual(trimmedImage({ image: "i" }, "c"), []);
  assert.deepEqual(trimmedImage({ image: "\ti" }, "c").map(fieldErrorText), [
    'c.image: Invalid value: "\\ti": must not have leading or trailing whitespace',
  ]);
  assert.deepEqual(overheadErrors({ cpu: "1" }, "o"), []);
  assert.deepEqual(overheadErrors({ cpu: "-1" }, "o").map(fieldErrorText), [
    'o.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ]);
});

test("the amounts of a container that has very many of them are checked in parts", () => {
  const amounts = Object.fromEntries(Array.from({ length: 45_000 }, (_, index) => [`example.org/d${index}`, "1"]));
  const partsOf = (requests: JsonObject): [parts: number, errors: number] => {
    const work = checkingContainers(
      { containers: [main({ resources: { limits: amounts, requests } })] },
      "s",
      new Map(),
    );
    for (let parts = 0; ; parts++) {
      const { done, value } = work.next();
      if (done) return [parts, value.length];
    }
  };
  const [parts, errors] = partsOf(amounts);
  assert.ok(parts > 300, `${parts} parts`);
  assert.equal(errors, 0);
  assert.equal(partsOf(Object.fromEntries(Object.keys(amounts).map((name) => [name, "2"])))[1], 100);
});
