// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { AdmissionPlugin, ResourceType, Store } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { podAdmission, priorityClassAdmission } from "./pod-admission.ts";

type Attributes = Parameters<NonNullable<AdmissionPlugin["admit"]>>[0];

/** A store of some objects by key. */
function storeOf(objects: Readonly<Record<string, JsonObject>>): Store<JsonObject> {
  const entries = Object.entries(objects).map(([key, value]) => ({ key, value }));
  return {
    get: (key: string) => entries.find((one) => one.key === key),
    list: ({ prefix }: { prefix: string }) => ({ entries: entries.filter(({ key }) => key.startsWith(prefix)) }),
  } as unknown as Store<JsonObject>;
}

const podsType = { group: "", resource: "pods" } as ResourceType;
const podOf = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  metadata: { name: "x", namespace: "default", ...metadata },
  spec,
});

function pluginOf(name: string, objects: Readonly<Record<string, JsonObject>>): AdmissionPlugin {
  return podAdmission(storeOf(objects)).find((one) => one.name === name) ?? assert.fail(name);
}

/** The spec of a Pod after one plugin. The Pod itself does not change. */
function admitted(name: string, pod: JsonObject, objects: Readonly<Record<string, JsonObject>> = {}): JsonObject {
  const copy = structuredClone(pod);
  const plugin = pluginOf(name, objects);
  const attributes = { object: pod } as Attributes;
  const work = plugin.admitting?.(attributes);
  const result = work === undefined ? (plugin.admit?.(attributes) ?? assert.fail()) : finish(work);
  assert.deepEqual(pod, copy);
  return result["spec"] as JsonObject;
}

test("the plugins handle new Pods only", () => {
  const plugins = podAdmission(storeOf({}));
  assert.deepEqual(
    plugins.map(({ name }) => name),
    ["ServiceAccount", "DefaultTolerationSeconds", "Priority", "RuntimeClass", "PodTopologyLabels"],
  );
  for (const plugin of plugins) {
    const handles = (operation: "CREATE" | "UPDATE", type: object, subresource = ""): boolean =>
      plugin.handles({ operation, type: type as ResourceType, subresource });
    assert.equal(handles("CREATE", podsType), true);
    assert.equal(handles("UPDATE", podsType), false);
    assert.equal(handles("CREATE", podsType, "binding"), false);
    assert.equal(handles("CREATE", { group: "metrics.k8s.io", resource: "pods" }), false);
    assert.equal(handles("CREATE", { group: "", resource: "secrets" }), false);
  }
});

describe("the ServiceAccount of a Pod", () => {
  const accounts = (account: JsonObject): Record<string, JsonObject> => ({
    "//serviceaccounts/default/robot": account,
  });
  const robot = { serviceAccountName: "robot" };
  const token = "/var/run/secrets/kubernetes.io/serviceaccount";

  test("is default when none is named, also before that account exists", () => {
    const spec = admitted("ServiceAccount", podOf({ automountServiceAccountToken: false }));
    assert.deepEqual(spec, {
      automountServiceAccountToken: false,
      serviceAccountName: "default",
      serviceAccount: "default",
    });
  });

  test("must exist, with a name that can be asked for", () => {
    const refusal = (name: string, message: string): void =>
      assert.throws(() => admitted("ServiceAccount", podOf({ serviceAccountName: name })), { message, code: 403 });
    const start = 'pods "x" is forbidden: error looking up service account default/';
    refusal("robot", `${start}robot: serviceaccount "robot" not found`);
    refusal("a/b", `${start}a/b: invalid resource name "a/b": [may not contain '/']`);
    refusal("..", `${start}..: invalid resource name "..": [may not be '..']`);
    const pod = podOf(robot, { name: "", generateName: "web-" });
    assert.throws(() => admitted("ServiceAccount", pod), {
      message:
        'pods "web-" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found',
    });
  });

  test("gives its pull secrets to a Pod without any", () => {
    const account = accounts({ imagePullSecrets: [{ name: "a" }], automountServiceAccountToken: false });
    assert.deepEqual(admitted("ServiceAccount", podOf(robot), account)["imagePullSecrets"], [{ name: "a" }]);
    const own = { ...robot, imagePullSecrets: [{ name: "b" }] };
    assert.deepEqual(admitted("ServiceAccount", podOf(own), account)["imagePullSecrets"], [{ name: "b" }]);
    assert.equal("imagePullSecrets" in admitted("ServiceAccount", podOf(robot), accounts({})), false);
  });

  test("has a token in each container, unless the Pod or else the account refuses it", () => {
    const mounts = (pod: boolean | undefined, account: boolean | undefined): boolean => {
      const own = pod === undefined ? {} : { automountServiceAccountToken: pod };
      const spec = { ...robot, ...own, containers: [{ name: "c" }] };
      const objects = accounts(account === undefined ? {} : { automountServiceAccountToken: account });
      return "volumes" in admitted("ServiceAccount", podOf(spec), objects);
    };
    assert.deepEqual([mounts(undefined, undefined), mounts(undefined, true), mounts(true, false)], [true, true, true]);
    assert.deepEqual([mounts(undefined, false), mounts(false, true)], [false, false]);
  });

  test("has a volume with the token, the authority and the namespace", () => {
    const spec = admitted("ServiceAccount", podOf({ containers: [{ name: "c" }], volumes: [{ name: "v" }] }));
    const [first, volume] = spec["volumes"] as JsonObject[];
    const name = String(volume?.["name"]);
    assert.deepEqual(first, { name: "v" });
    assert.match(name, /^kube-api-access-[a-z0-9]{5}$/);
    assert.deepEqual(volume?.["projected"], {
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
      defaultMode: 420,
    });
    const mount = { name, readOnly: true, mountPath: token };
    assert.deepEqual(spec["containers"], [{ name: "c", volumeMounts: [mount] }]);
    assert.equal("initContainers" in spec, false);
  });

  test("keeps what is mounted at the place of the token", () => {
    const own = { name: "mine", mountPath: token };
    const has = { name: "a", volumeMounts: [own] };
    const pod = podOf({
      containers: [has],
      initContainers: [{ name: "i", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
    });
    const spec = admitted("ServiceAccount", pod);
    assert.deepEqual(spec["containers"], [has]);
    const [init] = spec["initContainers"] as { readonly volumeMounts: JsonObject[] }[];
    assert.deepEqual(
      init?.volumeMounts.map(({ mountPath }) => mountPath),
      ["/v", token],
    );
    assert.equal("volumes" in admitted("ServiceAccount", podOf({ containers: [has] })), false);
  });

  test("uses the volume that a copied Pod has already", () => {
    const volumes = [{ name: "kube-api-access-abcde" }, { name: "kube-api-access-fghij" }];
    const spec = admitted("ServiceAccount", podOf({ volumes, containers: [{ name: "c" }] }));
    assert.deepEqual(spec["volumes"], volumes);
    const mount = { name: "kube-api-access-abcde", readOnly: true, mountPath: token };
    assert.deepEqual(spec["containers"], [{ name: "c", volumeMounts: [mount] }]);
  });
});

describe("the tolerations of a Pod", () => {
  const seconds = (state: string): JsonObject => ({
    key: `node.kubernetes.io/${state}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 300,
  });
  const both = [seconds("not-ready"), seconds("unreachable")];
  const cases: Readonly<Record<string, readonly [JsonObject[], JsonObject[]]>> = {
    none: [[], both],
    "of another taint": [[{ key: "a", operator: "Exists" }], both],
    "of one of both": [[{ key: "node.kubernetes.io/not-ready", tolerationSeconds: 5 }], [seconds("unreachable")]],
    "of another effect": [[{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }], both],
    "of the effect, whatever the taint": [[{ operator: "Exists", effect: "NoExecute" }], []],
    "of another effect, whatever the taint": [[{ operator: "Exists", effect: "NoSchedule" }], both],
  };
  for (const [name, [own, added]] of Object.entries(cases)) {
    test(name, () => {
      const spec = own.length === 0 ? {} : { tolerations: own };
      const { tolerations = [] } = admitted("DefaultTolerationSeconds", podOf(spec));
      assert.deepEqual(tolerations, [...own, ...added]);
    });
  }
});

const classKey = (name: string): string => `/scheduling.k8s.io/priorityclasses/${name}`;
const classOf = (name: string, value: number, more: JsonObject = {}): Record<string, JsonObject> => ({
  [classKey(name)]: { metadata: { name }, value, preemptionPolicy: "PreemptLowerPriority", ...more },
});

describe("the priority of a Pod", () => {
  const high = classOf("high", 1000, { preemptionPolicy: "Never" });
  const priority = (spec: JsonObject, objects = high): JsonObject => admitted("Priority", podOf(spec), objects);
  const rule = (what: string, given: string, computed: string): string =>
    `pods "x" is forbidden: the ${what} (${given}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`;

  test("is that of its class", () => {
    const spec = { priorityClassName: "high", priority: 1000, preemptionPolicy: "Never" };
    assert.deepEqual(priority({ priorityClassName: "high" }), spec);
    assert.deepEqual(priority(spec), spec);
  });

  test("is 0 without a class and a default class", () => {
    assert.deepEqual(priority({}), { priority: 0, preemptionPolicy: "PreemptLowerPriority" });
  });

  test("is that of the default class, of several the one with the lowest value", () => {
    const isDefault = { globalDefault: true };
    const objects = {
      ...classOf("a", 20, isDefault),
      ...classOf("b", 10, isDefault),
      ...classOf("c", 30, isDefault),
      ...classOf("d", 1),
    };
    assert.deepEqual(priority({}, objects), {
      priorityClassName: "b",
      priority: 10,
      preemptionPolicy: "PreemptLowerPriority",
    });
  });

  test("must not be another than that of the class", () => {
    const refusal = (spec: JsonObject, message: string): void =>
      assert.throws(() => priority(spec), { message, code: 403 });
    refusal({ priorityClassName: "low" }, 'pods "x" is forbidden: no PriorityClass with name low was found');
    refusal({ priorityClassName: "high", priority: 999 }, rule("integer value of priority", "999", "1000"));
    refusal({ priority: 1 }, rule("integer value of priority", "1", "0"));
    const policy = "PreemptLowerPriority";
    refusal(
      { priorityClassName: "high", preemptionPolicy: policy },
      rule("string value of PreemptionPolicy", policy, "Never"),
    );
  });

  test("keeps the policy of the Pod when the class has none", () => {
    const objects = classOf("old", 5, { preemptionPolicy: "" });
    const spec = { priorityClassName: "old", preemptionPolicy: "Never" };
    assert.deepEqual(priority(spec, objects), { ...spec, priority: 5 });
  });
});

describe("the runtime class of a Pod", () => {
  const runtime = (fields: JsonObject): Record<string, JsonObject> => ({ "/node.k8s.io/runtimeclasses/kata": fields });
  const kata = { runtimeClassName: "kata" };
  const podFixed = { cpu: "100m" };
  const admit = (spec: JsonObject, fields: JsonObject = {}): JsonObject =>
    admitted("RuntimeClass", podOf(spec), runtime(fields));
  const refusal = (spec: JsonObject, fields: JsonObject, message: string): void =>
    assert.throws(() => admit(spec, fields), { message });

  test("must exist", () => {
    refusal({ runtimeClassName: "gone" }, {}, 'pods "x" is forbidden: pod rejected: RuntimeClass "gone" not found');
    refusal({ runtimeClassName: "" }, {}, "resource name may not be empty");
    refusal({ runtimeClassName: "a%b" }, {}, `invalid resource name "a%b": [may not contain '%']`);
  });

  test("gives its overhead, which the Pod may name too", () => {
    const overhead = { overhead: { podFixed } };
    assert.deepEqual(admit(kata, overhead), { ...kata, overhead: podFixed });
    assert.deepEqual(admit({ ...kata, overhead: podFixed }, overhead), { ...kata, overhead: podFixed });
    const message =
      "pods \"x\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
    refusal({ ...kata, overhead: { cpu: "1" } }, overhead, message);
    assert.deepEqual(admit({ a: 1 }), { a: 1 });
  });

  test("adds its node selector, unless the Pod has another value", () => {
    const scheduling = { nodeSelector: { a: "1", b: "2" } };
    const own = { ...kata, nodeSelector: { b: "2", c: "3" } };
    assert.deepEqual(admit(own, { scheduling })["nodeSelector"], { a: "1", b: "2", c: "3" });
    const message =
      'pods "x" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[b] = 2; pod.spec.nodeSelector[b] = 3';
    refusal({ ...kata, nodeSelector: { b: "3" } }, { scheduling }, message);
    const inherited = { nodeSelector: { constructor: "1" } };
    assert.deepEqual(admit(own, { scheduling: inherited })["nodeSelector"], { b: "2", c: "3", constructor: "1" });
  });

  const exists = (key: string, more: JsonObject = {}): JsonObject => ({ key, operator: "Exists", ...more });
  const evicted = (tolerationSeconds: number): JsonObject => exists("a", { effect: "NoExecute", tolerationSeconds });
  const stated = { key: "a", operator: "Equal", value: "1" };
  const unstated = { key: "a", value: "1" };
  const anything = { operator: "Exists" };
  // What kube-apiserver 1.36.3 stores for such Pods, without the tolerations of lost nodes.
  const merged: Record<string, readonly [own: JsonObject[], ofClass: JsonObject[], stored: JsonObject[]]> = {
    "a wider one of the class replaces": [[exists("a", { effect: "NoSchedule" })], [exists("a")], [exists("a")]],
    "a wider one of the Pod stays": [[exists("a")], [exists("a", { effect: "NoSchedule" })], [exists("a")]],
    "one without an operator covers a stated one": [[stated], [unstated], [unstated]],
    "a stated operator covers none that is not": [[unstated], [stated], [unstated]],
    "one for all keys replaces all": [[exists("a"), evicted(5)], [anything], [anything]],
    "more seconds of the class replace": [[evicted(5)], [evicted(10)], [evicted(10)]],
    "more seconds of the Pod stay": [[evicted(10)], [evicted(5)], [evicted(10)]],
    "no limit covers any": [
      [exists("a", { effect: "NoExecute" })],
      [evicted(5)],
      [exists("a", { effect: "NoExecute" })],
    ],
    "those of the Pod come once too": [[exists("a"), exists("a")], [exists("b")], [exists("a"), exists("b")]],
    "also when the class has none": [[exists("a"), exists("a", { effect: "NoSchedule" })], [], [exists("a")]],
    "others stay in their order": [
      [stated, exists("b")],
      [exists("b"), exists("c")],
      [stated, exists("b"), exists("c")],
    ],
  };
  for (const [what, [own, ofClass, stored]] of Object.entries(merged)) {
    test(`merges tolerations: ${what}`, () => {
      const scheduling = { tolerations: ofClass };
      assert.deepEqual(admit({ ...kata, tolerations: own }, { scheduling })["tolerations"], stored);
    });
  }

  test("merges thousands of tolerations in a time that grows with their number", () => {
    const own = Array.from({ length: 20_000 }, (_, i) => ({ key: "a", operator: "Equal", value: String(i) }));
    const before = process.cpuUsage();
    const spec = admit({ ...kata, tolerations: [...own, ...own] }, { scheduling: { tolerations: own } });
    const { user } = process.cpuUsage(before);
    assert.deepEqual(spec["tolerations"], own);
    // A comparison of each with all others takes many seconds.
    assert.ok(user < 2_000_000, `${user / 1000} ms of CPU`);
  });

  test("adds its tolerations, each once", () => {
    const [one, two] = [
      { key: "a", operator: "Exists" },
      { key: "b", operator: "Exists" },
    ];
    const scheduling = { tolerations: [one, two] };
    assert.deepEqual(admit({ ...kata, tolerations: [two] }, { scheduling })["tolerations"], [two, one]);
    assert.deepEqual(admit({ ...kata, tolerations: [one, two] }, { scheduling })["tolerations"], [one, two]);
    assert.equal("tolerations" in admit(kata, { scheduling: {} }), false);
  });

  test("is the only source of overhead", () => {
    const validate = (spec: JsonObject, fields: JsonObject): void =>
      pluginOf("RuntimeClass", runtime(fields)).validate?.({ object: podOf(spec) } as Attributes);
    const message =
      'pods "x" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';
    assert.throws(() => validate({ overhead: podFixed }, {}), { message });
    assert.throws(() => validate({ ...kata, overhead: podFixed }, {}), { message });
    validate({ ...kata, overhead: podFixed }, { overhead: { podFixed } });
    validate(kata, {});
  });
});

describe("a second default priority class", () => {
  const type = { group: "scheduling.k8s.io", resource: "priorityclasses" } as ResourceType;
  const plugin = priorityClassAdmission(storeOf(classOf("first", 1, { globalDefault: true })));
  const write = (operation: "CREATE" | "UPDATE", name: string, globalDefault: boolean): void =>
    finish(
      plugin.validating?.({ object: { globalDefault }, operation, type, name } as unknown as Attributes) ??
        assert.fail(),
    );
  const message =
    'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass first is already marked as default. Only one default can exist';

  test("is refused, created or updated", () => {
    assert.throws(() => write("CREATE", "second", true), { message, code: 403 });
    assert.throws(() => write("UPDATE", "second", true), { message, code: 403 });
  });

  test("classes that are not the default, and the default itself, are written", () => {
    write("CREATE", "second", false);
    write("UPDATE", "first", true);
    const handles = (operation: "CREATE" | "DELETE", resource: string, subresource = ""): boolean =>
      plugin.handles({ operation, type: { ...type, resource }, subresource } as Parameters<typeof plugin.handles>[0]);
    assert.deepEqual(
      [handles("CREATE", type.resource), handles("DELETE", type.resource), handles("CREATE", "pods")],
      [true, false, false],
    );
    assert.equal(handles("CREATE", type.resource, "status"), false);
  });
});
