// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import {
  configMap,
  core,
  deployment,
  inGroup,
  nextSecond,
  ownCrd,
  ownGroup,
  ownWidget,
  ownWidgets,
  widget,
  widgets,
  withOwnWidgets,
} from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";

const withoutFields = (object: Loose): Loose => ({
  ...object,
  metadata: { ...object.metadata, managedFields: undefined },
});

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

export const managedFieldsCases: readonly Case[] = [
  scenario("managed fields are cleared", async (s) => {
    for (const [path, make] of [
      [widgets(s), widget],
      [core(s, "configmaps"), configMap],
    ] as const) {
      await s.post(path, make("a"), { quiet: true });
      await s.patch(`${path}/a`, "json", [{ op: "replace", path: "/metadata/managedFields", value: [{}] }]);
      const { body } = await s.get(`${path}/a`, { quiet: true });
      await s.put(`${path}/a?fieldManager=silent`, { ...body, metadata: { ...body.metadata, labels: { a: "b" } } });
      await s.patch(`${path}/a?fieldManager=silent`, "merge", { metadata: { labels: { c: "d" } } });
      await s.patch(`${path}/a?fieldManager=applier`, "apply", {
        ...make("a"),
        metadata: { name: "a", labels: { a: "b" } },
      });
      await s.patch(`${path}/a?fieldManager=loud`, "merge", { metadata: { labels: { e: "f" } } });
      await s.patch(`${path}/a`, "merge", { metadata: { managedFields: [] } });
      await s.patch(`${path}/a?fieldManager=applier`, "apply", {
        ...make("a"),
        metadata: { name: "a", labels: { a: "changed" } },
      });
      await s.patch(`${path}/a`, "merge", { metadata: { managedFields: null } });
    }
    await s.post(widgets(s), { ...widget("b"), metadata: { name: "b", managedFields: [{}] } });
    await s.post(widgets(s), { ...widget("c"), metadata: { name: "c", managedFields: [] } });
  }),

  scenario("owners of empty lists and of members of strategies that are not used", async (s) => {
    const metadata = { name: "a" };
    const slices = inGroup(s, "discovery.k8s.io/v1/endpointslices");
    const slice = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata, addressType: "IPv4" };
    await s.post(slices, { ...slice, endpoints: [], ports: [{ protocol: "UDP" }] });
    await s.put(`${slices}/a`, { ...slice, endpoints: [{ addresses: ["1.2.3.4"] }], ports: [] });
    const template = {
      metadata: { labels: { a: "b" } },
      spec: { containers: [{ name: "c", image: "i:1" }] },
    };
    const set = (rollingUpdate: Loose): Loose => ({
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: {},
      spec: { updateStrategy: { type: "OnDelete", rollingUpdate }, selector: { matchLabels: { a: "b" } }, template },
    });
    const sets = `${inGroup(s, "apps/v1/daemonsets")}?dryRun=All`;
    await s.post(sets, { ...set({}), metadata });
    await s.post(sets, { ...set({ maxUnavailable: 2 }), metadata });
    const services = core(s, "services");
    const service = (name: string, spec: Loose): Loose => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec,
    });
    const affinity = { sessionAffinity: "ClientIP", sessionAffinityConfig: {}, clusterIP: "None" };
    await s.post(services, service("affinity", affinity));
    await s.post(services, service("headless", { clusterIP: "None", selector: { a: "b" }, externalIPs: ["1.2.3.4"] }));
    await s.put(`${services}/headless`, service("headless", { ipFamilyPolicy: "PreferDualStack" }));
  }),

  scenario("managed fields a client sends", async (s) => {
    for (const [path, make] of [
      [widgets(s), widget],
      [core(s, "configmaps"), configMap],
    ] as const) {
      await s.post(
        `${path}?fieldManager=maker`,
        { ...make("a"), metadata: { name: "a", labels: { a: "b", c: "d" } } },
        { quiet: true },
      );
      const { body } = await s.get(`${path}/a`, { quiet: true });
      await s.put(`${path}/a?fieldManager=maker`, withoutFields(body));
      const edited = structuredClone(body);
      edited.metadata.managedFields[0].manager = "renamed";
      edited.metadata.managedFields[0].fieldsV1 = { "f:metadata": { "f:labels": { "f:a": {} } } };
      await s.put(`${path}/a?fieldManager=maker`, edited);
      const broken = structuredClone(body);
      broken.metadata.resourceVersion = undefined;
      broken.metadata.managedFields = [
        {
          manager: "x",
          operation: "Update",
          apiVersion: "v1",
          time: "2026-01-02T03:04:05Z",
          fieldsType: "FieldsV1",
          fieldsV1: { nonsense: {} },
        },
      ];
      await s.patch(`${path}/a?fieldManager=maker`, "merge", {
        metadata: { managedFields: broken.metadata.managedFields },
      });
      await s.patch(`${path}/a?fieldManager=maker`, "merge", {
        metadata: {
          managedFields: [{ manager: "x", operation: "Nope", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} }],
        },
      });
      await s.patch(`${path}/a?fieldManager=maker`, "merge", {
        metadata: {
          managedFields: [{ manager: "x", operation: "Update", apiVersion: "v1", fieldsType: "Nope", fieldsV1: {} }],
        },
      });
      await s.patch(`${path}/a?fieldManager=maker`, "merge", {
        metadata: {
          managedFields: [
            {
              manager: "x",
              operation: "Update",
              apiVersion: "gone.org/v9",
              time: "2026-01-02T03:04:05Z",
              fieldsType: "FieldsV1",
              fieldsV1: { "f:metadata": { "f:labels": { "f:a": {} } } },
            },
          ],
        },
      });
      await s.patch(`${path}/a?fieldManager=maker`, "merge", { metadata: { labels: { more: "yes" } } });
      await s.get(`${path}/a`);
    }
    await s.patch(`${widgets(s, "a")}/status?fieldManager=maker`, "merge", {
      metadata: { managedFields: [] },
      status: { phase: "x" },
    });
  }),

  scenario("more managers than are kept", async (s) => {
    for (const [path, make] of [
      [widgets(s), widget],
      [core(s, "configmaps"), configMap],
    ] as const) {
      await s.post(`${path}?fieldManager=maker`, make("a"), { quiet: true });
      for (let n = 1; n <= 12; n += 1) {
        await s.patch(
          `${path}/a?fieldManager=manager-${n}`,
          "merge",
          { metadata: { annotations: { [`a-${n}`]: "x" } } },
          { quiet: true },
        );
        // The oldest are merged, and their times are in whole seconds.
        if (n < 4) await nextSecond();
      }
      const { body } = await s.get(`${path}/a`, { quiet: true });
      const entries: readonly Loose[] = body.metadata.managedFields;
      const ancient = entries.find((entry) => entry.manager === "ancient-changes");
      s.note("managers", {
        count: entries.length,
        ancient: ancient?.fieldsV1,
        operation: ancient?.operation,
        apiVersion: ancient?.apiVersion,
      });
      await s.patch(
        `${path}/a?fieldManager=manager-1`,
        "merge",
        { metadata: { annotations: { "a-1": "y" } } },
        { part: ({ metadata }) => metadata.managedFields.length },
      );
      for (let n = 1; n <= 12; n += 1)
        await s.patch(
          `${path}/a?fieldManager=applier-${n}`,
          "apply",
          { ...make("a"), metadata: { name: "a" }, ...(path.includes("widgets") ? { spec: {} } : { data: {} }) },
          { quiet: true },
        );
      await s.get(`${path}/a`, { part: ({ metadata }) => metadata.managedFields.length });
    }
  }),

  scenario("apply through another version", async (s) => {
    await withOwnWidgets(s);
    const apply = (version: string, manager: string, spec: Loose, more = ""): Promise<unknown> =>
      s.patch(
        `${ownWidgets(s, "a", version)}?fieldManager=${manager}${more}`,
        "apply",
        { ...ownWidget(s, "a", spec), apiVersion: `${ownGroup(s)}/${version}` },
        { title: `apply ${version} by ${manager} ${JSON.stringify(spec)}` },
      );
    await apply("v1", "A", { size: 1, tags: { a: "1", b: "2" } });
    await apply("v1beta1", "A", { size: 1, tags: { a: "1" } });
    await apply("v1beta1", "B", { tags: { c: "3" }, zones: ["z"] });
    await apply("v1beta1", "B", { size: 9 });
    await apply("v1", "B", { tags: { c: "3" } });
    await s.patch(`${ownWidgets(s, "a", "v1beta1")}?fieldManager=U`, "merge", { spec: { code: "abc" } });
    await s.patch(`${ownWidgets(s, "a", "v1")}?fieldManager=U`, "merge", { spec: { color: "blue" } });
    await apply("v1", "A", { code: "xyz" });
    await s.get(ownWidgets(s, "a", "v1beta1"));
    const { body } = await s.get(ownCrd(s), { quiet: true });
    body.spec.versions.splice(1, 1);
    await s.put(ownCrd(s), body, { part: ({ spec }) => spec?.versions?.length });
    await s.until(ownWidgets(s, "", "v1beta1"), ({ code }) => code === 404);
    await s.until(ownWidgets(s), ({ code }) => code === 200);
    await s.patch(`${ownWidgets(s, "a")}?fieldManager=U`, "merge", { spec: { color: "green" } });
    await apply("v1", "A", { size: 2 });
  }),

  scenario("scale", async (s) => {
    await s.patch(`${widgets(s, "a")}?fieldManager=applier`, "apply", widget("a", { replicas: 1, size: 1 }));
    const scale = `${widgets(s, "a")}/scale`;
    await s.get(scale);
    await s.patch(`${scale}?fieldManager=scaler`, "merge", { spec: { replicas: 3 } });
    await s.get(widgets(s, "a"));
    await s.patch(`${widgets(s, "a")}?fieldManager=applier`, "apply", widget("a", { replicas: 5, size: 1 }));
    await s.patch(`${widgets(s, "a")}?fieldManager=applier`, "apply", widget("a", { size: 2 }));
    await s.patch(
      `${widgets(s, "a")}/status`,
      "merge",
      { status: { replicas: 3, selector: "app=a" } },
      { quiet: true },
    );
    const { body } = await s.get(scale);
    await s.put(`${scale}?fieldManager=putter`, { ...body, spec: { replicas: 4 } });
    await s.put(`${scale}?fieldManager=putter`, { ...body, spec: { replicas: 6 } });
    await s.put(`${scale}?fieldManager=putter`, {
      ...body,
      metadata: { ...body.metadata, resourceVersion: "" },
      spec: { replicas: 7 },
    });
    await s.patch(`${scale}?fieldManager=putter`, "merge", { spec: { replicas: -1 } });
    await s.patch(`${scale}?fieldManager=putter`, "merge", { spec: { replicas: "x" } });
    await s.patch(`${scale}?fieldManager=putter`, "merge", { spec: null });
    await s.patch(`${scale}?fieldManager=ssa`, "apply", {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a" },
      spec: { replicas: 8 },
    });
    await s.patch(`${scale}?fieldManager=ssa&force=true`, "apply", {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a" },
      spec: { replicas: 8 },
    });
    await s.get(widgets(s, "a"));
    await s.post(widgets(s), widget("none", {}), { quiet: true });
    await s.get(`${widgets(s, "none")}/scale`);
    await s.patch(`${widgets(s, "none")}/scale`, "merge", { spec: { replicas: 2 } });
    await s.put(`${widgets(s, "none")}/scale`, {
      ...body,
      metadata: { name: "other", namespace: s.namespace },
      spec: { replicas: 1 },
    });
    await s.kubectl(["scale", "widgets.example.org/a", "--replicas=9"]);
    await s.kubectl(["scale", "widgets.example.org/a", "--replicas=9", "--current-replicas=1"]);
    await s.get(widgets(s, "a"));
    const path = inGroup(s, "apps/v1/deployments");
    await s.patch(
      `${path}/d?fieldManager=applier`,
      "apply",
      { ...deployment("d"), spec: { ...deployment("d").spec, replicas: 1 } },
      { quiet: true },
    );
    await s.patch(`${path}/d/scale?fieldManager=scaler`, "merge", { spec: { replicas: 3 } });
    await s.get(`${path}/d`);
    await s.patch(`${path}/d?fieldManager=applier`, "apply", {
      ...deployment("d"),
      spec: { ...deployment("d").spec, replicas: 5 },
    });
    await s.kubectl(["scale", "deployment/d", "--replicas=2"]);
    await s.get(`${path}/d/scale`);
  }),

  scenario("from client-side to server-side apply", async (s) => {
    const yaml = (data: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    app: a\ndata:\n${data}`;
    await s.kubectl(["apply", "-f", "-"], { input: yaml("  a: '1'\n  b: '2'\n") });
    await s.get(core(s, "configmaps", "a"));
    await s.kubectl(["apply", "-f", "-"], { input: yaml("  a: '1'\n  c: '3'\n") });
    await s.get(core(s, "configmaps", "a"));
    await s.kubectl(["apply", "--server-side", "-f", "-"], { input: yaml("  a: '1'\n  c: '4'\n") });
    await s.get(core(s, "configmaps", "a"));
    await s.kubectl(["apply", "--server-side", "-f", "-"], { input: yaml("  c: '4'\n") });
    await s.get(core(s, "configmaps", "a"));
    await s.kubectl(["apply", "-f", "-"], { input: yaml("  c: '5'\n") });
    await s.get(core(s, "configmaps", "a"));
    const custom = (spec: string): string =>
      `apiVersion: example.org/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n${spec}`;
    await s.kubectl(["apply", "-f", "-"], { input: custom("  size: 1\n  tags: {a: '1', b: '2'}\n") });
    await s.kubectl(["apply", "--server-side", "-f", "-"], { input: custom("  size: 2\n  tags: {a: '1'}\n") });
    await s.get(widgets(s, "a"));
  }),

  scenario("the manager called kubectl keeps its annotation in step", async (s) => {
    const object = (data: Record<string, string>): Loose => ({
      ...configMap("a", data),
      metadata: { name: "a", annotations: { [lastApplied]: "{}" } },
    });
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=kubectl`, "apply", object({ a: "1" }));
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=kubectl`, "apply", configMap("a", { a: "2" }));
    await s.patch(`${core(s, "configmaps", "b")}?fieldManager=other`, "apply", {
      ...object({ a: "1" }),
      metadata: { name: "b", annotations: { [lastApplied]: "{}" } },
    });
    await s.patch(`${core(s, "configmaps", "b")}?fieldManager=kubectl`, "apply", configMap("b", { a: "2" }));
  }),
];
