// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, deployment, inGroup, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { envelope, message, protobufType } from "../harness/protobuf-body.ts";

const protobuf = "application/vnd.kubernetes.protobuf";

/** apps/v1 Deployment with zero replicas, field by field as client-go writes it. */
function deploymentBytes(name: string): Uint8Array {
  const labels = message([1, "app"], [2, name]);
  const container = message(
    [1, "main"],
    [2, "example.org/main:1"],
    [5, ""],
    [8, message()],
    [13, ""],
    [14, ""],
    [16, false],
    [17, false],
    [18, false],
    [20, ""],
  );
  const podSpec = message(
    [2, container],
    [3, ""],
    [6, ""],
    [8, ""],
    [9, ""],
    [10, ""],
    [11, false],
    [12, false],
    [13, false],
    [16, ""],
    [17, ""],
    [19, ""],
    [24, ""],
  );
  const template = message(
    [1, message([1, ""], [3, ""], [4, ""], [5, ""], [6, ""], [7, 0], [8, message()], [11, labels])],
    [2, podSpec],
  );
  const spec = message([1, 0], [2, message([1, labels])], [3, template], [4, message([1, ""])], [5, 0], [7, false]);
  const status = message([1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [7, 0]);
  const metadata = message([1, name], [2, ""], [3, ""], [4, ""], [5, ""], [6, ""], [7, 0], [8, message()]);
  return envelope("apps/v1", "Deployment", message([1, metadata], [2, spec], [3, status]));
}

/** The reference adds rules of all users; an administrator's rules are those that matter. */
const hasAdminRules = ({ status, ...rest }: Loose): unknown => ({
  ...rest,
  resources: status.resourceRules.some((rule: Loose) => [rule.verbs, rule.apiGroups, rule.resources].every(isAll)),
  paths: status.nonResourceRules.some((rule: Loose) => [rule.verbs, rule.nonResourceURLs].every(isAll)),
  incomplete: status.incomplete,
});

const isAll = (names: readonly string[]): boolean => names.length === 1 && names[0] === "*";

export const contentTypeCases: readonly Case[] = [
  scenario("namespace as protobuf", async (s) => {
    const name = (suffix: string): string => `${s.namespace}-${suffix}`;
    const metadata = message(
      [1, name("bytes")],
      [2, ""],
      [3, ""],
      [4, ""],
      [5, ""],
      [6, ""],
      [7, 0],
      [8, message()],
      [11, message([1, "team"], [2, "blue"])],
    );
    const bytes = envelope("v1", "Namespace", message([1, metadata], [2, message()], [3, message([1, ""])]));
    await s.post("/api/v1/namespaces?fieldManager=kubectl-create&fieldValidation=Strict", bytes, {
      headers: { ...protobufType, accept: `${protobuf}, */*` },
      quiet: true,
    });
    await s.get(`/api/v1/namespaces/${name("bytes")}`);
    const json = { apiVersion: "v1", kind: "Namespace", metadata: { name: name("json"), labels: { team: "blue" } } };
    await s.post("/api/v1/namespaces?fieldManager=kubectl-create", json);
    const again = await s.post("/api/v1/namespaces", bytes, {
      headers: { ...protobufType, accept: "application/json" },
    });
    s.note("the second one is refused", again.code);
  }),

  scenario("protobuf bodies answered in JSON", async (s) => {
    const metadata = message(
      [1, "made"],
      [2, ""],
      [3, s.namespace],
      [4, ""],
      [5, ""],
      [6, ""],
      [7, 0],
      [8, message()],
      [12, message([1, "note"], [2, "ä"])],
    );
    const entries = [message([1, "a"], [2, "1"]), message([1, "b"], [2, ""]), message([1, "c"])];
    const raw = message([1, metadata], ...entries.map((entry) => [2, entry] as const), [
      3,
      message([1, "bin"], [2, Uint8Array.of(0, 255)]),
    ]);
    const headers = { ...protobufType, accept: "application/json" };
    await s.post(core(s, "configmaps"), envelope("v1", "ConfigMap", raw), { headers });
    await s.put(core(s, "configmaps", "made"), envelope("v1", "ConfigMap", message([1, metadata], [4, true])), {
      headers,
    });
    await s.post(core(s, "configmaps"), "not protobuf", { headers });
    await s.post(core(s, "configmaps"), envelope("v1", "Secret", raw), { headers });
    await s.post(core(s, "configmaps"), envelope("v1", "Nope", raw), { headers });
  }),

  scenario("deployment as protobuf with no replicas", async (s) => {
    const headers = { ...protobufType, accept: "application/json" };
    await s.post(inGroup(s, "apps/v1/deployments"), deploymentBytes("bytes"), { headers });
    await s.get(inGroup(s, "apps/v1/deployments", "bytes"));
    const json = deployment("json");
    await s.post(inGroup(s, "apps/v1/deployments"), { ...json, spec: { ...json.spec, replicas: 0 } });
    await s.post(inGroup(s, "apps/v1/deployments"), deployment("absent"));
  }),

  scenario("delete options as protobuf", async (s) => {
    const { body } = await s.post(core(s, "configmaps"), configMap("a"));
    const options = (uid: string, apiVersion = "v1"): Uint8Array =>
      envelope(apiVersion, "DeleteOptions", message([2, message([1, uid])], [4, "Background"]));
    const headers = { ...protobufType, accept: "application/json" };
    await s.delete(core(s, "configmaps", "a"), options("00000000-0000-0000-0000-000000000000"), { headers });
    await s.delete(core(s, "configmaps", "a"), options(body.metadata.uid), { headers });
    const secret = await s.post(core(s, "secrets"), { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } });
    await s.delete(core(s, "secrets", "a"), options(secret.body.metadata.uid, "apps/v1"), { headers });
    const made = await s.post(widgets(s), widget("a"));
    await s.delete(widgets(s, "a"), options(made.body.metadata.uid, "example.org/v1"), { headers });
  }),

  scenario("access reviews", async (s) => {
    const attributes = message([1, s.namespace], [2, "create"], [3, ""], [4, ""], [5, "configmaps"], [6, ""], [7, ""]);
    const raw = message([1, message()], [2, message([1, attributes])], [3, message([1, false], [2, ""])]);
    const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const allowed = (body: { spec: unknown; status: { allowed: boolean } }): unknown => ({
      ...body,
      status: { allowed: body.status.allowed, reasoned: "reason" in body.status },
    });
    await s.post(reviews, envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview", raw), {
      headers: { ...protobufType, accept: "application/json" },
      part: allowed,
    });
    const ask = (resourceAttributes: object): object => ({
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    });
    await s.post(reviews, ask({ verb: "*", group: "example.org", resource: "widgets" }), { part: allowed });
    await s.post(
      reviews,
      { ...ask({}), spec: { nonResourceAttributes: { path: "/metrics", verb: "get" } } },
      { part: allowed },
    );
    await s.post(reviews, { ...ask({}), spec: {} });
    await s.post(
      "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectRulesReview",
        spec: { namespace: s.namespace },
      },
      { part: hasAdminRules },
    );
    await s.post(
      "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      { part: (body) => ({ groups: body.status?.userInfo?.groups, named: typeof body.status?.userInfo?.username }) },
    );
    await s.get(reviews);
    await s.get(`${reviews}/a`);
    await s.post(
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: { user: "eve", groups: ["system:masters"], resourceAttributes: { verb: "get", resource: "pods" } },
      },
      { part: allowed },
    );
    await s.post(
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: "system:anonymous",
          groups: ["system:unauthenticated"],
          resourceAttributes: { verb: "get", resource: "pods" },
        },
      },
      { part: (body) => body.status.allowed },
    );
    await s.post(
      `/apis/authorization.k8s.io/v1/namespaces/${s.namespace}/localsubjectaccessreviews`,
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "LocalSubjectAccessReview",
        metadata: { namespace: s.namespace },
        spec: {
          user: "eve",
          groups: ["system:masters"],
          resourceAttributes: { namespace: s.namespace, verb: "get", resource: "pods" },
        },
      },
      { part: allowed },
    );
    await s.post(
      "/apis/authentication.k8s.io/v1/tokenreviews",
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "nope" } },
      { part: (body) => ({ authenticated: body.status?.authenticated ?? false, spec: body.spec }) },
    );
  }),

  scenario("what a client accepts", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    const accepts = [
      "*/*",
      "application/*",
      "application/json",
      "application/json;pretty=1",
      "text/html,application/json;q=0.9",
      "application/json, */*;q=0.8",
      "application/json;stream=watch",
      "application/json;unknown=1",
      "application/json;sv=1, application/json",
      "application/yaml;q=0.1, application/json;q=0.2",
      "application/json;as=Nope;g=meta.k8s.io;v=v1,application/json",
    ];
    for (const accept of accepts)
      await s.get(core(s, "configmaps", "a"), { headers: { accept }, title: `GET accepting ${accept}` });
    await s.get(core(s, "configmaps", "a"), {
      headers: { accept: `${protobuf}, */*` },
      title: "GET accepting protobuf or anything",
      part: () => undefined,
    });
    await s.get(core(s, "configmaps", "a"), {
      headers: { accept: protobuf },
      title: "GET accepting protobuf only",
      part: () => undefined,
    });
    for (const accept of [
      "text/html",
      "application/cbor",
      "application/json;as=Nope;g=meta.k8s.io;v=v1",
      "image/png, text/*",
    ]) {
      await s.get(core(s, "configmaps", "a"), { headers: { accept }, title: `GET accepting ${accept}` });
    }
    await s.get(core(s, "configmaps", "missing"), { headers: { accept: "text/html" } });
    await s.get(widgets(s), { headers: { accept: "application/cbor" } });
    await s.get(core(s, "configmaps", "a"), {
      headers: { accept: "application/yaml" },
      part: (body) =>
        String(body)
          .split("\n")
          .filter((text) => !/time|uid|resourceVersion|Timestamp/i.test(text)),
    });
  }),

  scenario("media types of bodies", async (s) => {
    await s.post(core(s, "configmaps"), "{}", { headers: { "content-type": "text/plain" } });
    await s.post(core(s, "configmaps"), "{}", { headers: { "content-type": "application/cbor" } });
    await s.post(core(s, "configmaps"), configMap("charset"), {
      headers: { "content-type": "application/json; charset=utf-8" },
    });
    await s.post(core(s, "configmaps"), configMap("untyped"), { headers: { "content-type": "" } });
    await s.post(core(s, "configmaps"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: 'yes'}\n", {
      headers: { "content-type": "application/yaml" },
    });
    await s.post(
      widgets(s),
      "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: yaml}\nspec: {size: 2, on: yes}\n",
      { headers: { "content-type": "application/yaml" } },
    );
    await s.post(widgets(s), widget("a"), { quiet: true });
    await s.post(widgets(s), "{}", { headers: { "content-type": "text/plain" } });
    await s.patch(widgets(s, "a"), "strategic", {});
    for (const [path, type] of [
      [widgets(s, "a"), "application/json"],
      [widgets(s, "a"), "text/plain"],
      [widgets(s, "a"), ""],
      [core(s, "configmaps", "charset"), "application/json"],
      [core(s, "configmaps", "charset"), "application/merge-patch+json; charset=utf-8"],
      [core(s, "configmaps", "charset"), "application/apply-patch+cbor"],
    ] as const) {
      await s.ask("PATCH", path, "{}", { headers: { "content-type": type }, title: `PATCH ${path} as "${type}"` });
    }
  }),
];
