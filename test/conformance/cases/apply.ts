// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, deployment, inGroup, nextSecond, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Answer, Session } from "../harness/session.ts";

/** What the first applier of the worked examples wants. */
const specOfA = {
  replicas: 2,
  tags: { a: "1", b: "2" },
  args: ["x", "y"],
  zones: ["z1", "z2"],
  ports: [{ port: 80, name: "web" }],
};

function applyBy(s: Session, manager: string, spec: Loose, query = ""): Promise<Answer> {
  return s.patch(`${widgets(s, "a")}?fieldManager=${manager}${query}`, "apply", widget("a", spec), {
    title: `apply by ${manager}${query} ${JSON.stringify(spec)}`,
  });
}

async function appliedByA(s: Session): Promise<void> {
  await s.patch(`${widgets(s, "a")}?fieldManager=A`, "apply", widget("a", specOfA), { quiet: true });
}

async function appliedByBoth(s: Session): Promise<void> {
  await appliedByA(s);
  const spec = { tags: { c: "3" }, zones: ["z2", "z3"], ports: [{ port: 53, protocol: "UDP" }] };
  await s.patch(`${widgets(s, "a")}?fieldManager=B`, "apply", widget("a", spec), { quiet: true });
}

export const applyCases: readonly Case[] = [
  scenario("apply creates", async (s) => {
    const first = await applyBy(s, "A", specOfA);
    const again = await applyBy(s, "A", specOfA);
    s.note(
      "applied again, it has the same version",
      first.body.metadata.resourceVersion === again.body.metadata.resourceVersion,
    );
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=A`, "apply", configMap("a"));
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=A`, "apply", configMap("a"));
    await s.patch(
      `${core(s, "configmaps", "yaml")}?fieldManager=A`,
      "apply",
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\n  labels: {on: 'yes'}\ndata:\n  a: \"1\"\n",
    );
    await s.patch(`${inGroup(s, "apps/v1/deployments", "a")}?fieldManager=A`, "apply", deployment("a"));
    await s.patch(`${inGroup(s, "apps/v1/deployments", "a")}?fieldManager=A`, "apply", deployment("a"));
    await s.patch(`/api/v1/namespaces/${s.namespace}-b?fieldManager=A`, "apply", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: `${s.namespace}-b`, labels: { a: "b" } },
    });
    await s.patch(`${core(s, "secrets", "a")}?fieldManager=A`, "apply", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a" },
      stringData: { a: "text" },
    });
    await s.patch(`${core(s, "secrets", "a")}?fieldManager=A`, "apply", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a" },
      stringData: { a: "text" },
    });
    await s.patch(`${core(s, "services", "a")}?fieldManager=A`, "apply", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "a" },
      spec: { clusterIP: "None", ports: [{ port: 80 }], selector: { a: "b" } },
    });
  }),

  scenario("a second applier adds", async (s) => {
    await appliedByA(s);
    await applyBy(s, "B", { tags: { c: "3" }, zones: ["z2", "z3"], ports: [{ port: 53, protocol: "UDP" }] });
    await applyBy(s, "B", { tags: { c: "3" }, zones: ["z3", "z1"], ports: [{ port: 99 }, { port: 80 }] });
    await applyBy(s, "C", { replicas: 2 });
  }),

  scenario("a second applier conflicts", async (s) => {
    await appliedByA(s);
    await applyBy(s, "B", { replicas: 5, args: ["q"], ports: [{ port: 80, name: "zzz" }] });
    await applyBy(s, "B", { replicas: 5 });
    await applyBy(s, "B", { args: ["x"] });
    await applyBy(s, "B", { tags: { a: "9", c: "3" } });
    await applyBy(s, "B", { replicas: 2, args: ["x", "y"] });
    await s.get(widgets(s, "a"));
  }),

  scenario("a second applier forces", async (s) => {
    await appliedByBoth(s);
    await applyBy(s, "B", { replicas: 5, tags: { c: "3" } }, "&force=true");
    await applyBy(s, "B", { args: ["q"] }, "&force=true");
    await applyBy(s, "A", specOfA);
    await applyBy(s, "A", specOfA, "&force=true");
  }),

  scenario("an applier wants less", async (s) => {
    await appliedByBoth(s);
    await applyBy(s, "A", { tags: { a: "1" }, args: ["x", "y"], zones: ["z1"] });
    await applyBy(s, "A", { tags: { a: "1" }, args: ["x", "y"], zones: ["z1"] });
    await applyBy(s, "A", {});
    await applyBy(s, "A", {});
    await s.patch(`${widgets(s, "a")}?fieldManager=B`, "apply", {
      apiVersion: "example.org/v1",
      kind: "Widget",
      metadata: { name: "a" },
    });
  }),

  scenario("an update takes what was applied", async (s) => {
    await appliedByA(s);
    const { body } = await s.get(widgets(s, "a"), { quiet: true });
    body.spec.tags.a = "9";
    body.spec.free = { deep: { l: [1, 2], s: "t" } };
    await s.put(`${widgets(s, "a")}?fieldManager=C`, body);
    await s.patch(`${widgets(s, "a")}?fieldManager=D`, "merge", {
      spec: { replicas: 7, args: ["changed"], zones: ["z2"] },
    });
    await s.patch(`${widgets(s, "a")}?fieldManager=D`, "merge", { spec: { ports: null } });
    await applyBy(s, "A", specOfA);
    await s.patch(`${widgets(s, "a")}?fieldManager=E`, "merge", {
      spec: { free: { deep: { l: [1, 2], s: "t", more: {} } } },
    });
  }),

  scenario("who owns what was created", async (s) => {
    const spec = {
      replicas: 1,
      tags: { a: "1" },
      args: ["x"],
      zones: ["z1"],
      ports: [{ port: 80, protocol: "TCP" }],
      atomicMap: { k: "v" },
    };
    await s.post(`${widgets(s)}?fieldManager=C`, widget("a", spec));
    await s.post(
      `${widgets(s)}?fieldManager=C`,
      widget("b", {
        tags: {},
        args: [],
        zones: [],
        ports: [],
        free: {},
        nothing: null,
        nested: {},
        template: {
          apiVersion: "v1",
          kind: "X",
          metadata: { name: "x", labels: { a: "b" } },
          spec: { list: [{ a: 1 }] },
        },
      }),
    );
    await s.post(
      `${widgets(s)}?fieldManager=C`,
      widget(
        "c",
        {},
        {
          labels: { a: "b" },
          annotations: { c: "d" },
          finalizers: ["example.org/f"],
          ownerReferences: [
            { apiVersion: "nope.example.org/v1", kind: "Nope", name: "n", uid: "01234567-89ab-cdef-0123-456789abcdef" },
          ],
        },
      ),
    );
    await s.post(`${inGroup(s, "apps/v1/deployments")}?fieldManager=C`, deployment("a"));
    await s.post(`${core(s, "services")}?fieldManager=C`, {
      metadata: { name: "a" },
      spec: { clusterIP: "None", ports: [{ port: 80 }], selector: { a: "b" } },
    });
  }),

  scenario("apply of an object and of its status", async (s) => {
    await applyBy(s, "M", { replicas: 1 });
    const status = (conditions: readonly Loose[], more: Loose = {}): Promise<unknown> =>
      s.patch(
        `${widgets(s, "a")}/status?fieldManager=M`,
        "apply",
        { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "a" }, status: { conditions, ...more } },
        { title: `apply status ${JSON.stringify(conditions)}` },
      );
    await status(
      [
        { type: "Ready", status: "True" },
        { type: "Synced", status: "True" },
      ],
      { phase: "x" },
    );
    await status([{ type: "Ready", status: "False" }]);
    await applyBy(s, "M", { size: 1 });
    await s.patch(`${widgets(s, "a")}/status?fieldManager=N`, "merge", { status: { replicas: 3 } });
    await status([]);
    await s.patch(`${widgets(s, "a")}?fieldManager=M`, "apply", {
      ...widget("a", { size: 1 }),
      status: { phase: "ignored" },
    });
    await s.patch(`${widgets(s, "a")}/status?fieldManager=M`, "apply", {
      ...widget("a", { size: 50 }, { labels: { ignored: "yes" } }),
      status: { phase: "y" },
    });
  }),

  scenario("ownership of everything moves", async (s) => {
    await s.post(`${widgets(s)}?fieldManager=old`, widget("a", { replicas: 1, tags: { a: "1", b: "2" } }), {
      quiet: true,
    });
    const { body } = await s.get(widgets(s, "a"), { quiet: true });
    const reset = [
      { op: "replace", path: "/metadata/managedFields", value: [{}] },
      { op: "replace", path: "/metadata/resourceVersion", value: body.metadata.resourceVersion },
    ];
    await s.patch(widgets(s, "a"), "json", reset, { title: "reset managedFields" });
    await applyBy(s, "new", { replicas: 1, tags: { a: "1" } }, "&force=true");
    const now = await s.get(widgets(s, "a"), { quiet: true });
    const index = now.body.metadata.managedFields.findIndex((entry: Loose) => entry.manager === "before-first-apply");
    s.note("it was there", index >= 0);
    const remove = [
      { op: "remove", path: `/metadata/managedFields/${index}` },
      { op: "replace", path: "/metadata/resourceVersion", value: now.body.metadata.resourceVersion },
    ];
    await s.patch(widgets(s, "a"), "json", remove, { title: "drop before-first-apply" });
    await applyBy(s, "new", { tags: { a: "1" } }, "&force=true");
    await applyBy(s, "new", {}, "&force=true");
  }),

  scenario("conflicts with several managers", async (s) => {
    await appliedByA(s);
    await s.patch(`${widgets(s, "a")}?fieldManager=U`, "merge", { spec: { size: 1, color: "blue" } }, { quiet: true });
    await s.patch(`${widgets(s, "a")}/scale?fieldManager=S`, "merge", { spec: { replicas: 9 } }, { quiet: true });
    await s.patch(`${widgets(s, "a", "v1beta1")}?fieldManager=V`, "merge", { spec: { code: "abc" } }, { quiet: true });
    await applyBy(s, "B", { size: 2, color: "green", args: ["q"], replicas: 1, code: "xyz", tags: { a: "9", b: "9" } });
    await applyBy(s, "B", { size: 2, color: "green" });
    await applyBy(s, "B", { args: ["q"], tags: { a: "9" } });
    await applyBy(s, "B", { replicas: 1 });
    await s.patch(
      `${widgets(s, "a")}/status?fieldManager=one`,
      "apply",
      { ...widget("a"), spec: undefined, status: { phase: "1", replicas: 1 } },
      { quiet: true },
    );
    await s.patch(`${widgets(s, "a")}/status?fieldManager=two`, "apply", {
      ...widget("a"),
      spec: undefined,
      status: { phase: "2", replicas: 2 },
    });
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=one`, "apply", configMap("a"), { quiet: true });
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=two`, "apply", configMap("a", { a: "2" }));
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=one`, "merge", { data: { b: "x" } }, { quiet: true });
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=one`, "apply", configMap("a", { a: "2", b: "y" }));
  }),

  scenario("invalid applies", async (s) => {
    await s.patch(widgets(s, "a"), "apply", widget("a"));
    await s.patch(`${widgets(s, "a")}?fieldManager=`, "apply", widget("a"));
    await s.post(widgets(s), widget("b"), { quiet: true });
    await s.patch(`${widgets(s, "b")}?force=true&fieldManager=m`, "merge", {});
    await s.patch(`${widgets(s, "b")}?force=false&fieldManager=m`, "json", []);
    for (const [path, make] of [
      [widgets(s), widget],
      [core(s, "configmaps"), configMap],
    ] as const) {
      const apply = (body: Loose, query = "", name = "a"): Promise<unknown> =>
        s.patch(`${path}/${name}?fieldManager=m${query}`, "apply", body, {
          title: `apply ${path} ${typeof body === "string" ? body : JSON.stringify(body)}${query}`,
        });
      await apply({ ...make("a"), metadata: { name: "a", managedFields: [{ manager: "x" }] } });
      await apply({ ...make("a"), metadata: { name: "a", managedFields: [] } });
      await apply({ ...make("a"), apiVersion: "example.org/v9" });
      await apply({ ...make("a"), kind: "Nope" });
      await apply({ metadata: { name: "a" } });
      await apply({ ...make("a"), metadata: { name: "a", uid: "00000000-0000-0000-0000-000000000000" } });
      await apply({ ...make("a"), metadata: { name: "a", resourceVersion: "5" } });
      await apply({ ...make("a"), metadata: {} });
      await apply({ ...make("a"), metadata: { name: "other" } });
      await apply({ ...make("a"), metadata: { name: "a", namespace: "default" } });
      await apply({ ...make("a"), metadata: { generateName: "a-" } });
      await apply("[]");
      await apply("nonsense");
      await apply("");
      await apply("null");
      await apply("{");
      await apply("a: b: c");
      await apply({ ...make("a") }, "&force=x");
      await apply({ ...make("a") }, "&dryRun=x");
      await apply({ ...make("a"), metadata: { name: "a", labels: { a: 1 } } });
      await apply({ ...make("a"), metadata: { name: "a", labels: "x" } });
      await apply({ ...make("a"), metadata: { name: "a", nope: "x" } });
    }
    await s.patch(`${widgets(s, "a")}?fieldManager=${"x".repeat(129)}`, "apply", widget("a"));
    await s.patch(`${widgets(s, "c")}?fieldManager=m`, "apply", widget("c", { size: "x" }));
    await s.patch(`${widgets(s, "c")}?fieldManager=m`, "apply", widget("c", { zones: ["a", "a"] }));
    await s.patch(
      `${widgets(s, "c")}?fieldManager=m`,
      "apply",
      widget("c", { ports: [{ port: 1 }, { port: 1, protocol: "TCP" }] }),
    );
    await s.patch(`${widgets(s, "c")}?fieldManager=m`, "apply", widget("c", { ports: [{ name: "x" }] }));
    await s.patch(`${widgets(s, "c")}?fieldManager=m`, "apply", widget("c", { args: "x" }));
    await s.patch(`${widgets(s, "c")}?fieldManager=m`, "apply", widget("c", { tags: ["x"] }));
    await s.patch(`${widgets(s, "c")}?fieldManager=m`, "apply", widget("c", { color: "pink" }));
    await s.patch(`${widgets(s, "c")}?fieldManager=m`, "apply", widget("c", { tags: null, zones: null, args: null }));
    await s.patch(`${widgets(s, "d")}?fieldManager=m`, "apply", widget("d", { nothing: null, nested: null }));
    await s.patch(`${core(s, "configmaps", "d")}?fieldManager=m`, "apply", { ...configMap("d"), data: null });
    await s.patch(`${core(s, "configmaps", "e")}?fieldManager=m`, "apply", { ...configMap("e"), data: { a: 1 } });
  }),

  scenario("applies of a status", async (s) => {
    const apply = (manager: string, status: Loose, name = "a"): Promise<unknown> =>
      s.patch(
        `${widgets(s, name)}/status?fieldManager=${manager}`,
        "apply",
        { apiVersion: "example.org/v1", kind: "Widget", metadata: { name }, status },
        { title: `apply status of ${name} by ${manager} ${JSON.stringify(status)}` },
      );
    await s.post(`${widgets(s)}?fieldManager=maker`, widget("a"), { quiet: true });
    await apply("m", { phase: "x" }, "missing");
    await apply("m", { conditions: [{ type: "Ready", status: "True" }] });
    await apply("n", { conditions: [{ type: "Synced", status: "True" }] });
    await apply("m", { conditions: [] });
    await apply("m", {});
    await apply("m", { conditions: null });
    await apply("m", { conditions: [{ type: "Ready" }] });
    await apply("m", { nope: 1 });
    await apply("m", { free: { any: { thing: [1] } } });
    await apply("m", { free: { any: { other: [2] } } });
    const { body } = await s.get(widgets(s, "a"), { quiet: true });
    await s.patch(`${widgets(s, "a")}/status?fieldManager=m`, "apply", {
      apiVersion: "example.org/v1",
      kind: "Widget",
      metadata: { name: "a", uid: body.metadata.uid },
      status: { phase: "with uid" },
    });
    // Another uid is ignored here, yet it makes the reference write new times, unless it is very busy: the version is not compared.
    await nextSecond();
    await s.patch(
      `${widgets(s, "a")}/status?fieldManager=m`,
      "apply",
      {
        apiVersion: "example.org/v1",
        kind: "Widget",
        metadata: { name: "a", uid: "00000000-0000-0000-0000-000000000000" },
        status: { phase: "with uid" },
      },
      { part: ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, resourceVersion: undefined } }) },
    );
    const path = inGroup(s, "apps/v1/deployments");
    await s.post(path, deployment("a"), { quiet: true });
    await s.patch(`${path}/a/status?fieldManager=m`, "apply", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "a", labels: { through: "status" } },
      spec: { replicas: 9 },
      status: { replicas: 3, conditions: [{ type: "Available", status: "True" }] },
    });
    await s.patch(`${path}/missing/status?fieldManager=m`, "apply", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "missing" },
      status: { replicas: 3 },
    });
  }),
];
