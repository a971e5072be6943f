// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, crds, deployment, inGroup, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

/** A deployment with one of everything a strategic patch treats in a way of its own. */
function richDeployment(name: string): Loose {
  const object = deployment(name);
  object.metadata.finalizers = ["example.org/one"];
  object.spec.template.spec = {
    containers: [
      {
        name: "a",
        image: "example.org/a:1",
        args: ["x", "y"],
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ],
        ports: [
          { containerPort: 80, name: "http" },
          { containerPort: 53, protocol: "UDP" },
        ],
      },
      { name: "b", image: "example.org/b:1", volumeMounts: [{ name: "v", mountPath: "/v" }] },
    ],
    volumes: [
      { name: "v", emptyDir: {} },
      { name: "w", configMap: { name: "w" } },
    ],
    tolerations: [{ key: "a", operator: "Exists" }],
    hostAliases: [{ ip: "1.2.3.4", hostnames: ["a"] }],
    imagePullSecrets: [{ name: "p" }],
    nodeSelector: { a: "b" },
  };
  return object;
}

const strategic: readonly (readonly [string, Loose])[] = [
  ["change one image", { containers: [{ name: "a", image: "example.org/a:2" }] }],
  ["add env", { containers: [{ name: "a", env: [{ name: "C", value: "3" }] }] }],
  ["change env", { containers: [{ name: "a", env: [{ name: "A", value: "9" }] }] }],
  [
    "value to reference",
    {
      containers: [
        { name: "a", env: [{ name: "A", value: null, valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
      ],
    },
  ],
  ["delete env", { containers: [{ name: "a", env: [{ name: "B", $patch: "delete" }] }] }],
  ["delete container", { containers: [{ name: "b", $patch: "delete" }] }],
  ["add container", { containers: [{ name: "c", image: "example.org/c:1" }] }],
  ["order", { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] }],
  [
    "order and change",
    {
      "$setElementOrder/containers": [{ name: "b" }, { name: "c" }, { name: "a" }],
      containers: [
        { name: "c", image: "example.org/c:1" },
        { name: "a", image: "example.org/a:2" },
      ],
    },
  ],
  [
    "order without the item",
    { "$setElementOrder/containers": [{ name: "b" }], containers: [{ name: "a", image: "example.org/a:2" }] },
  ],
  ["replace list", { containers: [{ $patch: "replace" }, { name: "z", image: "example.org/z:1" }] }],
  ["atomic list", { containers: [{ name: "a", args: ["z"] }] }],
  [
    "ports by number",
    { containers: [{ name: "a", ports: [{ containerPort: 80, name: "web" }, { containerPort: 8080 }] }] },
  ],
  [
    "mounts by path",
    {
      containers: [
        {
          name: "b",
          volumeMounts: [
            { mountPath: "/v", name: "w" },
            { mountPath: "/x", name: "w" },
          ],
        },
      ],
    },
  ],
  ["volume keeps its keys", { volumes: [{ name: "v", $retainKeys: ["name", "secret"], secret: { secretName: "s" } }] }],
  ["tolerations replace", { tolerations: [{ key: "b", operator: "Exists" }] }],
  [
    "aliases by address",
    {
      hostAliases: [
        { ip: "1.2.3.4", hostnames: ["b"] },
        { ip: "5.6.7.8", hostnames: ["c"] },
      ],
    },
  ],
  ["secrets by name", { imagePullSecrets: [{ name: "q" }] }],
  ["map replaced", { nodeSelector: { $patch: "replace", c: "d" } }],
  ["map deleted", { nodeSelector: { $patch: "delete" } }],
  ["map key deleted", { nodeSelector: { a: null, e: "f" } }],
  ["no merge key", { containers: [{ image: "example.org/x:1" }] }],
  ["unknown directive", { nodeSelector: { $patch: "nope" } }],
  ["directive of the wrong shape", { nodeSelector: { $patch: 7 } }],
  ["wrong type", { containers: "x" }],
  ["null list", { tolerations: null }],
  ["null containers", { containers: null }],
  ["retain keys outside", { nodeSelector: { $retainKeys: ["c"], c: "d" } }],
  ["order of the wrong shape", { "$setElementOrder/containers": "x" }],
  ["delete from a field that is not a list", { "$deleteFromPrimitiveList/nodeSelector": ["a"] }],
];

async function jsonPatches(s: Session, path: string): Promise<void> {
  const patch = (operations: unknown, title = JSON.stringify(operations)): Promise<unknown> =>
    s.patch(`${path}/a`, "json", operations, { title: `PATCH ${path} ${title}` });
  await patch([{ op: "add", path: "/metadata/labels", value: { a: "1", b: "2" } }]);
  await patch([{ op: "replace", path: "/metadata/labels/a", value: "3" }]);
  await patch([{ op: "copy", from: "/metadata/labels/a", path: "/metadata/labels/c" }]);
  await patch([{ op: "move", from: "/metadata/labels/b", path: "/metadata/labels/d" }]);
  await patch([{ op: "remove", path: "/metadata/labels/c" }]);
  await patch([
    { op: "test", path: "/metadata/labels/a", value: "3" },
    { op: "add", path: "/metadata/annotations", value: { "x/y~z": "1" } },
  ]);
  await patch([{ op: "replace", path: "/metadata/annotations/x~1y~0z", value: "2" }]);
  await patch([
    { op: "test", path: "/metadata/labels/a", value: "4" },
    { op: "add", path: "/metadata/labels/e", value: "5" },
  ]);
  await patch([
    { op: "add", path: "/metadata/labels/e", value: "5" },
    { op: "test", path: "/metadata/labels/a", value: "4" },
  ]);
  await patch([{ op: "remove", path: "/metadata/labels/missing" }]);
  await patch([{ op: "replace", path: "/metadata/labels/missing", value: "x" }]);
  await patch([{ op: "add", path: "/metadata/nope/deeper", value: "x" }]);
  await patch([{ op: "nope", path: "/metadata/labels/a" }]);
  await patch([{ op: "add", path: "metadata", value: 1 }]);
  await patch([{ op: "test", path: "/metadata/labels/missing", value: null }]);
  await patch([{ op: "test", path: "/metadata/labels/missing", value: "x" }]);
  await patch([{ op: "add", path: "/metadata/labels/number", value: 7 }]);
  await patch({ op: "add", path: "/metadata/labels/x", value: "x" });
  await patch("nonsense", "nonsense");
  await patch("null", "null");
  await patch("[]", "[]");
  await patch([{}]);
  await patch([{ op: "add", value: "x" }]);
  await patch([{ path: "/metadata/labels/x", value: "x" }]);
  await patch([{ op: "replace", path: "", value: { metadata: { name: "a" } } }]);
  await patch([{ op: "remove", path: "/metadata" }]);
  await patch([{ op: "remove", path: "/kind" }]);
  await patch(
    Array.from({ length: 10_001 }, () => ({ op: "test", path: "/metadata/name", value: "a" })),
    "10001 operations",
  );
  await patch(
    Array.from({ length: 30 }, (_, n) => ({ op: "copy", from: "", path: `/metadata/annotations/${n}` })),
    "copies of itself",
  );
  await s.get(`${path}/a`);
}

export const patchCases: readonly Case[] = [
  scenario("JSON patches", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await jsonPatches(s, core(s, "configmaps"));
    await s.post(widgets(s), widget("a", { args: ["a", "b", "c"], parts: [{ name: "p" }] }), { quiet: true });
    await jsonPatches(s, widgets(s));
  }),

  scenario("JSON patches of lists", async (s) => {
    await s.post(
      widgets(s),
      widget("a", { args: ["a", "b", "c"], parts: [{ name: "p" }], free: { list: [1, [2, 3]] } }),
      { quiet: true },
    );
    const patch = (...operations: readonly Loose[]): Promise<unknown> =>
      s.patch(widgets(s, "a"), "json", operations, {
        title: `PATCH ${JSON.stringify(operations)}`,
        part: (body) => body.spec ?? body,
      });
    await patch({ op: "add", path: "/spec/args/-", value: "d" });
    await patch({ op: "add", path: "/spec/args/1", value: "x" });
    await patch({ op: "remove", path: "/spec/args/0" });
    await patch({ op: "replace", path: "/spec/args/0", value: "y" });
    await patch({ op: "move", from: "/spec/args/0", path: "/spec/args/2" });
    await patch({ op: "copy", from: "/spec/args/0", path: "/spec/args/-" });
    await patch({ op: "add", path: "/spec/args/99", value: "z" });
    await patch({ op: "add", path: "/spec/args/-1", value: "z" });
    await patch({ op: "remove", path: "/spec/args/99" });
    await patch({ op: "remove", path: "/spec/args/-" });
    await patch({ op: "add", path: "/spec/args/x", value: "z" });
    await patch({ op: "add", path: "/spec/args/01", value: "z" });
    await patch({ op: "add", path: "/spec/free/list/1/0", value: 9 });
    await patch({ op: "test", path: "/spec/free/list", value: [1, [9, 2, 3]] });
    await patch({ op: "test", path: "/spec/free", value: { list: [1, [9, 2]] } });
    await patch(
      { op: "add", path: "/spec/free/null", value: null },
      { op: "test", path: "/spec/free/null", value: null },
    );
    await patch({ op: "add", path: "/spec/parts/-", value: { name: "q" } });
    await patch({ op: "add", path: "/spec/parts/-", value: { name: "q" } });
    await patch({ op: "replace", path: "/spec", value: {} });
    await patch({ op: "remove", path: "/spec" });
    await patch({ op: "add", path: "/spec/size", value: 1 });
  }),

  scenario("merge patches", async (s) => {
    await s.post(
      core(s, "configmaps"),
      { ...configMap("a", { a: "1", b: "2" }), metadata: { name: "a", labels: { l: "1" } } },
      { quiet: true },
    );
    await s.post(widgets(s), widget("a", { args: ["a", "b"], tags: { a: "1" }, free: { deep: { x: 1, y: 2 } } }), {
      quiet: true,
    });
    await s.patch(core(s, "configmaps", "a"), "merge", { data: { a: null, c: "3" } });
    await s.patch(core(s, "configmaps", "a"), "merge", { data: null, metadata: { labels: null } });
    await s.patch(core(s, "configmaps", "a"), "merge", { data: {} });
    await s.patch(core(s, "configmaps", "a"), "merge", { metadata: null });
    await s.patch(widgets(s, "a"), "merge", {
      spec: { args: ["z"], tags: { a: null, b: "2" }, free: { deep: { x: null, z: { n: null, m: 1 } } } },
    });
    await s.patch(widgets(s, "a"), "merge", { spec: { args: null } });
    await s.patch(widgets(s, "a"), "merge", { spec: "text" });
    await s.patch(widgets(s, "a"), "merge", { spec: [] });
    for (const body of ["[]", "null", '"text"', "7", "{", "", "true"]) {
      await s.patch(core(s, "configmaps", "a"), "merge", body, { title: `PATCH ConfigMap ${body}` });
      await s.patch(widgets(s, "a"), "merge", body, { title: `PATCH Widget ${body}` });
      await s.patch(core(s, "configmaps", "a"), "strategic", body, { title: `PATCH (strategic) ConfigMap ${body}` });
    }
    await s.patch(widgets(s, "a"), "merge", "spec: {size: 3}");
    await s.patch(core(s, "configmaps", "a"), "merge", { data: { n: 7 } });
    await s.patch(`${widgets(s, "a")}?force=true`, "merge", {});
  }),

  scenario("strategic merge patches of a deployment", async (s) => {
    const path = inGroup(s, "apps/v1/deployments");
    for (const [n, [title, spec]] of strategic.entries()) {
      await s.post(path, richDeployment(`d-${n}`), { quiet: true });
      await s.patch(
        `${path}/d-${n}`,
        "strategic",
        { spec: { template: { spec } } },
        { title: `PATCH to ${title}`, part: (body) => body.spec?.template.spec ?? body },
      );
    }
  }),

  scenario("strategic merge patches of metadata and status", async (s) => {
    const path = inGroup(s, "apps/v1/deployments");
    await s.post(path, richDeployment("d"), { quiet: true });
    const patch = (value: Loose, sub = ""): Promise<unknown> =>
      s.patch(`${path}/d${sub}`, "strategic", value, {
        title: `PATCH${sub} ${JSON.stringify(value)}`,
        part: (body) =>
          body.kind === "Status"
            ? body
            : [
                body.metadata.labels,
                body.metadata.finalizers,
                body.metadata.ownerReferences,
                body.spec.strategy,
                body.status,
              ],
      });
    await patch({ metadata: { finalizers: ["example.org/two"] } });
    await patch({
      metadata: {
        "$setElementOrder/finalizers": ["example.org/two", "example.org/one"],
        finalizers: ["example.org/two"],
      },
    });
    await patch({ metadata: { "$deleteFromPrimitiveList/finalizers": ["example.org/one"] } });
    const owner = (uid: string, name: string): Loose => ({
      apiVersion: "nope.example.org/v1",
      kind: "Nope",
      uid,
      name,
    });
    await patch({ metadata: { ownerReferences: [owner("u-1", "one")] } });
    await patch({ metadata: { ownerReferences: [owner("u-2", "two"), owner("u-1", "renamed")] } });
    await patch({ metadata: { ownerReferences: [{ uid: "u-1", $patch: "delete" }] } });
    await patch({ metadata: { labels: { a: "1", b: "2" } } });
    await patch({ metadata: { labels: { a: null } } });
    await patch({ metadata: { labels: { $patch: "replace", c: "3" } } });
    await patch({ spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } });
    await patch({ spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } } });
    await patch({ spec: { strategy: { type: "Recreate" } } });
    const condition = (type: string, status: string): Loose => ({
      type,
      status,
      lastUpdateTime: "2026-01-02T03:04:05Z",
      lastTransitionTime: "2026-01-02T03:04:05Z",
    });
    await patch(
      { status: { conditions: [condition("Available", "True"), condition("Progressing", "True")] } },
      "/status",
    );
    await patch({ status: { conditions: [condition("Available", "False")] } }, "/status");
    await patch({ status: { conditions: [{ type: "Progressing", $patch: "delete" }] } }, "/status");
    await patch({ metadata: { resourceVersion: "1" } });
  }),

  scenario("strategic merge patches of other kinds", async (s) => {
    await s.post(
      core(s, "services"),
      {
        metadata: { name: "a" },
        spec: {
          clusterIP: "None",
          ports: [
            { name: "a", port: 80 },
            { name: "b", port: 90 },
          ],
          selector: { a: "b" },
        },
      },
      { quiet: true },
    );
    const ports = (body: Loose): Loose => (body.kind === "Status" ? body : body.spec);
    await s.patch(
      core(s, "services", "a"),
      "strategic",
      {
        spec: {
          ports: [
            { port: 80, name: "renamed" },
            { port: 100, name: "c" },
          ],
        },
      },
      { part: ports },
    );
    await s.patch(core(s, "services", "a"), "strategic", { spec: { selector: { c: "d" } } }, { part: ports });
    await s.patch(
      core(s, "services", "a"),
      "strategic",
      { spec: { ports: [{ port: 90, $patch: "delete" }] } },
      { part: ports },
    );
    await s.post(core(s, "configmaps"), configMap("a", { a: "1", b: "2" }), { quiet: true });
    await s.patch(core(s, "configmaps", "a"), "strategic", { data: { a: null, c: "3" } });
    await s.patch(core(s, "configmaps", "a"), "strategic", { data: { $patch: "replace", only: "this" } });
    await s.post(
      core(s, "serviceaccounts"),
      { metadata: { name: "a" }, secrets: [{ name: "one" }], imagePullSecrets: [{ name: "p" }] },
      { quiet: true },
    );
    await s.patch(core(s, "serviceaccounts", "a"), "strategic", {
      secrets: [{ name: "two" }],
      imagePullSecrets: [{ name: "q" }],
    });
    const rbac = "rbac.authorization.k8s.io/v1";
    await s.post(
      inGroup(s, `${rbac}/rolebindings`),
      {
        apiVersion: rbac,
        kind: "RoleBinding",
        metadata: { name: "a" },
        roleRef: { kind: "Role", name: "r" },
        subjects: [{ kind: "User", name: "u" }],
      },
      { quiet: true },
    );
    await s.patch(inGroup(s, `${rbac}/rolebindings`, "a"), "strategic", { subjects: [{ kind: "User", name: "v" }] });
    await s.patch(
      `${crds}/widgets.example.org?dryRun=All`,
      "strategic",
      { spec: { names: { categories: ["only"] } } },
      { part: (body) => body.spec?.names ?? body },
    );
    await s.post(
      core(s, "events"),
      { metadata: { name: "a" }, involvedObject: { namespace: s.namespace }, count: 1, message: "once" },
      { quiet: true },
    );
    await s.patch(core(s, "events", "a"), "strategic", {
      count: 2,
      lastTimestamp: "2026-01-02T03:04:05Z",
      message: "twice",
    });
  }),
];
