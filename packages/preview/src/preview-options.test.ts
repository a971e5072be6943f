// SPDX-License-Identifier: Apache-2.0
// What a preview can be asked for beside a change set.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { parseLabelSelector } from "@purlin/kube-objects/selector";
import { planeFunctions, type Scene, startScene } from "../test/scene.ts";
import { app, composition, functionAt } from "../test/scene-objects.ts";
import type { Plan } from "./plan/plan.ts";
import { planText } from "./print/plan-text.ts";
import { planReport } from "./print/report.ts";
import type { PassFunctions } from "./settle/run-pass.ts";

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const live = async (...objects: readonly KubeObject[]): Promise<void> => {
  await scene.apply(...objects);
  await scene.settled(...objects);
};
const roots = { functions: [], only: [], namespace: "default" };
const named = (plan: Plan, name: string) => plan.composites.find((one) => one.name === name);
const text = (plan: Plan): string => planText(plan, { showsUnchanged: false, showsPending: false });

test("a pinned composite resource is run at the new revision when that is asked for, and is not counted", async () => {
  const pinned = app("pinned", { text: "one", crossplane: { compositionUpdatePolicy: "Manual" } });
  await live(pinned);
  const only = { ...roots, only: ["pinned"] };
  const plan = await scene.preview({ objects: [composition("App", "second")], includesManual: true, roots: only });
  const found = named(plan, "pinned");
  assert.deepEqual([found?.adoption, found?.isDeferred], ["pinned", true]);
  const changed = found?.changes.flatMap(({ kind, fields }) => fields.map(({ path }) => `${kind} ${path}`));
  assert.ok(changed?.includes("ConfigMap data.mode"), String(changed));
  assert.match(text(plan), /App default\/pinned .*when its revision moves:/);
  const before = await scene.preview({ objects: [composition("App", "second")], roots: only });
  assert.deepEqual(plan.summary, before.summary);
  assert.equal(plan.hash, before.hash);
  const [report] = (planReport(plan) as { xrs: readonly JsonObject[] }).xrs;
  assert.equal(report?.["deferred"], true);
});

test("a Composition with other labels: composite resources that join, that follow, and that stay are listed", async () => {
  await scene.apply(composition("App", "gold", { name: "gold", labels: { channel: "a" } }));
  const using = (name: string, crossplane: JsonObject): KubeObject => app(name, { text: "one", crossplane });
  const gold = { compositionRef: { name: "gold" } };
  const select = (channel: string): JsonObject => ({ compositionRevisionSelector: { matchLabels: { channel } } });
  await live(using("stays", { ...gold, ...select("a") }));
  await scene.apply(using("follows", { ...gold, ...select("b") }));
  await scene.apply(using("joins", { compositionSelector: { matchLabels: { channel: "b" } } }));
  const relabelled = composition("App", "gold", { name: "gold", labels: { channel: "b" } });
  const plan = await scene.preview({ objects: [relabelled] });
  assert.deepEqual(
    ["stays", "follows", "joins"].map((name) => named(plan, name)?.adoption),
    ["selector", "adopts", "newly selects"],
  );
  // Other composite resources would choose between two Compositions.
  await scene.users.delete({ ...relabelled, name: "gold" });
  for (const name of ["stays", "follows", "joins"])
    await scene.users.delete({ ...app(name, {}), name, namespace: "default" });
});

test("a composite resource that moves to a Composition that is not changed leaves the one that is", async () => {
  await scene.apply(composition("App", "gold", { name: "gold" }), composition("App", "silver", { name: "silver" }));
  const using = (metal: string): KubeObject =>
    app("moves", { text: "one", crossplane: { compositionRef: { name: metal } } });
  await live(using("gold"));
  const plan = await scene.preview({ objects: [composition("App", "golden", { name: "gold" }), using("silver")] });
  const moved = named(plan, "moves");
  assert.deepEqual([moved?.adoption, moved?.errors], ["leaves", []]);
  const modes = moved?.changes.flatMap(({ fields }) => fields).filter(({ path }) => path === "data.mode");
  assert.deepEqual(
    modes?.map((field) => field.new),
    ["silver"],
  );
  await scene.users.delete({ ...using("gold"), name: "moves", namespace: "default" });
  for (const name of ["gold", "silver"]) await scene.users.delete({ ...composition("App", name), name });
});

test("a function whose process ends in the middle of a call fails its step, and other composite resources are previewed", async () => {
  await live(app("lives", { text: "one" }));
  let calls = 0;
  const dying = createServer();
  // The call has begun: the process ends, and with it the connection.
  dying.on("stream", (stream) => {
    calls += 1;
    stream.on("error", () => {});
    stream.session?.destroy();
  });
  await once(dying.listen(0, "127.0.0.1"), "listening");
  const { port } = dying.address() as AddressInfo;
  try {
    const fn = functionAt(`127.0.0.1:${port}`);
    const other = composition("App", "x", { name: "dying" });
    const pipeline = [{ step: "die", functionRef: { name: "dying" } }];
    const plan = await scene.preview({
      stages: [
        [
          { ...fn, metadata: { ...fn.metadata, name: "dying" } },
          { ...other, spec: { ...(other["spec"] as JsonObject), pipeline } } as KubeObject,
        ],
        [
          app("dies", { text: "one", crossplane: { compositionRef: { name: "dying" } } }),
          app("lives", { text: "two" }),
        ],
      ],
    });
    assert.ok(calls > 0, "the function is called");
    assert.match(
      named(plan, "dies")
        ?.errors.map((one) => one.text)
        .join() ?? "",
      /step "die"/,
    );
    const changed = named(plan, "lives")?.changes.flatMap(({ fields }) => fields.map(({ path }) => path));
    assert.deepEqual(named(plan, "lives")?.errors, []);
    assert.ok(changed?.includes("data.text"), String(changed));
  } finally {
    dying.close();
  }
});

test("values that change with every run are marked and left out of the hash", async () => {
  await live(app("steady", { text: "one" }));
  const random = [app("steady", { text: "two", kind: "Random" })];
  const [first, second] = [await scene.preview({ objects: random }), await scene.preview({ objects: random })];
  assert.notEqual(first.hash, second.hash);
  const marked = await scene.preview({ objects: random, checksStable: true });
  const again = await scene.preview({ objects: random, checksStable: true });
  assert.equal(marked.hash, again.hash);
  const change = named(marked, "steady")?.changes.find(({ resource }) => resource === "random");
  assert.deepEqual(change?.unstable, ["data.token"]);
  assert.match(marked.warnings.join(), /unstable: two previews differ in ConfigMap random data\.token/);
  const other = await scene.preview({
    objects: [app("steady", { text: "three", kind: "Random" })],
    checksStable: true,
  });
  assert.notEqual(other.hash, marked.hash, "what is stable still counts");
  const stable = await scene.preview({ objects: [app("steady", { text: "two" })], checksStable: true });
  assert.deepEqual(
    [stable.warnings, stable.composites.flatMap(({ changes }) => changes.flatMap((one) => one.unstable ?? []))],
    [[], []],
  );
});

test("a quota with room for one: the second creation is refused, as the API server words it", async () => {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "small" } };
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "few", namespace: "small" },
    spec: { hard: { "count/configmaps": "1" } },
  } as KubeObject;
  await scene.apply(namespace, quota);
  const here = { ...app("crowded", { text: "one", count: 2 }), metadata: { name: "crowded", namespace: "small" } };
  const plan = await scene.preview({ objects: [here] });
  const made = named(plan, "crowded")?.changes.filter(({ kind }) => kind === "ConfigMap");
  assert.deepEqual(
    made?.map((one) => one.class),
    ["create"],
  );
  assert.match(
    named(plan, "crowded")
      ?.errors.map((error) => error.text)
      .join() ?? "",
    /configmaps ".*" is forbidden: exceeded quota: few, requested: count\/configmaps=1, used: count\/configmaps=1, limited: count\/configmaps=1$/,
  );
  const one = { ...app("crowded", { text: "one" }), metadata: { name: "crowded", namespace: "small" } };
  assert.deepEqual(named(await scene.preview({ objects: [one] }), "crowded")?.errors, []);
});

test("a timeout: what is finished is in the plan, and the rest is named", async () => {
  await live(app("quick", { text: "one" }), app("slow", { text: "one" }));
  const deadline = new AbortController();
  const isSlow = (request: Parameters<PassFunctions["runStep"]>[1]): boolean =>
    JSON.stringify(request.observed?.composite?.resource?.value ?? null).includes('"name":"slow"');
  const plan = await scene.preview({
    objects: [composition("App", "late")],
    roots: { ...roots, only: ["quick", "slow"] },
    parallel: 1,
    deadline: deadline.signal,
    baseline: false,
    functions: (client) => {
      const functions = planeFunctions(scene.users, client);
      return {
        ...functions,
        close: () => functions.close(),
        async runStep(reference, request, call) {
          if (isSlow(request)) deadline.abort();
          return functions.runStep(reference, request, call);
        },
      };
    },
  });
  assert.ok(named(plan, "quick")?.changes.some(({ kind }) => kind === "ConfigMap"));
  assert.deepEqual(named(plan, "slow")?.errors, [
    {
      text: 'not finished: the timeout passed while step "compose" waits for Function "fn"',
      isInvalid: false,
    },
  ]);
  // What changed wakes the quick one once more, and that look is not finished either.
  assert.match(
    plan.errors.map((one) => one.text).join(),
    /the timeout passed: 2 objects are not finished \(step "compose" waits for Function "fn"\): raise --timeout/,
  );
});

test("a timeout before it is known what happens anyway names the function that does not respond", async () => {
  await live(app("stuck", { text: "one" }));
  const deadline = new AbortController();
  const reason = new Error("the time is over");
  const hanging = (client: Parameters<typeof planeFunctions>[1]): PassFunctions => {
    const functions = planeFunctions(scene.users, client);
    return {
      ...functions,
      close: () => functions.close(),
      runStep(_reference, _request, { signal }) {
        deadline.abort(reason);
        return Promise.reject(signal?.reason);
      },
    };
  };
  const objects = [app("stuck", { text: "two" })];
  await assert.rejects(
    scene.preview({ objects, functions: hanging, deadline: deadline.signal }),
    (error: Error) => error.cause === reason && error.message === 'step "compose" waits for Function "fn"',
  );
});

test("another version of a function over 50 composite resources: failures of three leave 47 results", async () => {
  const names = Array.from({ length: 50 }, (_, at) => `many-${at}`);
  const specOf = (at: number): JsonObject => ({ text: "one", ...(at % 20 === 7 && { fail: "two" }) });
  await scene.apply(...names.map((name, at) => app(name, specOf(at))));
  await scene.settled(...names.map((name, at) => app(name, specOf(at))));
  const plan = await scene.preview({ objects: [functionAt(scene.functions.two)], roots: { ...roots, only: names } });
  const all = plan.composites.filter(({ name }) => name.startsWith("many-"));
  assert.deepEqual(
    all
      .filter(({ errors }) => errors.length > 0)
      .map(({ name }) => name)
      .sort(),
    ["many-27", "many-47", "many-7"],
  );
  assert.equal(all.filter(({ changes }) => changes.some(({ kind }) => kind === "ConfigMap")).length, 47);
});

test("a name of a composite resource that does not exist is an error, and others are previewed", async () => {
  await live(app("named", { text: "one" }));
  const only = ["named", "nmaed", "default/named", "other/named"];
  const plan = await scene.preview({ objects: [composition("App", "named")], roots: { ...roots, only } });
  assert.deepEqual(
    plan.errors.map(({ text: message, isInvalid }) => [message.slice(0, message.indexOf(":")), isInvalid]),
    [
      ["--xr nmaed", true],
      ["--xr other/named", true],
    ],
  );
  assert.ok(named(plan, "named")?.changes.length);
  const made = { ...roots, only: ["made"] };
  assert.deepEqual((await scene.preview({ objects: [app("made", { text: "one" })], roots: made })).errors, []);
});

test("only composite resources with the labels of a selector", async () => {
  const labelled = app("labelled", { text: "one" });
  await live({ ...labelled, metadata: { ...labelled.metadata, labels: { team: "a" } } });
  const plan = await scene.preview({
    objects: [composition("App", "selected")],
    roots: { ...roots, labelSelector: parseLabelSelector("team=a") },
  });
  assert.deepEqual(
    plan.composites.filter(({ changes }) => changes.length > 0).map(({ name }) => name),
    ["labelled"],
  );
});

test("new composite resources nested deeper than allowed are named", async () => {
  const plan = await scene.preview({ objects: [app("deep", { kind: "Loop" })], maxDepth: 1 });
  assert.match(
    plan.composites.flatMap(({ errors }) => errors.map((one) => one.text)).join(),
    /nested deeper than 1: App \(deep\) -> Part \(loop\)/,
  );
});

test("an assumed status can be like that of a live object, with its texts unknown", async () => {
  await live(app("like", { text: "one", gate: true }));
  const { items } = await scene.users.list({ apiVersion: "things.example.org/v1", kind: "Widget" });
  const widget = items[0] as KubeObject;
  const key = { namespace: "default", name: widget.metadata.name ?? "" };
  const status = { address: "10.0.0.1", port: 8080 };
  await scene.users.patch({ ...widget, ...key }, { status }, { type: "merge", subresource: "status" });
  const plan = await scene.preview({
    objects: [app("unlike", { text: "one", gate: true })],
    assume: [{ match: { kind: "Widget" }, status: { $like: "live", zone: "z" } }],
    projection: { status: true, owners: false },
  });
  const made = named(plan, "unlike")?.changes.find(({ kind }) => kind === "Widget")?.new as { status: JsonObject };
  const { address, port, zone } = made.status;
  assert.deepEqual([address, port, zone], ["(known after apply)", 8080, "z"]);
});

test("a function is called at its active revision, whatever package its Function names", async () => {
  const type = { apiVersion: "pkg.crossplane.io/v1" } as const;
  const packaged = {
    ...type,
    kind: "Function",
    metadata: { name: "packaged" },
    spec: { package: "example.org/fn:v9" },
  };
  const revision = (version: "one" | "two", isActive: boolean): KubeObject =>
    ({
      ...type,
      kind: "FunctionRevision",
      metadata: { name: `packaged-${version}`, labels: { "pkg.crossplane.io/package": "packaged" } },
      spec: {
        desiredState: isActive ? "Active" : "Inactive",
        image: `example.org/fn:${version}`,
        revision: version === "one" ? 1 : 2,
      },
    }) as KubeObject;
  const { users } = scene;
  await scene.apply(packaged, revision("one", true), revision("two", false));
  for (const version of ["one", "two"] as const) {
    const target = { ...revision(version, true), name: `packaged-${version}` };
    const status = { endpoint: scene.functions[version], capabilities: ["composition"] };
    await users.patch(target, { status }, { type: "merge", subresource: "status" });
  }
  const step = { step: "compose", functionRef: { name: "packaged" } };
  const other = composition("App", "x", { name: "packaged" });
  const spec = { ...(other["spec"] as JsonObject), pipeline: [step] };
  const plan = await scene.preview({
    stages: [
      [{ ...other, spec } as KubeObject],
      [app("by-revision", { text: "one", crossplane: { compositionRef: { name: "packaged" } } })],
    ],
  });
  assert.deepEqual(
    plan.functions.filter(({ name }) => name === "packaged").map(({ name, revision: used }) => [name, used]),
    [["packaged", "packaged-one"]],
  );
  const made = named(plan, "by-revision")?.changes.find(({ kind }) => kind === "ConfigMap")?.new as {
    data: JsonObject;
  };
  assert.equal(made.data["version"], "one");
});
