// SPDX-License-Identifier: Apache-2.0
// Verdicts, the order of causes, and which objects are explained on their own.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  app,
  appDefinition,
  type ConditionRow,
  made,
  memoryClient,
  now,
  secondsAgo,
  withConditions,
} from "../test/memory-inspection.ts";
import { explainAll, explainObject } from "./explain.ts";
import type { Explanation } from "./model/explanation.ts";

const synced: ConditionRow = ["Synced", "True", "ReconcileSuccess"];
const ready = (age = 60): ConditionRow => ["Ready", "True", "Available", undefined, age];
const creating = (age = 60): ConditionRow => ["Ready", "False", "Creating", undefined, age];
const failed = (message: string, age = 60): ConditionRow => ["Synced", "False", "ReconcileError", message, age];
const bucket = (name: string, rows: readonly ConditionRow[]): KubeObject =>
  withConditions(made("s3.example.org/v1/Bucket", `default/${name}`), rows);
const refTo = ({ apiVersion, kind, metadata }: KubeObject): JsonObject => ({
  apiVersion,
  kind,
  name: metadata.name ?? "",
});
const composing = (name: string, rows: readonly ConditionRow[], ...children: readonly KubeObject[]): KubeObject =>
  withConditions(app(name, { crossplane: { resourceRefs: children.map(refTo) } }), rows);

const options = (objects: readonly KubeObject[]) => ({
  client: memoryClient([appDefinition, ...objects]),
  now: () => now,
});
const explain = (object: KubeObject, ...others: readonly KubeObject[]): Promise<Explanation> =>
  explainObject(object, options([object, ...others]));

describe("the verdict", () => {
  test("healthy, with an empty explanation", async () => {
    assert.deepEqual(await explain(composing("web", [synced, ready()])), {
      apiVersion: "explain.purlin.dev/v1alpha1",
      kind: "Explanation",
      object: { apiVersion: "example.org/v1", kind: "App", name: "web", namespace: "default" },
      verdict: "healthy",
      causes: [],
      waiting: [],
      unknown: [],
      notes: [],
      notRead: [],
    });
  });

  test("any other object without findings is healthy", async () => {
    assert.equal((await explain(made("v1/ConfigMap", "default/a"))).verdict, "healthy");
  });

  test("broken if there is a cause, whatever else is unknown", async () => {
    const bad = bucket("files", [failed("no quota")]);
    const { verdict, causes, unknown } = await explain(composing("web", [failed("odd")], bad), bad);
    assert.deepEqual([verdict, causes.length, unknown.length], ["broken", 1, 1]);
  });

  test("unknown if a condition is not recognized", async () => {
    assert.equal((await explain(composing("web", [failed("odd")]))).verdict, "unknown");
  });

  for (const [age, verdict] of [
    [299, "waiting"],
    [300, "unknown"],
  ] as const) {
    test(`${verdict} ${age} seconds after it became unready, if none of its kind is ready`, async () => {
      assert.equal((await explain(composing("web", [synced, creating(age)]))).verdict, verdict);
    });
  }

  test("patience is three times the usual duration of the kind", async () => {
    const became = (name: string, seconds: number): KubeObject =>
      withConditions(app(name, {}, { creationTimestamp: secondsAgo(1000) }), [synced, ready(1000 - seconds)]);
    const others = [became("a", 5), became("b", 20), became("c", 900)];
    const verdict = async (age: number): Promise<string> =>
      (await explain(composing("web", [synced, creating(age)]), ...others)).verdict;
    assert.deepEqual([await verdict(59), await verdict(60)], ["waiting", "unknown"]);
  });

  test("an edit long after the creation does not count as the time to become ready", async () => {
    const written = (manager: string, age: number) => ({ manager, time: secondsAgo(age), fieldsV1: { "f:spec": {} } });
    const edited = (name: string): KubeObject => {
      const managedFields = [written("kubectl", 20), written("apiextensions.crossplane.io/composite", 1)];
      const metadata = { creationTimestamp: secondsAgo(90_000), managedFields };
      return withConditions(app(name, {}, metadata), [synced, ready(10)]);
    };
    const verdict = async (age: number): Promise<string> =>
      (await explain(composing("web", [synced, creating(age)]), edited("a"), edited("b"))).verdict;
    assert.deepEqual([await verdict(29), await verdict(30)], ["waiting", "unknown"]);
  });

  test("the deadline is at least 30 seconds", async () => {
    const quick = withConditions(app("quick", {}, { creationTimestamp: secondsAgo(100) }), [synced, ready(99)]);
    const verdict = async (age: number): Promise<string> =>
      (await explain(composing("web", [synced, creating(age)]), quick)).verdict;
    assert.deepEqual([await verdict(29), await verdict(30)], ["waiting", "unknown"]);
  });

  test("what became unready just now may still become ready, however old the object is", async () => {
    const young = bucket("files", [["Ready", "False", "Creating", "", 5]]);
    assert.equal((await explain(composing("web", [synced, creating(3000)], young), young)).verdict, "waiting");
  });
});

describe("causes", () => {
  const codes = ({ causes }: Explanation): string[] => causes.map(({ code, object }) => `${code} ${object.name}`);

  test("the oldest comes first, then the order of names; one without a time is last", async () => {
    const children = [
      bucket("c", [failed("x", 10)]),
      bucket("b", [failed("x", 90)]),
      bucket("a", [failed("x", 10)]),
      withConditions(made("s3.example.org/v1/Bucket", "default/d"), [["Synced", "False", "E"]]),
    ];
    const timeless = {
      ...(children[3] ?? assert.fail()),
      status: { conditions: [{ type: "Synced", status: "False", reason: "E" }] },
    };
    const all = [...children.slice(0, 3), timeless];
    assert.deepEqual(codes(await explain(composing("web", [synced, creating()], ...all), ...all)), [
      "E49 b",
      "E49 a",
      "E49 c",
      "E49 d",
    ]);
  });

  test("the failure of the object itself comes before older failures below", async () => {
    const below = bucket("a", [failed("x", 9000)]);
    const text = 'pipeline step "render" returned a fatal result: no port';
    assert.deepEqual(codes(await explain(composing("web", [failed(text, 1)], below), below)), ["E29 web", "E49 a"]);
  });

  test("of equally old causes the one that more paths lead to comes first", async () => {
    const [shared, single] = [bucket("z", [failed("x")]), bucket("a", [failed("x")])];
    const one = composing("one", [synced, creating()], shared, single);
    const two = composing("two", [synced, creating()], shared);
    const root = composing("root", [synced, creating()], one, two);
    const explanation = await explain(root, one, two, shared, single);
    assert.deepEqual(codes(explanation), ["E49 z", "E49 a"]);
    assert.deepEqual(explanation.causes[0]?.effects, ["App default/root", "App default/one", "Bucket default/z"]);
  });

  test("a finding whose root cause is elsewhere is not a cause itself", async () => {
    const fn = withConditions(made("pkg.crossplane.io/v1/Function", "fn", { spec: { package: "r/fn:v1" } }), [
      ["Installed", "False", "UnpackingPackage", "cannot unpack package: 404"],
    ]);
    const text =
      'cannot run Composition pipeline step "render": cannot run Function "fn": rpc error: code = Unavailable desc = connect ECONNREFUSED';
    const explanation = await explain(composing("web", [failed(text)]), fn);
    assert.deepEqual(codes(explanation), ["E17 fn"]);
    assert.deepEqual(explanation.causes[0]?.effects, ["App default/web", 'step "render"', "Function fn"]);
    assert.deepEqual(codes(await explain(composing("web", [failed(text)]))), ["E24 web"]);
  });

  test("an object whose first reconcile runs is waiting while it is young, whether its status is there or not", async () => {
    const started = (age: number): KubeObject =>
      app("web", {}, { creationTimestamp: secondsAgo(age), finalizers: ["f"] });
    assert.equal((await explain(started(20))).verdict, "waiting");
    assert.equal((await explain(started(3600))).verdict, "unknown");
  });

  test("a finding that only leads to others is waiting if they are fine", async () => {
    const text = 'pipeline step "render": Function "fn": active FunctionRevision "fn-1" has an empty status.endpoint';
    const { causes, waiting } = await explain(composing("web", [failed(text)]));
    assert.deepEqual(causes, []);
    assert.deepEqual(
      waiting.map(({ text: one, effects }) => [one, effects]),
      [['Function fn of step "render" has no endpoint', ["App default/web", 'step "render"']]],
    );
  });

  test("a chain of composite resources is followed, and ends if it is a circle", async () => {
    const first = (next: KubeObject): KubeObject => composing("first", [synced, creating()], next);
    const second = composing("second", [synced, creating()], first(app("x")));
    const { waiting, causes } = await explain(first(second), second);
    assert.deepEqual(causes, []);
    assert.deepEqual(
      waiting.map(({ object, effects }) => `${object.name}: ${effects.join(" > ")}`),
      ["first: App default/first", "second: App default/first > App default/second"],
    );
  });
});

describe("all objects", () => {
  const shopDefinition = withConditions(
    made("apiextensions.crossplane.io/v2/CompositeResourceDefinition", "xshops.example.org", {
      spec: {
        group: "example.org",
        names: { kind: "XShop" },
        claimNames: { kind: "Shop" },
        versions: [{ name: "v1", referenceable: true }],
      },
    }),
    [["Established", "True"]],
  );
  const xshop = (name: string, rows: readonly ConditionRow[]): KubeObject =>
    withConditions(made("example.org/v1/XShop", name), rows);
  const shop = (name: string, rows: readonly ConditionRow[]): KubeObject =>
    withConditions(
      made("example.org/v1/Shop", `default/${name}`, {
        spec: { resourceRef: { apiVersion: "example.org/v1", kind: "XShop", name: `${name}-x` } },
      }),
      rows,
    );
  const roots = async (...objects: readonly KubeObject[]): Promise<readonly string[]> => {
    const { explanations } = await explainAll(options([shopDefinition, ...objects]));
    return explanations.map(({ object, verdict }) => `${object.kind} ${object.name} ${verdict}`);
  };

  test("healthy objects are counted and not explained", async () => {
    const { explanations, total, notRead } = await explainAll(options([composing("a", [synced, ready()])]));
    assert.deepEqual([explanations, total, notRead], [[], 1, []]);
  });

  test("unhealthy composite resources, packages and definitions are explained in order", async () => {
    const fn = withConditions(made("pkg.crossplane.io/v1/Function", "fn"), [
      ["Installed", "True"],
      ["Healthy", "False"],
    ]);
    const definition = withConditions(
      made("apiextensions.crossplane.io/v2/CompositeResourceDefinition", "losts.example.org", {
        spec: { group: "example.org", names: { kind: "Lost" } },
      }),
      [["Synced", "False", "Invalid", "spec.versions: Required value"]],
    );
    assert.deepEqual(
      await roots(composing("b", [failed("odd")]), composing("a", [synced, creating()]), fn, definition),
      ["App a waiting", "App b unknown", "CompositeResourceDefinition losts.example.org broken", "Function fn unknown"],
    );
  });

  test("a composite resource is explained with its claim, unless the claim is healthy", async () => {
    const bad: readonly ConditionRow[] = [failed("odd")];
    assert.deepEqual(await roots(xshop("web-x", bad), shop("web", bad)), ["Shop web unknown"]);
    assert.deepEqual(await roots(xshop("web-x", bad), shop("web", [synced, ready()])), ["XShop web-x unknown"]);
  });

  test("a claim of another group does not hide a composite resource of the same kind and name", async () => {
    const bad: readonly ConditionRow[] = [failed("odd")];
    const otherDefinition = {
      ...shopDefinition,
      metadata: { name: "xshops.other.org" },
      spec: { ...(shopDefinition["spec"] as object), group: "other.org" },
    } as KubeObject;
    const other = withConditions(made("other.org/v1/XShop", "web-x"), bad);
    assert.deepEqual(await roots(otherDefinition, xshop("web-x", bad), other, shop("web", bad)), [
      "Shop web unknown",
      "XShop web-x unknown",
    ]);
  });

  test("a ready object whose status is old, or whose events are limited, is explained", async () => {
    const changed = composing("changed", [synced, ready()]);
    const { conditions = [] } = changed["status"] as { conditions?: readonly JsonObject[] };
    const stale = (seen: number): KubeObject => ({
      ...changed,
      metadata: { ...changed.metadata, generation: 2 },
      status: { conditions: conditions.map((one) => ({ ...one, observedGeneration: seen })) },
    });
    assert.deepEqual(await roots(stale(1)), ["App changed broken"]);
    assert.deepEqual(await roots(stale(2)), []);
    const limited: ConditionRow = [
      "Responsive",
      "False",
      "WatchCircuitOpen",
      "Too many watch events from A/b (c). Allowing",
    ];
    assert.deepEqual(await roots(composing("busy", [synced, ready(), limited])), ["App busy broken"]);
  });

  test("a ready object in deletion is explained", async () => {
    const leaving = {
      ...composing("a", [synced, ready()]),
      metadata: { ...app("a").metadata, deletionTimestamp: secondsAgo(5) },
    };
    assert.deepEqual(await roots(leaving), ["App a waiting"]);
  });
});
