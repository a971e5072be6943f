// SPDX-License-Identifier: Apache-2.0
// The rules of LimitRanges, and what they give to Pods and refuse. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { AdmissionPlugin, Store } from "@purlin/kube-apiserver/kinds";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { objectErrors } from "../../test/object-errors.ts";
import { limitRangeRules, limitRanger } from "./limit-ranger.ts";

const errorsOf = (...limits: JsonObject[]): string[] =>
  objectErrors(limitRangeRules, { spec: { limits } }).map(fieldErrorText);
const limit = (more: JsonObject): JsonObject => ({ type: "Container", ...more });
const pair = (low: string, high: string): JsonObject => limit({ [low]: { cpu: "2" }, [high]: { cpu: "1" } });

const rules: readonly (readonly [name: string, limit: JsonObject, want: readonly string[]])[] = [
  [
    "all in order",
    limit({
      min: { cpu: "1" },
      defaultRequest: { cpu: "2" },
      default: { cpu: "3" },
      max: { cpu: "4" },
      maxLimitRequestRatio: { cpu: "4" },
    }),
    [],
  ],
  [
    "all the same",
    limit({ min: { cpu: "1" }, defaultRequest: { cpu: "1000m" }, default: { cpu: "1" }, max: { cpu: "1" } }),
    [],
  ],
  [
    "a minimum above the maximum",
    pair("min", "max"),
    ['l.min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
  ],
  [
    "a minimum above the default request",
    pair("min", "defaultRequest"),
    ['l.defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1'],
  ],
  [
    "a default request above the maximum",
    pair("defaultRequest", "max"),
    ['l.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1'],
  ],
  [
    "a default request above the default limit",
    pair("defaultRequest", "default"),
    ['l.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1'],
  ],
  [
    "a minimum above the default",
    pair("min", "default"),
    ['l.default[cpu]: Invalid value: "2": min value 2 is greater than default value 1'],
  ],
  [
    "a default above the maximum",
    pair("default", "max"),
    ['l.default[cpu]: Invalid value: "1": default value 2 is greater than max value 1'],
  ],
  [
    "a ratio below one",
    limit({ maxLimitRequestRatio: { cpu: "500m" } }),
    ['l.maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'],
  ],
  [
    "a ratio that cannot be reached",
    limit({ min: { cpu: "1" }, max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "3" } }),
    ['l.maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000'],
  ],
  [
    "devices with two defaults",
    limit({ default: { "example.org/gpu": "2" }, defaultRequest: { "example.org/gpu": "1" } }),
    [
      'l.defaultRequest[example.org/gpu]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in example.org/gpu',
    ],
  ],
  [
    "huge pages with two defaults",
    limit({ default: { "hugepages-2Mi": "4Mi" }, defaultRequest: { "hugepages-2Mi": "2Mi" } }),
    [
      'l.defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi',
    ],
  ],
  [
    "defaults of Pods",
    { type: "Pod", default: { cpu: "1" }, defaultRequest: { cpu: "1" } },
    [
      "l.default: Forbidden: may not be specified when `type` is 'Pod'",
      "l.defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
    ],
  ],
  [
    "claims without limits",
    { type: "PersistentVolumeClaim" },
    ["l.limits: Required value: either minimum or maximum storage value is required, but neither was provided"],
  ],
  ["claims", { type: "PersistentVolumeClaim", max: { storage: "1Gi" } }, []],
  [
    "a resource that containers do not have",
    limit({ max: { storage: "1" } }),
    ['l.max[storage]: Invalid value: "storage": must be a standard resource for containers'],
  ],
  [
    "an unknown type",
    { type: "Node" },
    ['l.type: Invalid value: "Node": must be a standard limit type or fully qualified'],
  ],
  ["a type of another domain", { type: "example.org/x" }, []],
  ["an invalid type", { type: "a b" }, [`l.type: Invalid value: "a b": ${String(labelKeyProblems("a b"))}`]],
];

for (const [name, one, want] of rules) {
  test(`a LimitRange: ${name}`, () => {
    assert.deepEqual(
      errorsOf(one).map((text) => text.replace("spec.limits[0]", "l")),
      want,
    );
  });
}

test("a LimitRange has each type once", () => {
  assert.deepEqual(errorsOf(limit({}), { type: "Pod" }, limit({})), [
    'spec.limits[2].type: Duplicate value: "Container"',
  ]);
});

/** A store that has LimitRanges of one namespace, and never changes. */
function storeOf(...ranges: JsonObject[]): Store<JsonObject> {
  const entries = ranges.map((value, index) => ({ key: `//limitranges/n/r${index}`, value }));
  return {
    list: () => ({ entries, revision: 1 }),
    watch: () => ({ take: () => [], close: () => {} }),
  } as unknown as Store<JsonObject>;
}

type Attributes = Parameters<NonNullable<AdmissionPlugin["admitting"]>>[0];
const type = (resource: string) => ({ group: "", resource, kind: resource }) as unknown as Attributes["type"];
const attributes = (resource: string, object: JsonObject): Attributes =>
  ({
    object,
    namespace: "n",
    name: "x",
    type: type(resource),
    operation: "CREATE",
    subresource: "",
  }) as unknown as Attributes;
const pluginOf = (...limits: JsonObject[]): AdmissionPlugin => limitRanger(storeOf({ spec: { limits } }));

function refusal(plugin: AdmissionPlugin, resource: string, object: JsonObject): string {
  try {
    finish(plugin.validating?.(attributes(resource, object)) ?? assert.fail());
    return "";
  } catch (error) {
    return String((error as Error).message);
  }
}

const admitted = (plugin: AdmissionPlugin, resource: string, object: JsonObject): JsonObject =>
  finish(plugin.admitting?.(attributes(resource, object)) ?? assert.fail());

const pod = (...containers: JsonObject[]): JsonObject => ({ spec: { containers } });
const container = (requests: JsonObject, limits: JsonObject = {}): JsonObject => ({
  name: "c",
  resources: { requests, limits },
});

test("new Pods get the defaults that they lack, and an annotation that lists them", () => {
  const plugin = pluginOf(limit({ default: { memory: "2Gi", cpu: "1" }, defaultRequest: { cpu: "500m" } }));
  const sent = { ...pod(container({}, { cpu: "3" }), { name: "d" }), metadata: { annotations: { a: "b" } } };
  const copy = structuredClone(sent);
  assert.deepEqual(admitted(plugin, "pods", sent), {
    metadata: {
      annotations: {
        a: "b",
        "kubernetes.io/limit-ranger":
          "LimitRanger plugin set: cpu request for container c; memory limit for container c; cpu request for container d; cpu, memory limit for container d",
      },
    },
    spec: {
      containers: [
        { name: "c", resources: { requests: { cpu: "500m" }, limits: { memory: "2Gi", cpu: "3" } } },
        { name: "d", resources: { requests: { cpu: "500m" }, limits: { memory: "2Gi", cpu: "1" } } },
      ],
    },
  });
  assert.deepEqual(sent, copy);
});

test("of several ranges the first gives a default, and the annotation lists what the last one gave", () => {
  const ranges = [{ memory: "1Gi", cpu: "1" }, { cpu: "2", "ephemeral-storage": "2Gi" }, { cpu: "3" }];
  const plugin = limitRanger(
    storeOf(...ranges.map((amounts) => ({ spec: { limits: [limit({ default: amounts })] } }))),
  );
  const initContainers = [{ name: "i", resources: { limits: { cpu: "4" } } }];
  assert.deepEqual(admitted(plugin, "pods", { spec: { containers: [{ name: "c" }], initContainers } }), {
    metadata: {
      annotations: {
        "kubernetes.io/limit-ranger":
          "LimitRanger plugin set: ephemeral-storage limit for container c; ephemeral-storage limit for init container i",
      },
    },
    spec: {
      containers: [{ name: "c", resources: { limits: { memory: "1Gi", cpu: "1", "ephemeral-storage": "2Gi" } } }],
      initContainers: [{ name: "i", resources: { limits: { memory: "1Gi", cpu: "4", "ephemeral-storage": "2Gi" } } }],
    },
  });
});

/** Amounts of 4,000 devices. */
const devices: JsonObject = Object.fromEntries(
  Array.from({ length: 4_000 }, (_, index) => [`example.org/device-${index}`, "1"]),
);
const named = (count: number, limits: JsonObject = {}): JsonObject[] =>
  Array.from({ length: count }, (_, index) => ({ name: `c${index}`, resources: { limits } }));
const tooLong = 'Pod "p" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes';

test("a Pod that would get more defaults than its annotation can list is refused, and is not filled first", () => {
  const plugin = pluginOf(limit({ default: devices }));
  const refused = (metadata: JsonObject, containers: JsonObject[]): string => {
    try {
      admitted(plugin, "pods", { metadata, spec: { containers } });
      return "";
    } catch (error) {
      return String((error as Error).message);
    }
  };
  assert.equal(refused({ name: "p" }, named(2)), "");
  assert.equal(refused({ name: "p" }, named(3)), tooLong);
  assert.equal(refused({ generateName: "p-" }, named(3)), tooLong.replace('"p"', '"p-"'));
  // Filling these would take gigabytes.
  assert.equal(refused({ name: "p" }, named(100_000)), tooLong);
  assert.equal(refused({ name: "p" }, [...named(100, devices), ...named(2)]), "", "what they have is not listed");
});

test("defaults of many ranges that no Pod can get are refused when they are read", () => {
  const many = Array.from({ length: 40 }, (_, range) =>
    Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`example.org/r${range}-${index}`, "1"])),
  );
  const plugin = limitRanger(storeOf(...many.map((one) => ({ spec: { limits: [limit({ defaultRequest: one })] } }))));
  assert.throws(() => admitted(plugin, "pods", { metadata: { name: "p" }, ...pod(container({})) }), {
    message: tooLong,
  });
  const empty = { spec: {} };
  assert.equal(admitted(plugin, "pods", empty), empty);
});

test("filling and comparing many containers are done in parts", () => {
  const few = Object.fromEntries(Object.entries(devices).slice(0, 10));
  const plugin = pluginOf(limit({ default: { cpu: "1" }, max: few }));
  const object = pod(...named(2_000, few));
  for (const work of [
    plugin.admitting?.(attributes("pods", object)),
    plugin.validating?.(attributes("pods", object)),
  ]) {
    let parts = 0;
    while (!work?.next().done) parts++;
    assert.ok(parts > 10, `${parts} parts`);
  }
});

test("a Pod that lacks nothing, and other objects, stay as they are", () => {
  const plugin = pluginOf(limit({ default: { cpu: "1" } }));
  const whole = pod(container({}, { cpu: "3" }));
  assert.equal(admitted(plugin, "pods", whole), whole);
  const claim = { spec: {} };
  assert.equal(admitted(plugin, "persistentvolumeclaims", claim), claim);
});

test("the plugin handles new Pods and all writes of claims", () => {
  const plugin = pluginOf();
  const handles = (resource: string, operation: string, subresource = ""): boolean =>
    plugin.handles({ ...attributes(resource, {}), operation, subresource } as Parameters<
      AdmissionPlugin["handles"]
    >[0]);
  assert.deepEqual(
    [handles("pods", "CREATE"), handles("pods", "UPDATE"), handles("pods", "CREATE", "binding")],
    [true, false, false],
  );
  assert.deepEqual(
    [
      handles("persistentvolumeclaims", "UPDATE"),
      handles("persistentvolumeclaims", "DELETE"),
      handles("secrets", "CREATE"),
    ],
    [true, false, false],
  );
});

const bounds = limit({ min: { cpu: "1" }, max: { cpu: "4" }, maxLimitRequestRatio: { cpu: "2" } });
const demands: readonly (readonly [name: string, limit: JsonObject, object: JsonObject, want: string])[] = [
  ["within its bounds", bounds, pod(container({ cpu: "2" }, { cpu: "4" })), ""],
  [
    "no request",
    limit({ min: { cpu: "1" } }),
    pod(container({})),
    "minimum cpu usage per Container is 1.  No request is specified",
  ],
  [
    "a small request",
    limit({ min: { cpu: "1" } }),
    pod(container({ cpu: "999m" })),
    "minimum cpu usage per Container is 1, but request is 999m",
  ],
  [
    "a small limit",
    limit({ min: { cpu: "1" } }),
    pod(container({ cpu: "1" }, { cpu: "500m" })),
    "minimum cpu usage per Container is 1, but limit is 500m",
  ],
  [
    "no limit",
    limit({ max: { cpu: "1" } }),
    pod(container({ cpu: "1" })),
    "maximum cpu usage per Container is 1.  No limit is specified",
  ],
  [
    "a large limit",
    limit({ max: { cpu: "1" } }),
    pod(container({}, { cpu: "1001m" })),
    "maximum cpu usage per Container is 1, but limit is 1001m",
  ],
  [
    "a large request",
    limit({ max: { cpu: "1" } }),
    pod(container({ cpu: "2" }, { cpu: "1" })),
    "maximum cpu usage per Container is 1, but request is 2",
  ],
  [
    "a large ratio",
    limit({ maxLimitRequestRatio: { cpu: "2" } }),
    pod(container({ cpu: "1" }, { cpu: "2500m" })),
    "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000",
  ],
  [
    "a ratio without a request",
    limit({ maxLimitRequestRatio: { cpu: "2" } }),
    pod(container({}, { cpu: "1" })),
    "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
  ],
  [
    "a ratio without a limit",
    limit({ maxLimitRequestRatio: { cpu: "2" } }),
    pod(container({ cpu: "1" })),
    "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
  ],
  [
    "a whole Pod",
    { type: "Pod", max: { cpu: "3" } },
    pod(container({}, { cpu: "2" }), container({}, { cpu: "2" })),
    "maximum cpu usage per Pod is 3, but limit is 4",
  ],
  [
    "several problems",
    limit({ min: { cpu: "1", memory: "1Gi" } }),
    pod(container({})),
    "[minimum cpu usage per Container is 1.  No request is specified, minimum memory usage per Container is 1Gi.  No request is specified]",
  ],
];

for (const [name, one, object, want] of demands) {
  test(`a LimitRange looks at a Pod: ${name}`, () => {
    assert.equal(refusal(pluginOf(one), "pods", object), want === "" ? "" : `pods "x" is forbidden: ${want}`);
  });
}

test("the first 100 problems of a Pod are listed", () => {
  const problems = refusal(pluginOf(limit({ max: devices })), "pods", pod(...named(5_000))).split(", ");
  assert.equal(problems.length, 100);
  assert.match(
    problems[99] ?? "",
    /^maximum example\.org\/device-\d+ usage per Container is 1\. {2}No limit is specified\]$/,
  );
});

test("a claim is within the bounds of its LimitRange", () => {
  const plugin = pluginOf({ type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "2Gi" } });
  const claim = (requests: JsonObject): string =>
    refusal(plugin, "persistentvolumeclaims", { spec: { resources: { requests } } });
  assert.equal(claim({ storage: "2Gi" }), "");
  assert.equal(
    claim({ storage: "3Gi" }),
    'persistentvolumeclaims "x" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi',
  );
});
