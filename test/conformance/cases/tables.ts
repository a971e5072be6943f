// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import {
  configMap,
  core,
  crds,
  deployment,
  inGroup,
  ownCrd,
  ownWidget,
  ownWidgets,
  widget,
  widgets,
  withOwnWidgets,
} from "../harness/fixtures.ts";

const table = {
  accept:
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
};

export const tableCases: readonly Case[] = [
  scenario("tables of built-in kinds", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a", { x: "1", y: "2" }), { quiet: true });
    await s.post(core(s, "secrets"), { metadata: { name: "a" }, stringData: { x: "1" } }, { quiet: true });
    await s.post(inGroup(s, "apps/v1/deployments"), deployment("a"), { quiet: true });
    await s.post(
      core(s, "events"),
      {
        metadata: { name: "a" },
        involvedObject: { kind: "Widget", name: "w", namespace: s.namespace, fieldPath: "spec.a" },
        reason: "Made",
        type: "Normal",
        message: " two\nlines ",
        source: { component: "maker", host: "here" },
        count: 3,
        firstTimestamp: "2026-01-02T03:04:05Z",
        lastTimestamp: new Date().toISOString().replace(/\.\d+/, ""),
      },
      { quiet: true },
    );
    await s.post(
      inGroup(s, "coordination.k8s.io/v1/leases"),
      { metadata: { name: "a" }, spec: { holderIdentity: "me" } },
      { quiet: true },
    );
    await s.post(
      core(s, "services"),
      {
        metadata: { name: "a" },
        spec: {
          clusterIP: "None",
          ports: [{ port: 80 }, { port: 53, protocol: "UDP", name: "dns" }].map((port, n) => ({
            name: `p${n}`,
            ...port,
          })),
          selector: { a: "b", c: "d" },
        },
      },
      { quiet: true },
    );
    const rbac = "rbac.authorization.k8s.io/v1";
    await s.post(
      inGroup(s, `${rbac}/roles`),
      { apiVersion: rbac, kind: "Role", metadata: { name: "a" }, rules: [] },
      { quiet: true },
    );
    await s.post(
      inGroup(s, `${rbac}/rolebindings`),
      {
        apiVersion: rbac,
        kind: "RoleBinding",
        metadata: { name: "a" },
        roleRef: { kind: "Role", name: "a" },
        subjects: [
          { kind: "User", name: "eve" },
          { kind: "Group", name: "all" },
          { kind: "ServiceAccount", name: "sa", namespace: s.namespace },
        ],
      },
      { quiet: true },
    );
    await s.post(inGroup(s, "apps/v1/statefulsets"), { ...deployment("a"), kind: "StatefulSet" }, { quiet: true });
    await s.post(inGroup(s, "apps/v1/daemonsets"), { ...deployment("a"), kind: "DaemonSet" }, { quiet: true });
    await s.post(inGroup(s, "apps/v1/replicasets"), { ...deployment("a"), kind: "ReplicaSet" }, { quiet: true });
    for (const resource of ["configmaps", "secrets", "events", "services"]) {
      await s.get(core(s, resource), { headers: table });
      await s.get(core(s, resource, "a"), { headers: table });
    }
    for (const resource of [
      "apps/v1/deployments",
      "apps/v1/statefulsets",
      "apps/v1/daemonsets",
      "apps/v1/replicasets",
      "coordination.k8s.io/v1/leases",
      `${rbac}/roles`,
      `${rbac}/rolebindings`,
      "events.k8s.io/v1/events",
    ]) {
      await s.get(inGroup(s, resource, "a"), { headers: table });
    }
    await s.get(`/api/v1/namespaces/${s.namespace}`, { headers: table });
    await s.get(core(s, "serviceaccounts"), { headers: table, part: (body) => body.columnDefinitions });
    await s.get(`/apis/${rbac}/clusterroles/cluster-admin`, { headers: table });
    await s.get(`/apis/${rbac}/clusterrolebindings/cluster-admin`, { headers: table });
    await s.get(`${crds}/widgets.example.org`, { headers: table });
    await s.get(core(s, "endpoints"), { headers: table });
    await s.get(core(s, "pods"), { headers: table });
    await s.get(inGroup(s, "batch/v1/jobs"), { headers: table });
    await s.get(inGroup(s, "batch/v1/cronjobs"), { headers: table });
    await s.get(inGroup(s, "discovery.k8s.io/v1/endpointslices"), { headers: table });
    await s.get("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", { headers: table });
  }),

  scenario("tables of custom kinds", async (s) => {
    await s.post(widgets(s), widget("a", { size: 5, color: "blue" }), { quiet: true });
    await s.post(widgets(s), widget("b", {}), { quiet: true });
    const status = {
      status: {
        conditions: [
          { type: "Other", status: "x" },
          { type: "Ready", status: "True" },
        ],
      },
    };
    await s.patch(`${widgets(s, "a")}/status`, "merge", status, { quiet: true });
    await s.get(widgets(s), { headers: table });
    await s.get(widgets(s, "a"), { headers: table });
    await s.get(`${widgets(s)}?limit=1`, { headers: table });
    for (const include of ["None", "Object", "Metadata", "", "Nope"]) {
      await s.get(`${widgets(s)}?includeObject=${include}`, { headers: table });
      await s.get(`${core(s, "configmaps")}?includeObject=${include}`, { headers: table });
    }
    await s.get(`${widgets(s, "a")}?includeObject=Object`, { headers: table });
    await s.get(widgets(s), { headers: { accept: "application/json;as=Table;v=v1beta1;g=meta.k8s.io" } });
    await s.get(widgets(s), {
      headers: { accept: "application/json;as=Table;v=v2;g=meta.k8s.io,application/json" },
      part: (body) => body.kind,
    });
    await s.get(widgets(s, "missing"), { headers: table });
    await s.get(`${widgets(s, "a")}/status`, { headers: table });
    await s.get(`${widgets(s, "a")}/scale`, { headers: table });
    await s.patch(widgets(s, "a"), "merge", { spec: { replicas: 3 } }, { quiet: true });
    await s.get(`${widgets(s, "a")}/scale`, { headers: table, title: "GET a scale that is there" });
    await s.get(`${widgets(s, "a")}/scale`, {
      headers: { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" },
      title: "GET the metadata of a scale",
    });
    await s.post(widgets(s), widget("c", { size: 3 }), { headers: table });
    await s.patch(widgets(s, "c"), "merge", { spec: { size: 4 } }, { headers: table });
    await s.delete(widgets(s, "c"), undefined, { headers: table });
  }),

  scenario("columns of every type", async (s) => {
    const column = (name: string, type: string, jsonPath: string): object => ({ name, type, jsonPath });
    await withOwnWidgets(s, (crd) => {
      crd.spec.versions[0].additionalPrinterColumns = [
        column("Int", "integer", ".spec.size"),
        column("Number", "number", ".spec.ratio"),
        column("Bool", "boolean", ".spec.on"),
        column("Text", "string", ".spec.code"),
        column("Map", "string", ".spec.tags"),
        column("List", "string", ".spec.args"),
        column("Item", "string", ".spec.args[1]"),
        column("All", "string", ".spec.args[*]"),
        column("Dotted", "string", ".metadata.labels.example\\.org/x"),
        column("Quoted", "string", ".metadata.labels['example.org/x']"),
        column("Filter", "integer", ".spec.parts[?(@.name=='b')].count"),
        column("Wrong", "integer", ".spec.code"),
        column("Date", "date", ".spec.free.when"),
        column("Missing", "string", ".spec.nope.deeper"),
        column("IntAsText", "string", ".spec.size"),
        column("BoolAsText", "string", ".spec.on"),
        column("Big", "integer", ".spec.big"),
        { ...column("Format", "string", ".spec.code"), format: "byte", priority: 3, description: "With words." },
      ];
      delete crd.spec.versions[1].additionalPrinterColumns;
    });
    const full = {
      size: 3,
      ratio: 1.5,
      on: true,
      code: "abc",
      big: 9007199254740993n,
      tags: { b: "2", a: "1" },
      args: ["x", "y"],
      parts: [{ name: "a" }, { name: "b", count: 7 }],
      free: { when: "2020-01-01T00:00:00Z" },
    };
    const labelled = { ...ownWidget(s, "a", full), metadata: { name: "a", labels: { "example.org/x": "yes" } } };
    await s.post(ownWidgets(s), labelled, { quiet: true });
    await s.post(ownWidgets(s), ownWidget(s, "b", { free: { when: "nonsense" }, ratio: 2 }), { quiet: true });
    await s.post(ownWidgets(s), ownWidget(s, "c", { free: { when: 7 }, args: [] }), { quiet: true });
    const { body } = await s.get(ownWidgets(s), { headers: table });
    s.note(
      "words about the columns of the kind",
      body.columnDefinitions.slice(1).map((one: Record<string, string>) => one["description"]),
    );
    await s.get(ownWidgets(s, "", "v1beta1"), { headers: table });
    await s.get(ownCrd(s), {
      part: (body) => body.spec.versions.map((version: Record<string, unknown>) => version["additionalPrinterColumns"]),
    });
  }),
];
